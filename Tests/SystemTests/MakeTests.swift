import Foundation
import Motion
import TestSupport
import Testing
import Traces

extension Surroundings {
    /// Motion that is made without waiting, and what is tuned with it.
    @Suite(.serialized) struct Makes {
        private static let shake = "noise=0.02g; rest 2s; shake peak=2.8g; rest 1s"

        private func jostle(_ arguments: [String]) throws -> Tool.Result {
            try Tool.run([Programs.path(of: "jostle")] + arguments)
        }

        private func make(_ script: String, _ file: String, _ options: String...) throws {
            let result = try self.jostle(["make", script, file] + options)
            #expect(result.status == 0 && result.stdout.isEmpty, "\(result)")
        }

        /// A shake, a walk and a walk without a label, in a directory.
        private func makeTraces(in directory: String) throws -> (shake: String, walk: String, plain: String) {
            let (shake, walk, plain) = ("\(directory)/shake.csv", "\(directory)/walk.csv", "\(directory)/plain.csv")
            try self.make(Self.shake, shake, "--label", "shake gentle")
            try self.make("noise=0.02g; walk 1min", walk, "--label", "not-shake walk")
            try self.make("walk 10s", plain)
            return (shake, walk, plain)
        }

        @Test func theSameScriptAndSeedMakeTheSameFile() throws {
            try PrivateBus.with { bus in
                func made(_ name: String, _ script: String, _ options: String...) throws -> String {
                    let file = "\(bus.directory)/\(name)"
                    let result = try self.jostle(["make", script, file] + options)
                    #expect(
                        result.status == 0 && result.stderr == "jostle: 200 samples of 4s in \(file)\n", "\(result)")
                    // The notes say what was asked for.
                    return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
                        .filter { !$0.hasPrefix("# source:") }.joined(separator: "\n")
                }
                let first = try made("a", Self.shake, "--seed", "7")
                #expect(try made("b", "synth:\(Self.shake)", "--seed", "7") == first)
                #expect(try made("c", "seed=7; \(Self.shake)") == first)
                #expect(try made("d", Self.shake, "--seed", "8") != first)
            }
        }

        /// It is the motion that the reader would play.
        @Test func itIsTheMotionOfTheScript() throws {
            let result = try self.jostle(["make", "seed=3; \(Self.shake)", "-", "--rate", "100Hz", "--for", "3s"])
            let rows = result.stdout.split(separator: "\n").filter { !$0.hasPrefix("#") }.dropFirst()
            #expect(rows.count == 300)
            let motion = try SyntheticMotion(script: "seed=3; \(Self.shake)")
            for (index, row) in rows.enumerated() {
                let offset = SyntheticMotion.offset(ofSample: Int64(index), rate: 100)
                let sample = try #require(motion.sample(at: offset))
                #expect(row == "\(offset.microseconds),\(sample.x),\(sample.y),\(sample.z)")
            }
        }

        @Test func gapsAreGapsAndManyPartsAreOne() throws {
            let result = try self.jostle(["make", "rest 1s; gap 2s; rest 1s", "-"])
            let times = result.stdout.split(separator: "\n").compactMap { Int($0.prefix { $0 != "," }) }
            #expect(times.count == 100 && times[50] == 3_000_000)
            let long = try self.jostle(["make", "rest 10min; loop", "-", "--for", "20min"])
            #expect(long.stdout.split(separator: "\n").last?.hasPrefix("1199980000,") == true)
        }

        /// A reader that has enough is no failure.
        @Test func aClosedPipeEndsIt() throws {
            let result = try Tool.run([
                "sh", "-c", "{ \"$1\" make 'rest 1h' -; echo $? >&2; } | head -n 1", "sh", Programs.path(of: "jostle"),
            ])
            #expect(result.stdout == "# jostle trace 1\n" && result.stderr.hasSuffix("\n0\n"), "\(result)")
        }

        /// The limits in docs/traces.md are those of the language: what is at one is taken, what is beyond it is not.
        @Test func limitsAreAsDocumented() throws {
            let page = try String(contentsOfFile: Programs.source("docs/traces.md"), encoding: .utf8)
            let limits: [(row: String, script: (String) -> String, taken: [String], refused: [String])] = [
                (
                    "| `rate=HZ` | 0.01Hz to 10000Hz |", { "rate=\($0); rest 1s" }, ["0.01Hz", "10000Hz"],
                    ["0.009Hz", "10001Hz"]
                ),
                ("| `noise=G` | 0g to 4g |", { "noise=\($0); rest 1s" }, ["0g", "4g"], ["-0.1g", "4.1g"]),
                (
                    "| `walk pace=HZ` | 0.1Hz to 5Hz |", { "walk 1s pace=\($0)" }, ["0.1Hz", "5Hz"],
                    ["0.09Hz", "5.1Hz"]
                ),
                (
                    "| `walk strength=G` | more than 0, up to 16g |", { "walk 1s strength=\($0)" }, ["0.001g", "16g"],
                    ["0g", "16.1g"]
                ),
                (
                    "| `shake peak=G` | more than 0, up to 16g |", { "shake peak=\($0)" }, ["0.001g", "16g"],
                    ["0g", "16.1g"]
                ),
                (
                    "| `shake freq=HZ` | 0.1Hz to 50Hz |", { "shake freq=\($0)" }, ["0.1Hz", "50Hz"],
                    ["0.09Hz", "50.1Hz"]
                ),
                ("| TIME | 1ms to 24h |", { "rest \($0)" }, ["1ms", "24h"], ["0.9ms", "24.1h"]),
                (
                    "| a script | 4096 bytes |", { "rest 1s" + String(repeating: " ", count: (Int($0) ?? 0) - 7) },
                    ["4096"], ["4097"]
                ),
            ]
            let help = try self.jostle(["shake", "--help"]).stdout
            for words in ["up to 16g", "0.1Hz to 50Hz", "1ms to 24h"] { #expect(help.contains(words), "\(help)") }
            for limit in limits {
                #expect(page.contains("\n\(limit.row)\n"), "\(limit.row)")
                for value in limit.taken {
                    #expect(throws: Never.self, "\(limit.row): \(value)") {
                        try SyntheticMotion(script: limit.script(value))
                    }
                }
                for value in limit.refused {
                    #expect(throws: SyntheticMotion.Problem.self, "\(limit.row): \(value)") {
                        try SyntheticMotion(script: limit.script(value))
                    }
                }
            }
        }

        // MARK: Tuning

        /// A trace that does not say what it shows is skipped with a word, once, and the others count.
        @Test func tracesWithoutALabelAreSkipped() throws {
            try PrivateBus.with { bus in
                let (shake, walk, plain) = try self.makeTraces(in: bus.directory)
                let without = try self.jostle(["tune", shake, walk])
                let with = try self.jostle(["tune", plain, shake, plain, walk])
                #expect(without.status == 0 && without.stdout.contains("\nUse "), "\(without)")
                #expect(with.status == 0 && with.stdout == without.stdout, "\(with)")
                // Besides, there is little to tell by what does not count.
                #expect(with.stderr.split(separator: "\n").count == 2, "\(with.stderr)")
                #expect(with.stderr.hasPrefix("jostle: \(plain) is skipped: no label says"))
                let told = try self.jostle(["tune", shake, "--negative", plain, walk])
                #expect(told.status == 0 && !told.stderr.contains("skipped"), "\(told)")
                let none = try self.jostle(["tune", plain])
                #expect(
                    none.status == 2 && none.stderr.hasSuffix("jostle: tune: no trace is left to tune with\n"),
                    "\(none)")
            }
        }

        /// What a trace lacks is said once, however many numbers are tried.
        @Test func aTraceWithoutTheSensorIsNamed() throws {
            try PrivateBus.with { bus in
                let (shake, _, _) = try self.makeTraces(in: bus.directory)
                let options = ["--when", "lux > level", "--sensor", "light", "--parameter", "level=1lx..9lx"]
                let result = try self.jostle(["tune", shake] + options)
                #expect(
                    result.stderr == "jostle: \(shake): the detectors listen to light, the trace has accelerometer\n"
                        && result.status == 2)
            }
        }

        @Test(arguments: [
            // The middle of what a walk does not reach and a shake of 2.8 g does; the default, if it lies in there.
            (["--when", "norm(user) > level", "--parameter", "level=0.1g..3g", "--every", "50ms"], "LEVEL", 1.5...2.2),
            (["--when", "abs(x)>level", "--parameter", "level=100mg..4g"], "LEVEL", 1.0...2.0),
            (["--preset", "shake", "--parameter", "count=2..9"], "COUNT", 2.0...3.0),
            (["--preset", "shake.planar", "--parameter", "threshold=1g..4g"], "THRESHOLD", 2.3...2.3),
        ])
        func whatIsNamedIsTuned(_ options: [String], _ heading: String, _ range: ClosedRange<Double>) throws {
            try PrivateBus.with { bus in
                let (shake, walk, _) = try self.makeTraces(in: bus.directory)
                let result = try self.jostle(["tune", shake, walk] + options)
                #expect(
                    result.status == 0 && result.stdout.contains("\n\(heading) ")
                        || result.stdout.contains(" \(heading) "))
                let advice = try #require(
                    result.stdout.firstMatch(of: #/Use ([.0-9]+)( g)?: finds 100 % /#), "\(result)")
                #expect(range.contains(try #require(Double(advice.1))), "\(result)")
            }
        }
    }
}
