import DBus
import DaemonSupport
import Detection
import Journal
import Loop
import Motion

/// The way to what is on the disk: made first of all, so that the disk has time until the broker needs it.
final class StoreLink {
    let store: Store
    /// The start of our run, in µs of the wall clock, as the journal tells runs apart.
    let started: Int64
    /// How much motion is kept around moments; `nil`: none is.
    let clips: ClipTerms?
    private let inbox: Inbox
    private let loop: EventLoop
    /// Of the disk's silence.
    private var watch: EventLoop.Registration?

    /// What the writer's thread wakes the loop for.
    private final class Inbox {
        var open: () -> Void = {}
    }

    private static let directoryOption = TypedOption<String>(
        "state-dir", "DIR",
        "where to keep the journal and what must outlive the broker (default: $STATE_DIRECTORY, else"
            + " \(StateDirectory.ofSystem) on the system bus, else jostle in $XDG_STATE_HOME or ~/.local/state)",
        naming: .directory, expected: "an absolute path"
    ) { $0.hasPrefix("/") ? $0 : nil }
    private static let offOption = CommandOption.flag(
        "no-journal", "write nothing to the disk: no journal, and nothing that outlives the broker")
    private static let sizeOption = TypedOption.number(
        "journal-size", "MIB", "how large the journal may become, in MiB (default: 64)", in: 1...65_536,
        expected: "a whole number from 1 to 65536")
    private static let ageOption = TypedOption<TimeSpan>(
        "journal-age", "TIME", "how long the journal keeps what stands in it, such as 48h (default: 720h)",
        expected: "a time from 1min to 87600h, such as 48h"
    ) { text in
        guard let quantity = try? Quantity.parse(text), quantity.dimension == .time,
            let span = TimeSpan(seconds: quantity.value)
        else { return nil }
        return (TimeSpan.seconds(60) ... .seconds(87_600 * 3_600)).contains(span) ? span : nil
    }
    private static let clipsOption = TypedOption<TimeSpan>(
        "clips", "TIME",
        "keep the motion around hits and near misses in the journal: so much before each, and half of it behind (default: none)",
        expected: "a time from 200ms to 10s, such as 2s"
    ) { text in
        guard let quantity = try? Quantity.parse(text), quantity.dimension == .time,
            let span = TimeSpan(seconds: quantity.value)
        else { return nil }
        return ClipTerms.range.contains(span) ? span : nil
    }
    static let options: [any OptionDeclaration] = [directoryOption, offOption, sizeOption, ageOption, clipsOption]

    /// How long the start of the broker may wait for the disk.
    private static let patience = TimeSpan.milliseconds(250)
    /// How long its end may.
    private static let lastPatience = TimeSpan.seconds(2)

    /// `nil` when nothing is to be kept.
    init?(_ arguments: Arguments, on daemon: Daemon) throws(UsageProblem) {
        let limits = try Self.limits(arguments)
        let clips = try arguments.value(of: Self.clipsOption).map { ClipTerms($0) }
        if arguments.has(Self.offOption) {
            guard clips == nil else {
                throw UsageProblem("--clips has no effect beside --no-journal, where they would be")
            }
            return nil
        }
        guard
            let directory = try arguments.value(of: Self.directoryOption)
                ?? StateDirectory.standard(for: daemon.bus.address)
        else {
            throw UsageProblem("there is no HOME to keep anything in: give --state-dir or --no-journal")
        }
        let inbox = Inbox()
        let wakeup = daemon.loop.wakeup { inbox.open() }
        let run = StoreRun(started: Clock.wallClock(), boot: Self.boot, version: Version.text)
        self.inbox = inbox
        self.started = run.started
        self.clips = clips
        self.loop = daemon.loop
        let store = Store(in: directory, run: run, limits: limits) { wakeup.fire() }
        self.store = store
        if clips != nil { store.expectClips() }
        // Without it nobody hears of a disk that does not answer, and that is all.
        self.watch = store.alarmDescriptor.flatMap { descriptor in
            try? daemon.loop.watch(descriptor, for: .read) { [weak store] _ in store?.noteSilence() }
        }
    }

    /// Has the news told to somebody, from the loop.
    func onNews(_ tell: @escaping () -> Void) { self.inbox.open = tell }

    /// The epoch behind which ours begin, should the disk tell it in time.
    func firstEpoch() throws(DirectoryInUse) -> UInt64? {
        do throws(DirectoryInUse) {
            return try self.store.firstEpochs(within: Self.patience)?.first
        } catch {
            throw DirectoryInUse(
                description: "\(error); say another place with --state-dir, or --no-journal to keep nothing")
        }
    }

    func close() {
        self.loop.cancel(&self.watch)
        self.store.close(within: Self.lastPatience)
    }

    // MARK: What was asked for

    private static func limits(_ arguments: Arguments) throws(UsageProblem) -> StoreLimits {
        var limits = StoreLimits()
        if let size = try arguments.value(of: self.sizeOption) { limits.journalBytes = Int64(size) << 20 }
        if let age = try arguments.value(of: self.ageOption) { limits.journalAge = age }
        return limits
    }

    /// The boot of the system, as the kernel names it: times count from there.
    private static var boot: String {
        var buffer = [UInt8](repeating: 0, count: 36)
        guard let file = try? InputFile("/proc/sys/kernel/random/boot_id"),
            let count = try? file.read(into: &buffer)
        else { return "" }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
