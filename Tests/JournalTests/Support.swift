import Arbitration
import Foundation
import Journal
import Motion
import TestSupport
import Testing

/// A directory of a test's own, gone with it.
final class Directory {
    let path: String
    private let parent: String

    init() throws {
        var template = Array("/tmp/jostle-state-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        self.parent = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Not there yet, and neither is what it is in.
        self.path = "\(self.parent)/a/b"
    }

    deinit { try? FileManager.default.removeItem(atPath: self.parent) }

    func file(_ name: String) -> String { "\(self.path)/\(name)" }
    func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: self.file(name)) }

    func size(_ name: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: self.file(name))[.size] as? Int)
    }

    func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: self.file(name))) }
    func write(_ data: Data, to name: String) throws { try data.write(to: URL(fileURLWithPath: self.file(name))) }
    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: self.file(name)) }

    /// Has another program do something to a file.
    func python(_ script: String, on name: String) throws {
        let result = try Tool.run([
            "python3", "-c", "import sqlite3,sys;c=sqlite3.connect(sys.argv[1])\n\(script)", self.file(name),
        ])
        try #require(result.status == 0, "\(result.stderr)")
    }

    /// What another program reads in a file. It tries again when it comes in the middle of a damaged one being made anew.
    func sql(_ name: String, _ statement: String) throws -> String {
        let deadline = DispatchTime.now() + 10
        while true {
            let result = try Tool.rows(of: self.file(name), statement, separator: "|")
            if result.status == 0 { return result.stdout }
            guard .now() < deadline else { throw Failure("\(name): \(result.stderr)") }
        }
    }
}

/// A store and its news, as a loop would fetch them.
final class Keeper {
    let store: Store
    /// Not gone before the store's thread is, which would make it anew.
    private let place: Directory
    private let bell: DispatchSemaphore
    private(set) var news: [String] = []

    /// - Parameters:
    ///   - started: The wall clock at the start, in µs.
    ///   - joins: Changes of durable apps are written without being joined with what was there.
    init(_ place: Directory, started: Int64 = 1_000_000, limits: StoreLimits = Keeper.quick, joins: Bool = true) {
        let bell = DispatchSemaphore(value: 0)
        self.place = place
        self.bell = bell
        let run = StoreRun(started: started, boot: "boot", version: "test")
        self.store = Store(in: place.path, run: run, limits: limits) { bell.signal() }
        if joins { self.store.appsAreJoined() }
    }

    /// No waiting for more rows, and a short one before another try.
    static var quick: StoreLimits {
        var limits = StoreLimits()
        limits.linger = .zero
        limits.spacing = .zero
        limits.retry = .milliseconds(20)
        limits.calm = .milliseconds(20)
        return limits
    }

    /// A journal that is soon full, and rows enough on their way to fill it.
    static var small: StoreLimits {
        var limits = Self.quick
        limits.journalBytes = 1 << 20
        limits.waitingRows = 100_000
        return limits
    }

    /// Fetches news until it is so.
    func until(_ what: String, _ isSo: () -> Bool) throws {
        let deadline = DispatchTime.now() + 20
        while true {
            for news in self.store.takeNews() { self.news.append("\(news)") }
            if isSo() { return }
            guard self.bell.wait(timeout: min(deadline, .now() + 0.02)) == .success || .now() < deadline else {
                throw Failure("\(what): not within 20 s; news: \(self.news)")
            }
        }
    }

    func ask(_ query: JournalQuery) throws -> JournalAnswer {
        var answer: Result<JournalAnswer, JournalFailure>?
        self.store.ask(query) { answer = $0 }
        try self.until("an answer") { answer != nil }
        return try #require(answer).get()
    }

    func epochs() throws -> EpochBlock { try #require(try self.store.firstEpochs(within: .seconds(20))) }

    /// Keeps verdicts one second apart.
    func keep(_ verdicts: [Verdict], from wall: Int64 = 2_000_000) {
        for (index, verdict) in verdicts.enumerated() {
            self.store.keep(.verdict(verdict, user: 1_000, registration: 5), at: wall + Int64(index) * 1_000_000)
        }
    }

    func keepAndWait(_ verdicts: [Verdict], from wall: Int64 = 2_000_000) throws {
        let before = self.store.counts.written
        self.keep(verdicts, from: wall)
        try self.until("\(verdicts.count) rows") { self.store.counts.written >= before + UInt64(verdicts.count) }
    }

    deinit { self.close() }

    func close() { self.store.close(within: .seconds(20)) }

    /// How often trouble that comes back after such a time at most may be told, where it must go well for `calm` the first time.
    ///
    /// For it to be told once more it has to have gone well for twice as long as the time before.
    static func mostTold(calm: Duration, back longest: Duration) -> Int {
        var most = 2
        var wait = calm
        while wait < longest {
            most += 1
            wait *= 2
        }
        return most
    }
}

/// Verdicts of real contests: two apps, of which the one with the higher threshold gets each motion.
func verdicts(_ motions: Int, after epoch: UInt64 = 0) -> [Verdict] {
    var group = GroupConfiguration(name: "shake", place: Place(file: "/etc/jostle/policy.d/10-a.conf", line: 1))
    group.mode = .exclusive
    group.select = [.specificity]
    let rule = Rule(
        name: "any", place: Place(file: "/etc/jostle/policy.d/10-a.conf", line: 5), effect: .allow, note: "why not",
        group: "shake")
    var arbiter = Arbiter(policy: Policy(groups: [group], rules: [rule]), epoch: epoch)
    var actions: [ArbiterAction] = []
    func tell(_ input: ArbiterInput, at time: Timestamp) { arbiter.take(input, at: time, into: &actions) }
    for (index, name) in ["org.example.Gentle", "org.example.Hard"].enumerated() {
        let app = AppHandle(UInt32(index))
        let facts = DetectorFacts(name: "d\(index)", preset: "shake", threshold: 1.5 + Double(index), rest: .zero)
        tell(.app(app, AppID(name), AppEntrance()), at: .zero)
        tell(.detector(DetectorID(UInt32(index)), app, facts), at: .zero)
    }
    for motion in 0..<motions {
        let time = Timestamp(microseconds: Int64(motion) * 2_000_000)
        tell(.hits((0..<2).map { Hit(detector: DetectorID($0), time: time, peak: 3) }), at: time)
    }
    let end = Timestamp(microseconds: .max / 2)
    tell(.motion(end), at: end)
    return actions.compactMap { if case .verdict(let verdict) = $0 { verdict } else { nil } }
}
