import DBus
import TestSupport
import Testing

extension BusTests {
    @Suite(.serialized) struct LogControls {
        private let path = "/org/freedesktop/LogControl1"
        private let interface = "org.freedesktop.LogControl1"

        @Test func toolsReadAndSetTheLog() throws {
            let station = try Station()
            var (level, target) = ("info", "console")
            let control = LogControl(
                identifier: "jostle-test",
                target: .init(allowed: ["console", "journal"], get: { target }, set: { target = $0 }),
                level: { level }, setLevel: { level = $0 })
            station.connection.export(control.exportedObject())

            let get = try station.busctl(
                "get-property", Station.name, self.path, self.interface, "LogLevel", "LogTarget", "SyslogIdentifier")
            #expect(get.stdout == "s \"info\"\ns \"console\"\ns \"jostle-test\"\n")
            func set(_ property: String, _ value: String) throws -> String {
                try station.busctl("set-property", Station.name, self.path, self.interface, property, "s", value).stderr
            }
            for word in LogControl.levels {
                #expect(try set("LogLevel", word).isEmpty)
                #expect(level == word)
            }
            #expect(try set("LogTarget", "journal").isEmpty)
            #expect(target == "journal")
            #expect(
                try set("LogLevel", "loud")
                    == "Failed to set property LogLevel on interface \(self.interface): LogLevel cannot "
                    + "be 'loud', only one of emerg, alert, crit, err, warning, notice, info, debug\n")
            #expect(
                try set("LogTarget", "moon").hasSuffix("LogTarget cannot be 'moon', only one of console, journal\n"))
            #expect(try set("LogLevel", "").contains("LogLevel cannot be ''"))
            #expect(!(try set("SyslogIdentifier", "other").isEmpty))
            #expect(level == "debug" && target == "journal")
            let rows = try station.busctl("introspect", Station.name, self.path, self.interface).stdout
            let fields = rows.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            #expect(fields.contains(".LogLevel property s \"debug\" writable"))
            #expect(fields.contains(".LogTarget property s \"journal\" writable"))
            #expect(fields.contains(".SyslogIdentifier property s \"jostle-test\" const"))
        }

        /// Where somebody looks for sandboxes, nobody in one has a program silent.
        @Test(arguments: [CallerIdentity.Sandbox.app("org.example.App"), .unknown, nil])
        func whoIsInASandboxSetsNothing(_ sandbox: CallerIdentity.Sandbox?) throws {
            let station = try Station()
            station.connection.lookForSandboxes { _ in sandbox }
            var level = "info"
            let control = LogControl(
                identifier: "jostle-test", target: .init(allowed: ["console"], get: { "console" }, set: { _ in }),
                level: { level }, setLevel: { level = $0 })
            station.connection.export(control.exportedObject())
            let set = try station.busctl(
                "set-property", Station.name, self.path, self.interface, "LogLevel", "s", "emerg")
            // busctl has words of its own for this refusal.
            #expect(set.stderr.contains("Access denied") == (sandbox != nil), "\(set)")
            #expect(level == (sandbox == nil ? "emerg" : "info"))
        }

        /// What cannot be seen of a caller is refused for the moment, and looked for again with its next call.
        @Test func whoCannotBeLookedAtIsLookedAtAgain() throws {
            let station = try Station()
            var looks = 0
            station.connection.lookForSandboxes { (_) throws(BusError) -> CallerIdentity.Sandbox? in
                looks += 1
                if looks == 1 { throw .limitsExceeded("no descriptor is left") }
                return nil
            }
            var level = "info"
            let control = LogControl(
                identifier: "jostle-test", target: .init(allowed: ["console"], get: { "console" }, set: { _ in }),
                level: { level }, setLevel: { level = $0 })
            station.connection.export(control.exportedObject())
            let client = try station.client()
            let target = CallTarget(
                Station.name, try #require(ObjectPath(self.path)), "org.freedesktop.DBus.Properties")
            func set(_ word: String) throws(BusError) {
                _ = try client.callAndWait(target, "Set", self.interface, "LogLevel", Value.string(word))
            }
            #expect(throws: BusError.limitsExceeded("no descriptor is left")) { try set("emerg") }
            #expect(level == "info")
            try set("alert")
            try set("emerg")
            #expect(level == "emerg" && looks == 2)
        }
    }
}
