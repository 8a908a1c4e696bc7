import DetectionModel
import Foundation
import FuzzTargets
import Loop
import Testing

/// The committed corpora, and what is near them, on every run of the tests; `make fuzz` goes on from there.
@Suite struct CorpusTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Corpora")

    private static func inputs(_ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let folder = self.root.appending(path: target.rawValue)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            (name, [UInt8](try Data(contentsOf: folder.appending(path: name))))
        }
    }

    /// The processor time that this thread has had, in seconds: a busy machine makes nothing slower.
    private static func spent() -> Double { Double(Clock.threadTime()) / 1e6 }

    @Test func eachTargetHasACorpusAndEachCorpusATarget() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.root.path).sorted()
        #expect(folders == FuzzTarget.allCases.map(\.rawValue).sorted())
        for target in FuzzTarget.allCases { #expect(try Self.inputs(target).count > 1, "\(target)") }
    }

    @Test(arguments: FuzzTarget.allCases) func theCorpusIsRead(_ target: FuzzTarget) throws {
        for (name, bytes) in try Self.inputs(target) { #expect(target.run(bytes) == nil, "\(target)/\(name)") }
    }

    /// Bytes changed, taken out, put in twice and cut off.
    private static func changed(_ bytes: [UInt8], _ choices: inout SeededChoices) -> [UInt8] {
        var changed = bytes
        for _ in 0...choices.pick(4) {
            let index = choices.pick(max(1, changed.count))
            switch choices.pick(5) {
            case 0: changed[index] = UInt8(choices.pick(256))
            case 1: changed.remove(at: index)
            case 2: changed.insert(UInt8(choices.pick(256)), at: index)
            case 3: changed.insert(contentsOf: changed[index...].prefix(choices.pick(64)), at: index)
            default: changed.removeLast(choices.pick(changed.count))
            }
            if changed.isEmpty { changed = [0] }
        }
        return changed
    }

    @Test(arguments: FuzzTarget.allCases, [UInt64(1), 2, 3]) func whatIsNearTheCorpusIsRead(
        _ target: FuzzTarget, seed: UInt64
    ) throws {
        var choices = SeededChoices(seed: seed)
        for (name, bytes) in try Self.inputs(target) where !bytes.isEmpty {
            for round in 0..<20 {
                let changed = Self.changed(bytes, &choices)
                #expect(target.run(changed) == nil, "\(target)/\(name), seed \(seed), round \(round)")
            }
        }
    }

    // MARK: As many as are asked for

    private static let environment = ProcessInfo.processInfo.environment
    /// For so many seconds each target is fed, one after the other.
    private static let asked = environment["JOSTLE_NEAR_SECONDS"].flatMap { Double($0) }
    /// Where more inputs are, and what is read stands, which is there also when that ends the test.
    private static let found = environment["JOSTLE_NEAR_FOUND"]
    private static let seed = environment["JOSTLE_NEAR_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)

    /// `make fuzz` finds its way by what it reaches, and looks at each access to memory, which makes it slow; this goes many times
    /// around where that has been.
    @Test(.enabled(if: asked != nil)) func whatIsNearWhatWasFoundIsRead() throws {
        let seconds = try #require(Self.asked), found = URL(filePath: try #require(Self.found))
        print("JOSTLE_NEAR_SEED=\(Self.seed)")
        var total = 0
        for target in FuzzTarget.allCases {
            var inputs = try Self.inputs(target).map(\.bytes)
            let files = try? FileManager.default.contentsOfDirectory(
                at: found.appending(path: target.rawValue), includingPropertiesForKeys: nil)
            for file in files ?? [] { inputs.append([UInt8](try Data(contentsOf: file))) }
            inputs.removeAll { $0.isEmpty }
            let last = open(found.appending(path: "\(target.rawValue).last").path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
            try #require(last >= 0)
            defer { close(last) }
            var choices = SeededChoices(seed: Self.seed)
            var count = 0
            let end = Self.spent() + seconds
            while count % 100 != 0 || Self.spent() < end {
                var bytes = Self.changed(choices.one(of: inputs), &choices)
                if choices.happens(onceIn: 4) {
                    let other = choices.one(of: inputs)
                    bytes = Array(bytes.prefix(choices.pick(bytes.count + 1)))
                    bytes += other.dropFirst(choices.pick(other.count))
                }
                try #require(pwrite(last, bytes, bytes.count, 0) == bytes.count && ftruncate(last, bytes.count) == 0)
                if let problem = target.run(bytes) {
                    Issue.record("\(problem): \(found.path)/\(target.rawValue).last, input \(count)")
                    return
                }
                count += 1
            }
            total += count
            print("\(target.rawValue): \(count) inputs near \(inputs.count)")
        }
        print("\(total) inputs")
    }

    /// What a file can hold at its worst.
    private static let hostile: [(name: String, bytes: @Sendable (_ start: [UInt8]) -> [UInt8])] = [
        ("nothing", { _ in [] }),
        ("a line of 3 MB", { $0 + [UInt8](repeating: UInt8(ascii: "a"), count: 3_000_000) }),
        ("digits without end", { $0 + [UInt8](repeating: UInt8(ascii: "7"), count: 300_000) }),
        ("spaces without end", { $0 + [UInt8](repeating: 0x20, count: 300_000) }),
        ("100 000 lines", { $0 + [UInt8](repeating: 0x0A, count: 100_000) }),
        ("NULs without end", { $0 + [UInt8](repeating: 0, count: 300_000) }),
        ("parentheses without end", { $0 + [UInt8](repeating: UInt8(ascii: "("), count: 300_000) }),
        ("bytes that are no UTF-8", { $0 + [UInt8](repeating: 0xFF, count: 100_000) }),
        ("nan", { $0 + Array("nan,nan,nan,nan\n0=nan\nwhen=nan > nan\nthreshold=nan\n".utf8) }),
        ("1e308", { $0 + Array("1e308,1e308,1e308,1e308\n1e308s app 1e308\nevery=1e308s\nQuiet=1e308s\n".utf8) }),
        ("1e999", { $0 + Array("1e999,-1e999,1e999,1e999\n1e999s app\nevery=1e999s\nQuiet=1e999s\n".utf8) }),
        (
            "chance",
            { start in
                var choices = SeededChoices(seed: 17)
                return start + (0..<100_000).map { _ in UInt8(choices.pick(256)) }
            }
        ),
    ]

    /// Errors, not crashes, and soon: alone, and behind each input of the corpus, which opens the door for it.
    @Test(arguments: FuzzTarget.allCases, hostile.indices) func theWorstIsReadInBoundedTime(
        _ target: FuzzTarget, index: Int
    ) throws {
        let (name, make) = Self.hostile[index]
        for start in [[]] + (try Self.inputs(target).prefix(2).map { $0.bytes + [0x0A] }) {
            let began = Self.spent()
            #expect(target.run(make(start)) == nil, "\(target), \(name)")
            let seconds = Self.spent() - began
            // Without optimisation; what is quadratic takes far longer.
            #expect(seconds < 1.8, "\(target), \(name): \(seconds) s")
        }
    }
}
