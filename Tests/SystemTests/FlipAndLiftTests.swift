import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// The worked examples of docs/detectors.md, with their own policy and their own scripts.
    @Suite(.serialized) struct FlipAndLift {
        /// A phone that lies on its back, is laid on its face, is taken up again, lies, and is lifted. 17 s.
        private static func trace() -> String {
            var text = "# jostle trace 1\n# sensor: accelerometer\nt,x,y,z\n"
            func share(_ time: Double, from start: Double, for length: Double) -> Double {
                min(max((time - start) / length, 0), 1)
            }
            for index in 0..<850 {
                let time = Double(index) / 50
                // Half a turn about x, there and back, and a quarter of one when it is lifted.
                var turn = share(time, from: 3, for: 0.6) - share(time, from: 8, for: 0.6)
                turn += 0.25 * (share(time, from: 14, for: 0.5) - share(time, from: 15.5, for: 0.5))
                let angle = turn * .pi
                // A little noise, or the sensor would be stuck.
                let noise = index % 2 == 0 ? 0.004 : -0.004
                text += "\(index * 20_000),\(noise),\(sin(angle)),\(cos(angle))\n"
            }
            return text
        }

        private func start(_ example: String, _ stage: Stage, _ command: String...) throws -> BackgroundProgram {
            let path = "\(Programs.directory):\(Programs.variable("PATH") ?? "/usr/bin:/bin")"
            return try BackgroundProgram(
                tool: [Programs.source("docs/examples/\(example)")] + command,
                environment: stage.environment.merging(["PATH": path]) { $1 })
        }

        @Test func silenceOnTheFaceAndWakeWhenLifted() throws {
            let stage = try Stage(source: nil, broker: false)
            let file = "\(stage.home)/phone.csv"
            let written = try #require(fopen(file, "w"))
            fputs(Self.trace(), written)
            try #require(fclose(written) == 0)
            try stage.startBroker("--policy", Programs.source("policies/examples/14-flip-and-lift"))
            let (silenced, woken) = ("\(stage.home)/silenced", "\(stage.home)/woken")
            // What a desktop would mute or wake is a file here; the scripts are those that a desktop runs.
            let note = "echo \"$2\" >> \"$1\""
            let silence = try self.start("flip-to-silence", stage, "sh", "-c", note, "sh", silenced)
            let lift = try self.start("lift-to-wake", stage, "sh", "-c", note, "sh", woken, "lifted")
            for app in ["Silence", "Lift"] {
                try stage.until("\(app) is registered") {
                    try stage.property("Detectors", at: Stage.Object.app("org.example.\(app)")).hasPrefix("a(sa{sv}) ")
                }
            }
            try stage.startReader("trace:\(file)?speed=4&loop")
            func lines(_ path: String) throws -> [String] {
                try Tool.run(["sh", "-c", "cat \"$1\" 2>&1 || :", "sh", path]).stdout.split(separator: "\n")
                    .map(String.init)
            }
            try stage.until("it was silenced and is not any more") { try lines(silenced).count >= 2 }
            try stage.until("it was lifted") { try lines(woken).contains("lifted") }
            #expect(try Array(lines(silenced).prefix(2)) == ["1", "0"])
            for app in [silence, lift] { #expect(try app.terminate() == .exited(0)) }
        }
    }
}
