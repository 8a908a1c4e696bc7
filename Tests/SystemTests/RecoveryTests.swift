import TestSupport
import Testing

extension EndToEnd {
    /// Registering as much as one may takes a bounded amount of memory, most of which is there again afterwards.
    @Suite(.serialized) struct Recovery {
        @Test func memoryComesBackWhenAFloodIsOver() throws {
            let stage = try Stage()
            let broker = try #require(stage.broker)
            let good = try stage.watch(Stage.always, "--app", "org.example.Good")
            _ = try good.nextEvent()
            let before = try self.residentKiB(broker.pid)
            let root = "call org.jostle.Broker1 /org/jostle/Broker1 org.jostle.Broker1 Register sa{sv}"
            var steps: [String] = []
            for app in ["A", "B"] {
                let name = "org.example.\(app)"
                let object = Stage.Object.app(name)
                steps += ["\(app) own \(name)", "\(app) \(root) ['\(name)',{}]"]
                for start in stride(from: 0, to: 2_048, by: 64) {
                    steps.append(
                        "\(app) call org.jostle.Broker1 \(object) org.jostle.Broker1.App AddDetectors a(sa{sv}) "
                            + "[[('d%d'%i,{'preset':V('s','shake.planar'),'threshold':V('d',2+i/1000)})"
                            + " for i in range(\(start),\(start + 64))]]")
                }
            }
            let flood = try stage.startScript(steps)
            for _ in 0..<66 {
                #expect(try flood.waitForLine { $0.contains(" ok ") || $0.contains(" error ") }.contains(" ok "))
            }
            let during = try self.residentKiB(broker.pid)
            #expect(during <= 64 << 10 && during > before + 1_024)
            _ = try flood.terminate()
            try stage.until("the memory comes back", timeout: .seconds(5)) {
                try self.residentKiB(broker.pid) * 10 <= before * 11
            }
            _ = try good.nextEvent()
        }

        private func residentKiB(_ pid: Int32) throws -> Int {
            let line = try Tool.run(["grep", "^VmRSS:", "/proc/\(pid)/status"]).stdout
            return try #require(line.split(separator: " ").compactMap { Int($0) }.first)
        }
    }
}
