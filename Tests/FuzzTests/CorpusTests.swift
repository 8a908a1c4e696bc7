import DetectionModel
import Foundation
import FuzzTargets
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
    private static func spent() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test func eachTargetHasACorpusAndEachCorpusATarget() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.root.path).sorted()
        #expect(folders == FuzzTarget.allCases.map(\.rawValue).sorted())
        for target in FuzzTarget.allCases { #expect(try Self.inputs(target).count > 1, "\(target)") }
    }

    @Test(arguments: FuzzTarget.allCases) func theCorpusIsRead(_ target: FuzzTarget) throws {
        for (name, bytes) in try Self.inputs(target) { #expect(target.run(bytes) == nil, "\(target)/\(name)") }
    }

    /// Bytes changed, taken out, put in twice and cut off.
    @Test(arguments: FuzzTarget.allCases, [UInt64(1), 2, 3]) func whatIsNearTheCorpusIsRead(
        _ target: FuzzTarget, seed: UInt64
    ) throws {
        var choices = SeededChoices(seed: seed)
        for (name, bytes) in try Self.inputs(target) where !bytes.isEmpty {
            for round in 0..<20 {
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
                #expect(target.run(changed) == nil, "\(target)/\(name), seed \(seed), round \(round)")
            }
        }
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
