import FleetCore
import Motion
import Testing

@Suite struct DeviceRequestTests {
    @Test(arguments: [
        (DeviceRequest.Verb.status, "{}", ["status", "--json"]),
        (.explain, "{}", ["explain", "last", "--json"]),
        (.explain, #"{"epoch":17}"#, ["explain", "17", "--json"]),
        (.explain, #"{"app":"org.a.B","sequence":4}"#, ["explain", "4", "--app", "org.a.B", "--sequence", "--json"]),
        (.whyNot, #"{"app":":1.7"}"#, ["why-not", ":1.7", "--json"]),
        (.whatIf, #"{"policy":{"a.conf":"[Policy]"}}"#, ["policy", "whatif", "--since", "3600s", "--json"]),
        (.whatIf, #"{"policy":{"a.conf":""},"since_s":60}"#, ["policy", "whatif", "--since", "60s", "--json"]),
    ])
    func questionsBecomeArguments(verb: DeviceRequest.Verb, text: String, arguments: [String]) throws {
        let request = try DeviceRequest(verb, try JSONCoding.read(Array(text.utf8)))
        #expect(request.arguments == arguments)
        #expect(request.policy.isEmpty == (verb != .whatIf))
    }

    @Test(arguments: [
        (DeviceRequest.Verb.status, "[]"), (.status, #"{"limits":true}"#),
        (.explain, #"{"epoch":0}"#), (.explain, #"{"epoch":"last"}"#), (.explain, #"{"epoch":1,"sequence":1}"#),
        (.explain, #"{"sequence":1}"#), (.explain, #"{"app":"--bus"}"#), (.explain, #"{"app":""}"#),
        (.explain, #"{"app":"a b"}"#), (.explain, #"{"app":"a\u0000"}"#),
        (.whyNot, "{}"), (.whyNot, #"{"app":"-h"}"#), (.whyNot, #"{"app":7}"#),
        (.whatIf, "{}"), (.whatIf, #"{"policy":{}}"#), (.whatIf, #"{"policy":{"../a.conf":""}}"#),
        (.whatIf, #"{"policy":{"a.conf":""},"since_s":0}"#), (.whatIf, #"{"policy":{"a.conf":""},"since_s":"1h"}"#),
    ])
    func whatMakesNoSenseIsRefused(verb: DeviceRequest.Verb, text: String) throws {
        let value = try JSONCoding.read(Array(text.utf8))
        #expect(throws: DesiredProblem.self) { try DeviceRequest(verb, value) }
    }

    @Test func answersAreReadAsTheyAreWritten() {
        let lines = DeviceAnswer.lines([.fields(["a": .integer(1)])], isCut: true)
        #expect(DeviceAnswer(lines.value) == lines)
        for code in DeviceAnswer.Code.allCases {
            let answer = DeviceAnswer.problem(code, "why")
            #expect(DeviceAnswer(answer.value) == answer)
        }
        #expect(DeviceAnswer(.object([])) == nil)
    }

    /// Whoever asked would wait for longer the next time, where it would not help.
    @Test func whatFailedDidNotTakeTooLong() {
        #expect(DeviceAnswer.ended(isLate: true) == .problem(.failed, "it took too long"))
        #expect(
            DeviceAnswer.ended(isLate: false) == .problem(.failed, "it failed, or had not the memory that it wanted"))
    }

    @Test func whatAProgramWroteIsTakenLineByLine() {
        let output = Array("{\"a\":1}\n{\"b\":2}\n".utf8)
        let (a, b) = (DataValue.fields(["a": .integer(1)]), DataValue.fields(["b": .integer(2)]))
        #expect(DeviceAnswer.read(output, isCut: false) == .lines([a, b], isCut: false))
        #expect(DeviceAnswer.read(output.dropLast(3), isCut: true) == .lines([a], isCut: true))
        #expect(DeviceAnswer.read(output.dropLast(3), isCut: false) == .problem(.failed, "the answer cannot be read"))
    }

    @Test(arguments: [
        ("jostle/1/@/answer/operator-7", true), ("jostle/1/@/answer/", false), ("jostle/1/@/answer/a/b", false),
        ("jostle/1/@/answer/+", false), ("jostle/1/kiosk/pause", false), ("homeassistant/status", false),
    ])
    func answersGoNowhereElse(topic: String, isAllowed: Bool) {
        #expect(AnswerTopic.isAllowed(topic) == isAllowed)
    }

    @Test func aFloodOfQuestionsIsNotAnswered() {
        var budget = RequestBudget(at: .zero)
        let atOnce = (0..<100).filter { _ in budget.spend(at: .zero) }.count
        #expect(atOnce == RequestBudget.burst)
        let afterPause = (0..<2).map { _ in budget.spend(at: .zero + RequestBudget.pause) }
        #expect(afterPause == [true, false])
        let later = Timestamp.zero + .seconds(3_600)
        let afterAnHour = (0..<100).filter { _ in budget.spend(at: later) }.count
        #expect(afterAnHour == RequestBudget.burst)
    }
}
