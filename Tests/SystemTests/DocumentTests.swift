import TestSupport
import Testing

extension Surroundings {
    /// Documents name what is there, and the check would notice if they did not.
    @Suite(.serialized) struct Documents {
        private let page = Programs.source("docs/faults.md")

        private func check(_ file: String) throws -> Tool.Result {
            try Tool.run(["python3", Programs.source("Tests/Scripts/doc-names.py"), file])
        }

        /// Each fault has a test that is there.
        @Test func everyFaultIsShownByATest() throws {
            #expect(try self.check(self.page) == Tool.Result(status: 0, stdout: "", stderr: ""))
            let rows = try Tool.run(["grep", "-c", "^| .*Tests/", self.page]).stdout
            #expect((Int(rows.dropLast()) ?? 0) >= 43, "\(rows)")
        }

        /// Whoever types a call of a page has it answered; what takes other arguments is noticed.
        @Test func callsHaveTheirArguments() throws {
            #expect(try self.check(Programs.source("docs/detectors.md")).status == 0)
            try PrivateBus.with { bus in
                let copy = "\(bus.directory)/page.md"
                let call = "busctl --user call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Reload"
                let written = try bus.run(["sh", "-ec", "echo \"$1\" > \"$2\"", "sh", call, copy])
                #expect(written.status == 0, "\(written.stderr)")
                let result = try self.check(copy)
                #expect(result.status == 1 && result.stdout.contains("Reload of org.jostle.Broker1 takes 'a{sv}'"))
            }
        }

        /// What is done to a copy of the page, and the words with which the check must notice.
        static let differences: [(edit: String, complaint: String)] = [
            ("s/`aKilledBrokerLosesNothing`/`aKilledBrokerLosesMuch`/", "has no test aKilledBrokerLosesMuch"),
            (
                "s|`Tests/SystemTests/ClockTests.swift`|`Tests/SystemTests/NoClockTests.swift`|",
                "there is no Tests/SystemTests/NoClockTests.swift"
            ),
            // A helper is none.
            ("s/`aKilledBrokerLosesNothing`/`eventsGoOn`/", "has no test eventsGoOn"),
            ("/aKilledBrokerLosesNothing/s/| [^|]* |$/| we trust in it |/", "no test shows "),
        ]

        @Test(arguments: differences.indices)
        func aFaultWithoutItsTestIsNoticed(_ index: Int) throws {
            let (edit, complaint) = Self.differences[index]
            try PrivateBus.with { bus in
                let copy = "\(bus.directory)/faults.md"
                let edited = try bus.run(["sh", "-ec", "sed \"$1\" \"$2\" > \"$3\"", "sh", edit, self.page, copy])
                #expect(edited.status == 0, "\(edited.stderr)")
                let result = try self.check(copy)
                #expect(result.status == 1 && result.stdout.contains(complaint), "\(result)")
            }
        }
    }
}
