import Glibc
import TestSupport
import Testing

extension Surroundings {
    /// A bridge whose server means harm: it goes on, stays small, says what it met, and finds a server that is one again.
    @Suite(.serialized) struct HostileServers {
        /// What `Tests/Scripts/hostile-server.py` can do, and what the bridge says of it; empty: nothing has to be said.
        private static let kinds: [(name: String, words: String)] = [
            ("garbage", "no server: "), ("endless", "more than we can keep"),
            ("endless_properties", "more than we can keep"), ("long_length", "no server: "),
            ("hoard", "no server: "), ("deaf", ""), ("flood", ""), ("huge_retained", "longer than 262144 bytes"),
            ("too_large", "a message of 2000000 bytes"), ("nested", ""), ("questions", ""), ("strangers", ""),
            ("shifting", "no server: "), ("mutated", ""), ("topics", "no server: "),
            ("twice", "takes us a second time"), ("unasked", ""), ("refusals", "the server refuses a message"),
            ("forgetful", ""), ("nothing_on_the_way", "no server: "),
            ("no_quality", "acknowledges nothing"), ("small_packets", "no more than 10 bytes"),
            ("odd_properties", ""), ("wrong_properties", "no server: "),
            ("shy", "lets us not hear 'jostle/1/kiosk-17/"), ("refused", "no server: "),
            ("brim", "more than we can keep"), ("marks", ""),
        ]

        /// What a bridge may have had in memory at most, in bytes: all that there is for it, and pages of its programs' files.
        private static let most = (192 + 32) << 20

        @Test func eachKindIsTried() throws {
            let script = Programs.source("Tests/Scripts/hostile-server.py")
            let known = try Tool.run(["python3", script, "--kinds"]).stdout.split(separator: "\n").map(String.init)
            #expect(known == Self.kinds.map(\.name))
        }

        @Test(arguments: kinds.map(\.name)) func aBridgeOutlivesIt(_ kind: String) throws {
            let words = try #require(Self.kinds.first { $0.name == kind }?.words)
            let bus = try PrivateBus()
            defer { bus.stop() }
            let server = try BackgroundProgram(
                tool: [
                    "python3", Programs.source("Tests/Scripts/hostile-server.py"), kind,
                    FleetBars().isAsked ? "10" : "1",
                ])
            let port = try server.waitForLine { UInt16($0) != nil }
            let file = "\(bus.directory)/bridge.conf"
            try FleetScene.write(
                """
                [Server]
                Host=127.0.0.1
                Port=\(port)
                TLS=no
                [Bridge]
                Device=kiosk-17
                Groups=north
                Acknowledge=archive
                [Detector knock]
                preset=shake
                [Publish]
                Events=*
                HomeAssistant=homeassistant
                [Allow]
                Desired=policy apps detectors pause
                Requests=explain status

                """, to: file)
            let bridge = try BackgroundProgram(
                "jostle-bridge",
                [
                    "--bus", bus.address, "--config", file, "--journal", bus.directory, "--state-dir",
                    "\(bus.directory)/b",
                ])
            let done = try server.waitForLine(timeout: .seconds(120)) { $0.hasPrefix("done: ") }
            #expect(!done.contains("it asked for nothing again") && !done.contains("it does not answer"), "\(done)")
            // The same process comes back to a server that does what it should.
            _ = try server.waitForLine(timeout: .seconds(60)) { $0 == "heard jostle/1/kiosk-17/presence" }
            let peak = try ProcessValue.size("VmHWM", of: bridge.pid)
            print("fleet: \(kind): \(done.dropFirst(6)), at most \(peak >> 10) kB")
            #expect(peak < Self.most)
            // It ends as it should: nothing was stuck. All that it said is known then.
            #expect(try bridge.terminate() == .exited(0), "\(bridge.errors)")
            #expect(words.isEmpty || bridge.errors.contains(words), "\(kind): \(bridge.errors)")
            #expect(bridge.errors.utf8.count < 1 << 20)
        }
    }
}
