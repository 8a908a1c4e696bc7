import Arbitration
import PolicyFiles
import Scenarios
import Testing

/// What is documented of the phones, as their example policies have it: who hears what where, and for how long.
@Suite struct PhoneTests {
    enum Phone: String, CaseIterable, Sendable {
        case older = "09-older-phone"
        case newer = "10-newer-phone"

        /// How long an assertion lasts, in seconds.
        var budget: Int { self == .older ? 175 : 31 }
    }

    private static let radio = "org.example.Radio"
    private static let timer = "org.example.Timer"
    private static let home = "org.example.Home"

    private static let examples =
        String(#filePath.dropLast("Tests/ScenariosTests/PhoneTests.swift".count)) + "policies/examples"

    /// The policy of a phone, with this written in the place of that.
    private func policy(_ phone: Phone, _ this: String = "", _ that: String = "") throws -> Policy {
        var text = try contents(of: "\(Self.examples)/\(phone.rawValue)/policy.conf")
        if !this.isEmpty { text = text.replacing(this, with: that) }
        return try #require(PolicyReader.read([PolicyFile(name: "policy.conf", text)]).policy)
    }

    private func scenario(_ phone: Phone) throws -> String {
        try contents(of: "\(Self.examples)/\(phone.rawValue)/scenario")
    }

    /// The lines of the log, of one app, or with these words in them.
    private func lines(_ phone: Phone, _ words: String...) throws -> [String] {
        try self.run(self.scenario(phone), self.policy(phone)).filter { line in words.allSatisfy { line.contains($0) } }
    }

    private func run(_ text: String, _ policy: Policy) throws -> [String] {
        try ScenarioRunner.run(Scenario(parsing: text), policy: policy).log.split(separator: "\n").map(String.init)
    }

    private func time(_ line: String) -> Double { Double(line.prefix { $0 != " " }) ?? -1 }
    private func times(_ lines: [String]) -> [Double] { lines.map(self.time) }

    // MARK: Who hears what

    @Test(arguments: Phone.allCases)
    func theSystemShakeReachesOnlyTheForegroundAppWhateverRightsOthersHold(_ phone: Phone) throws {
        #expect(try self.times(self.lines(phone, "deliver \(Self.radio) undo")) == [2])
        #expect(try self.times(self.lines(phone, "deliver \(Self.home) undo")) == [12])
        let denied = try self.lines(phone, "verdict \(Self.radio) S2.denied rule=system-shake")
        #expect(self.times(denied) == [12, 14, 16])
    }

    @Test(arguments: Phone.allCases)
    func theRawAccelerometerIsHeardInTheBackgroundLockedAndBothWhileARightIsUsed(_ phone: Phone) throws {
        #expect(try self.times(self.lines(phone, "deliver \(Self.radio) skip")) == [2, 12, 14, 16, 1_000])
    }

    @Test(arguments: Phone.allCases)
    func withoutARightNothingIsHeardInTheBackground(_ phone: Phone) throws {
        #expect(try self.times(self.lines(phone, "verdict \(Self.timer) S1.suspended")) == [2, 400, 3_800])
        // The right alone does nothing: it must be used.
        #expect(try self.times(self.lines(phone, "verdict \(Self.radio) S1.suspended")) == [20])
    }

    // MARK: States

    @Test(arguments: Phone.allCases)
    func afterGoingToTheBackgroundAnAppIsSuspendedAlmostAtOnce(_ phone: Phone) throws {
        let changes = try self.lines(phone, "state \(Self.radio) ").filter { (17...20).contains(self.time($0)) }
        #expect(
            changes == [
                "17.000 state \(Self.radio) foreground by=lock", "18.000 state \(Self.radio) background by=foreground",
                "19.000 state \(Self.radio) suspended by=grace",
            ])
    }

    @Test(arguments: Phone.allCases)
    func aSuspendedAppMayBeEvictedWithoutNotice(_ phone: Phone) throws {
        let log = try self.run(
            """
            # jostle scenario 1
            0s app org.example.A
            0s detector org.example.A d preset=shake
            0s foreground nobody
            5s leave org.example.A
            9s end
            """, self.policy(phone))
        #expect(log.map(self.time).max() == 1)
    }

    @Test(arguments: Phone.allCases)
    func lockingMovesTheAppOutOfActiveUse(_ phone: Phone) throws {
        #expect(try self.times(self.lines(phone, "state \(Self.home) inactive by=lock")) == [13])
    }

    // MARK: Assertions

    @Test(arguments: Phone.allCases)
    func aShortAssertionLastsAsLongAsThePhoneSaysCountedFromEnteringTheBackground(_ phone: Phone) throws {
        let end = 130 + phone.budget
        let shown = 101...Double(end)
        let story = try self.lines(phone, Self.timer).filter { shown.contains(self.time($0)) }
        #expect(
            story.filter { !$0.contains(" epoch=") } == [
                "101.000 assertion \(Self.timer) finish", "130.000 state \(Self.timer) background by=foreground",
                "\(end - 5).000 expiring \(Self.timer) finish for=5.000",
                "\(end).000 ended \(Self.timer) finish by=overrun",
                "\(end).000 state \(Self.timer) suspended by=overrun",
            ])
        // Meanwhile it hears.
        #expect(try self.times(self.lines(phone, "deliver \(Self.timer) stop")).first == 140)
    }

    @Test(arguments: Phone.allCases)
    func anActivityThatTakesOverLeavesNoSuspendedMoment(_ phone: Phone) throws {
        let states = try self.lines(phone, "state \(Self.radio) ").filter { (500...1_001).contains(self.time($0)) }
        #expect(
            states == [
                "500.000 state \(Self.radio) foreground by=foreground",
                "502.000 state \(Self.radio) background by=foreground",
                "1001.000 state \(Self.radio) foreground by=foreground",
            ])
        #expect(try self.times(self.lines(phone, "expiring \(Self.radio) ")) == [Double(502 + phone.budget - 5)])
        #expect(try self.lines(phone, "ended \(Self.radio) ") == [])
    }

    @Test(arguments: Phone.allCases)
    func comingBackToTheForegroundEndsTheAssertion(_ phone: Phone) throws {
        let log = try self.run(
            """
            # jostle scenario 1
            0s app org.example.A
            0s foreground org.example.A
            1s assertion org.example.A begin name=finish
            2s foreground nobody
            9s foreground org.example.A
            """, self.policy(phone))
        #expect(log.contains("9.000 ended org.example.A finish by=foreground"))
    }

    // MARK: Renewal

    /// A timer of 25 s that fires at once and renews when less than a minute is left.
    @Test func underTheOlderSystemItRenewsEvery125SecondsElevenTimesIn25Minutes() throws {
        let renewals = try self.times(self.lines(.older, "assertion \(Self.timer) stay for=175.000"))
        #expect(renewals == Array(stride(from: 2_127.0, through: 3_377, by: 125)))
    }

    @Test func underTheNewerSystemItRenewsAtEveryTickSixtyTimes() throws {
        let renewals = try self.times(self.lines(.newer, "assertion \(Self.timer) stay for=31.000"))
        #expect(renewals == Array(stride(from: 2_002.0, through: 3_477, by: 25)))
    }

    @Test(arguments: Phone.allCases)
    func renewalKeepsAnAppAliveForAsLongAsItRenews(_ phone: Phone) throws {
        let states = try self.lines(phone, "state \(Self.timer) ").filter { self.time($0) > 2_001 }
        let last = (phone == .older ? 2_002 + 125 * 11 : 2_002 + 25 * 59) + phone.budget
        #expect(
            states == [
                "2002.000 state \(Self.timer) background by=foreground",
                "\(last).000 state \(Self.timer) suspended by=overrun",
            ])
        #expect(try self.times(self.lines(phone, "deliver \(Self.timer) stop")).last == 3_501)
    }

    /// It keeps it alive because policy lets it: without Renewal, or with a limit for the hour, it does not.
    @Test(arguments: Phone.allCases)
    func policyEndsWhatWouldGoOnForEver(_ phone: Phone) throws {
        let text = try self.scenario(phone)
        let once = try self.run(text, self.policy(phone, "Renewal=yes", "Renewal=no")).filter {
            $0.contains("state \(Self.timer) suspended by=")
        }
        #expect(once.contains { self.time($0) >= 2_002 && self.time($0) <= Double(2_002 + phone.budget) }, "\(once)")
        let limited = try self.policy(phone, "Renewal=yes", "Renewal=yes\nAssertionsPerHour=3")
        let thrice = try self.run(text, limited).filter { $0.contains("state \(Self.timer) suspended by=") }
        #expect(thrice.contains { self.time($0) > 2_002 && self.time($0) <= 2_002 + 3 * 175 }, "\(thrice)")
    }

    // MARK: Rights

    @Test(arguments: Phone.allCases)
    func usingARightThatIsNotDeclaredIsRefused(_ phone: Phone) throws {
        func refusals(_ modes: String) throws -> [String] {
            try self.run(
                """
                # jostle scenario 1
                0s app org.example.Radio modes=\(modes)
                1s activity org.example.Radio audio begin
                """, self.policy(phone))
        }
        #expect(try refusals("none") == ["1.000 activity org.example.Radio audio refused=undeclared"])
        #expect(try refusals("audio") == [])
    }
}
