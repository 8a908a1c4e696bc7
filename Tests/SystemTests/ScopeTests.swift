import TestSupport
import Testing

extension Surroundings {
    /// jostle scope on a terminal, in a pipe, and beside other apps.
    @Suite(.serialized) struct Scope {
        @Test(arguments: ["", "1"])
        func drawsInATerminal(noColor: String) throws {
            let stage = try Stage()
            let app = try stage.watch("shake.planar,threshold=2.3g", "--app", "org.example.App")
            let screen = try TmuxScreen(stage, "\(Programs.path(of: "jostle")) scope", colors: noColor.isEmpty)
            try stage.until("the signal is drawn") {
                try screen.capture().contains { $0.unicodeScalars.contains { (0x2801...0x28FF).contains($0.value) } }
            }
            let first = try screen.capture()
            #expect(first[0].hasPrefix("accelerometer  norm(x, y, z)  50 Hz  synth"), "\(first)")
            #expect(first.contains { $0.hasPrefix("   2.30 │┄┄") }, "\(first)")
            #expect(first.contains { $0.hasPrefix("1 org.example.App/shake.planar  over 2.30 g  0 hits") }, "\(first)")
            #expect(try stage.jostle("shake", "--peak", "4g").status == 0)
            _ = try app.nextEvent()
            try stage.until("the hit is marked") {
                let lines = try screen.capture()
                return lines.contains { $0.contains("1 hit, last ") }
                    && lines.contains { $0.hasPrefix("         ") && $0.contains("1") && !$0.contains("s") }
            }
            // Colours only if they are wanted; and never wider or higher than the screen.
            #expect(try screen.capture("-e").joined().contains("\u{1B}[") == noColor.isEmpty)
            #expect(try screen.capture().allSatisfy { $0.count < 80 })
            // Smaller, while it runs.
            try screen.tmux("resize-window", "-x", "50", "-y", "14")
            try stage.until("it is drawn anew") {
                let lines = try screen.capture()
                return lines.count <= 15 && lines.contains { $0.hasPrefix("1 org.example.App") }
                    && lines[0].hasPrefix("accelerometer") && lines.allSatisfy { $0.count < 50 }
            }
            // What was there before comes back, by a key as by what ends programs.
            try screen.press(noColor.isEmpty ? "C-c" : "q")
            try stage.until("the screen is given back") {
                try !screen.capture().contains { $0.contains("org.example") }
            }
            try stage.until("the sensor is let go") {
                try stage.property("Claimants", at: Stage.Object.accelerometer).hasPrefix("a(sdttta{sv}) 1 ")
            }
        }

        @Test func writesLinesIntoAPipe() throws {
            let stage = try Stage()
            let scope = try stage.start("scope", "--detector", "shake.planar,threshold=2g", "--for", "30s")
            let opening = try scope.waitForLine { $0.hasPrefix("accelerometer") }
            #expect(opening.hasSuffix("; shake.planar over 2.00 g"), "\(opening)")
            // That of the first second, or of a later one where the machine stood still for longer.
            let second = try scope.waitForLine { $0.contains(" s  norm(x, y, z) ") }
            #expect(second.hasSuffix(" samples") && second.contains(" g, "), "\(second)")
            #expect(try stage.jostle("shake", "--peak", "4g").status == 0)
            _ = try scope.waitForLine { $0.contains(" s  hit: shake.planar, peak ") }
            #expect(!scope.output.contains("\u{1B}"))
            // It asks nothing of the broker, which hears nothing.
            #expect(try stage.property("Sensors", at: Stage.Object.broker).contains("\"received\" t 0"))
        }

        @Test func aConditionIsOnTheSensorThatIsLookedAt() throws {
            var text = "# jostle trace 1\n# light.unit: lx\nt,light.lux\n"
            for row in 0..<100 { text += "\(row * 20_000),\(row % 50 < 25 ? 100 : 5)\n" }
            let stage = try Stage(source: nil, broker: false, files: ["dusk.csv": text])
            try stage.startReader("trace:\(stage.bus.directory)/dusk.csv?loop")
            let scope = try stage.start("scope", "light", "--when", "lux < 10lx", "--for", "30s")
            _ = try scope.waitForLine { $0.hasPrefix("light") }
            _ = try scope.waitForLine { $0.contains(" s  hit: ") }
        }

        @Test func needsNoBrokerAndEndsInTime() throws {
            let stage = try Stage(broker: false)
            let result = try stage.jostle("scope", "--for", "1s", "--rate", "20Hz")
            #expect(result.status == 0)
            let lines = result.stdout.split(separator: "\n")
            #expect(lines.first?.hasSuffix("; no detector listens to it") == true, "\(result)")
            #expect(lines.contains { $0.contains(" s  norm(x, y, z) ") }, "\(result)")
        }

        @Test func saysWhatIsWrong() throws {
            let stage = try Stage(broker: false)
            for (arguments, status, words) in [
                (["scope", "acelerometer"], Int32(2), "did you mean 'accelerometer'?"),
                (["scope", "--rate", "fast"], 2, "a rate, such as 50Hz"),
                (["scope", "--detector", "shake.planer"], 2, "did you mean 'shake.planar'?"),
                (["scope", "--when", "norm(x"], 2, "column"),
                (["scope", "--rate", "400Hz"], 4, "FastestRate"),
            ] {
                let result = try stage.jostle(arguments)
                #expect(result.status == status && result.stderr.contains(words), "\(arguments): \(result)")
            }
        }
    }
}
