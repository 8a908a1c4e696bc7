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
            let before = try Resident(of: broker.pid).all
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
            let during = try Resident(of: broker.pid).all
            #expect(during <= 64 << 20 && during > before + (1 << 20))
            _ = try flood.terminate()
            try stage.until("the memory comes back") {
                try Resident(of: broker.pid).all * 10 <= before * 11
            }
            _ = try good.nextEvent()
        }

        /// So many rules are not there any more when the files say less, and nor is what it took to read them.
        @Test func memoryComesBackWhenALargePolicyIsGone() throws {
            let stage = try Stage(broker: false)
            let file = "[Rule all]\nThen=allow\n"
            try stage.startBroker(policy: file)
            let broker = try #require(stage.broker)
            let good = try stage.watch(Stage.always, "--app", "org.example.Good")
            _ = try good.nextEvent()
            let root = Stage.Object.broker
            func reload(_ text: String) throws -> Int {
                _ = try stage.directory("policy", ["20-large": text])
                let lines = try stage.script("p call org.jostle.Broker1 \(root) org.jostle.Broker1 Reload a{sv} [{}]")
                #expect(lines == ["p ok []"])
                return try Resident(of: broker.pid).all
            }
            // What a reload needs of the program is brought in by the first one.
            _ = try reload("")
            let before = try Resident(of: broker.pid).all
            let rules = (0..<20_000).map { "[Rule r\($0)]\nThen=allow\nWhenApp=org.example.App\($0)\n" }
            let during = try reload(rules.joined())
            #expect(during > before + (8 << 20), "\(during) after \(before)")
            _ = try reload("")
            try stage.until("the memory comes back") {
                try (Resident(of: broker.pid).all - before) * 4 <= during - before
            }
            _ = try good.nextEvent()
        }
    }
}
