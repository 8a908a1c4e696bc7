import FleetCore
import Motion
import Testing

@Suite struct DesiredStateTests {
    private static let kiosk = DesiredScope.device("kiosk-17")

    private func read(
        _ text: String, for scope: DesiredScope = Self.kiosk, isSigned: ((SignedBundle) -> Bool)? = nil
    ) throws(DesiredProblem) -> DesiredState {
        try DesiredState.read(Array(text.utf8), contentType: nil, for: scope, isSigned: isSigned)
    }

    @Test func isReadAsItIsWritten() throws {
        let state = DesiredState(
            version: 12, policy: [DesiredFile("50-fleet.conf", "[App a.b]\nGrants=wake\n")], apps: [],
            thresholds: [DesiredThreshold("knock", "2.5g")], isPaused: true, addressee: "kiosk-17",
            confirmWithin: .seconds(300))
        #expect(try self.read(JSONCoding.text(state.value)) == state)
        let cbor = try DesiredState.read(
            CBORCoding.bytes(state.value), contentType: PayloadFormat.cbor.contentType, for: Self.kiosk, isSigned: nil)
        #expect(cbor == state)
    }

    @Test(arguments: [
        ("[]", "no object"),
        ("{}", "'version' is missing"),
        (#"{"version":0}"#, "'version'"),
        (#"{"version":-1}"#, "'version'"),
        (#"{"version":1.5}"#, "'version'"),
        (#"{"version":9007199254740993}"#, "'version'"),
        (#"{"version":1,"polcy":{}}"#, "'polcy'"),
        (#"{"version":1,"policy":[]}"#, "'policy'"),
        (#"{"version":1,"policy":{"../x.conf":""}}"#, "'../x.conf'"),
        (#"{"version":1,"policy":{".x.conf":""}}"#, "'.x.conf'"),
        (#"{"version":1,"policy":{"x":""}}"#, "'x'"),
        (#"{"version":1,"policy":{"x.conf":1}}"#, "x.conf:1"),
        (#"{"version":1,"detectors":{"knock":"2g"}}"#, "'knock'"),
        (#"{"version":1,"detectors":{"knock":{"threshold":"2g","rate":"1Hz"}}}"#, "'knock'"),
        (#"{"version":1,"pause":"yes"}"#, "'pause'"),
        (#"{"version":1,"confirm_within":"1s"}"#, "'confirm_within'"),
        (#"{"version":1,"confirm_within":300}"#, "'confirm_within'"),
        (#"{"version":1,"for":"kiosk-18"}"#, "for 'kiosk-18'"),
        (#"{"version":1,"version":2}"#, "stands twice"),
        (#"{"version":1"#, "cannot be read"),
        (#"{"bundle":"AA==","signature":1}"#, "base64"),
    ])
    func whatMakesNoSenseIsRefused(text: String, words: String) {
        let problem = #expect(throws: DesiredProblem.self) { try self.read(text) }
        #expect(problem.map { "\($0)".contains(words) } ?? false, "\(problem.map { "\($0)" } ?? "nothing")")
    }

    /// The most that anybody may want is read in both forms.
    @Test(arguments: PayloadFormat.allCases) func theMostIsRead(format: PayloadFormat) throws {
        let files = (0..<DesiredLimits.files).map { DesiredFile("\($0).conf", "") }
        let state = DesiredState(
            version: 1, policy: files, apps: files,
            thresholds: (0..<DesiredLimits.thresholds).map { DesiredThreshold("d\($0)", "2g") }, isPaused: true,
            addressee: "kiosk-17", confirmWithin: .seconds(300))
        let read = try DesiredState.read(
            format.bytes(state.value), contentType: format.contentType, for: Self.kiosk, isSigned: nil)
        #expect(read == state)
    }

    @Test func whatIsTooMuchIsRefused() {
        let long = String(repeating: "x", count: DesiredLimits.fileBytes + 1)
        #expect(throws: DesiredProblem.self) { try self.read(#"{"version":1,"policy":{"a.conf":"\#(long)"}}"#) }
        let files = (0...DesiredLimits.files).map { #""\#($0).conf":"""# }.joined(separator: ",")
        #expect(throws: DesiredProblem.self) { try self.read(#"{"version":1,"policy":{\#(files)}}"#) }
        // Of what nobody can mean no more is read.
        let names = (0...DataLimits.valuesDown).map { #""\#($0)":0"# }.joined(separator: ",")
        let problem = #expect(throws: DesiredProblem.self) { try self.read("{\(names)}") }
        #expect(problem?.message.contains("more than \(DataLimits.valuesDown) values") == true)
        let space = String(repeating: " ", count: DesiredLimits.bytes)
        #expect(throws: DesiredProblem.self) { try self.read(#"{"version":1}\#(space)"#) }
    }

    @Test func withAKeyOnlyWhatIsSignedIsTaken() throws {
        let bytes = Array(#"{"version":3,"for":"kiosk-17"}"#.utf8)
        let bundle = SignedBundle(bytes: bytes, signature: [1, 2, 3])
        let text = JSONCoding.text(bundle.value)
        func isSigned(_ seen: SignedBundle) -> Bool { seen == bundle }
        #expect(try self.read(text, isSigned: isSigned).version == 3)
        #expect(throws: DesiredProblem.self) { try self.read(text, isSigned: { _ in false }) }
        #expect(throws: DesiredProblem.self) {
            try self.read(#"{"version":3,"for":"kiosk-17"}"#, isSigned: { _ in true })
        }
        // Meant for another, or for nobody by name: whoever has it may not give it to this one.
        #expect(throws: DesiredProblem.self) { try self.read(text, for: .group("kiosks"), isSigned: isSigned) }
        let vague = SignedBundle(bytes: Array(#"{"version":3}"#.utf8), signature: [])
        #expect(throws: DesiredProblem.self) { try self.read(JSONCoding.text(vague.value), isSigned: { _ in true }) }
        // Without a key a signature is not looked at.
        #expect(try self.read(text).version == 3)
    }

    @Test func whatIsNotNamedIsLeftAsItIs() {
        let old = DesiredState(version: 1, policy: [DesiredFile("a.conf", "1")], isPaused: true)
        let new = DesiredState(version: 2, apps: [DesiredFile("b.conf", "2")]).over(old)
        #expect(new.version == 2 && new.policy == old.policy && new.isPaused == true)
        #expect(new.apps == [DesiredFile("b.conf", "2")])
        #expect(DesiredState(version: 3, policy: []).over(new).policy == [])
        #expect(DesiredState(version: 3, policy: [], isPaused: false).changes == [.policy, .pause])
    }

    @Test func reportsAreReadAsTheyAreWritten() {
        let problem = DesiredProblem("E001: what", file: "50.conf", line: 3, column: 9)
        for outcome in DesiredReport.Outcome.allCases {
            let report = DesiredReport(outcome, version: 7, inForce: 6, scope: "@north", problem: problem)
            #expect(DesiredReport(report.value) == report)
        }
        #expect(DesiredReport(.object([])) == nil)
        #expect("\(problem)" == "50.conf:3:9: E001: what")
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func base64IsThatOfItsStandard(text: String, base64: String) {
        #expect(Base64.text(Array(text.utf8)) == base64)
        #expect(Base64.bytes(base64) == Array(text.utf8))
    }

    @Test(arguments: ["Zg", "Zg=", "Z===", "Zg==Zg==", "Zh==", "Z!==", "Zm9\u{e9}"])
    func whatIsNoBase64IsNot(text: String) { #expect(Base64.bytes(text) == nil) }
}
