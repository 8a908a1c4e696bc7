import Arbitration
import DaemonSupport
import FleetCore
import Journal
import Loop

/// Follows the broker's journal: opens it, opens another one that takes its place, and tells when it has grown.
///
/// Not `Sendable`: it belongs to the thread of its loop.
final class JournalLink {
    /// It has grown, or is another file.
    var onChange: () -> Void = {}
    /// A file was opened, the first or another one.
    var onOpen: () -> Void = {}

    private let directory: String
    private let loop: EventLoop
    private let log: Log
    private var feed: JournalFeed?
    private var bell: JournalBell
    private var watch: EventLoop.Registration?
    private var trouble: String?
    private var timer: EventLoop.TimerID?
    /// When it was opened last, or was to be, in the time of `Clock.boottime`. It is not again within the first pause: the broker
    /// looks its files over when others have had them open.
    private var lastTry: Int64 = 0
    /// How long after the last try it is looked for where nobody tells when it comes, or that it has grown.
    private var pause = JournalLink.firstPause
    private var echo = Echo()
    /// What was committed when we looked last.
    private var version: Int64?

    private static let (firstPause, longestPause): (Int64, Int64) = (1_000_000, 30_000_000)
    /// How long after something was written we look again, at first and at most, and until when. In µs.
    private static let (firstEcho, longestEcho, writing): (Int64, Int64, Int64) = (10_000, 640_000, 5_000_000)

    /// What is written to the journal counts when it is committed, which may be as much later as the disk takes to have it, and which
    /// nobody tells: so we look again, a few times.
    private struct Echo {
        var timer: EventLoop.TimerID?
        var pause: Int64 = 0
        var end: Int64 = 0
    }

    init(_ directory: String, on loop: EventLoop, log: Log) {
        self.directory = directory
        self.loop = loop
        self.log = log
        self.bell = JournalBell(directory)
    }

    func start() { self.look() }

    /// Watches the directory that is there now, if there is one.
    private func watchDirectory() {
        self.loop.cancel(&self.watch)
        self.bell = JournalBell(self.directory)
        guard let descriptor = self.bell.descriptor else { return }
        self.watch = try? self.loop.watch(descriptor, for: .read) { [unowned self] _ in
            // The directory itself may be moved away, and its files are what they were.
            guard self.bell.answer() || self.isReplaced else { return }
            self.look()
            self.beginEcho()
        }
    }

    private func beginEcho() {
        self.echo.pause = Self.firstEcho
        self.echo.end = Clock.monotonic.now() + Self.writing
        self.lookAgain()
    }

    private func lookAgain() {
        let pause = self.echo.pause
        self.loop.set(&self.echo.timer, after: pause) { [unowned self] in
            self.lookWhetherChanged()
            self.echo.pause = min(2 * self.echo.pause, Self.longestEcho)
            if Clock.monotonic.now() < self.echo.end { self.lookAgain() }
        }
    }

    private func lookWhetherChanged() { if self.isOpen, self.committed != self.version { self.look() } }

    private var committed: Int64? { self.ask { feed throws(JournalFailure) in try feed.version() } }

    /// There is another file in the place of the one that is open, or none.
    private var isReplaced: Bool { if let isCurrent = self.feed?.isCurrent(), !isCurrent { true } else { false } }

    /// Looks whether the file is still the same, and has another one opened if need be.
    func look() {
        if self.isReplaced { self.feed = nil }
        guard !self.isOpen else {
            // What is committed from here on is seen by the next look, whether or not this one finds it.
            self.version = self.committed
            return self.onChange()
        }
        self.pause = Self.firstPause
        let rest = self.lastTry + Self.firstPause - Clock.boottime.now()
        if rest > 0 { self.open(after: rest) } else { self.open() }
    }

    /// A directory that is not there cannot be watched, and none tells that another one takes its place.
    private func open(after pause: Int64) {
        self.loop.set(&self.timer, after: pause, on: .boottime) { [unowned self] in
            guard self.isOpen, !self.isReplaced else { return self.open() }
            self.watchDirectory()
            self.lookWhetherChanged()
            // What was written before there was a watch may be committed after this look, and none would tell.
            if self.watch != nil { self.beginEcho() }
            self.comeBack()
        }
    }

    private func open() {
        self.loop.cancel(&self.timer)
        self.lastTry = Clock.boottime.now()
        self.feed = nil
        // Another file may be in another directory. That is watched before it is looked into, so that nothing is missed.
        self.watchDirectory()
        do throws(JournalFailure) {
            self.feed = try JournalFeed(in: self.directory)
            (self.trouble, self.version) = (nil, nil)
            self.onOpen()
            self.beginEcho()
        } catch {
            if self.trouble != error.description { self.log.info("\(error.description); waiting for it") }
            self.trouble = error.description
        }
        self.comeBack()
    }

    /// A user may have so many watches and no more. Without one nobody tells what comes to a journal that is open.
    private func comeBack() {
        guard !self.isOpen || self.watch == nil else { return self.pause = Self.firstPause }
        self.open(after: self.pause)
        self.pause = min(Self.longestPause, 2 * self.pause)
    }

    var isOpen: Bool {
        switch self.feed {
        case .some: true
        case nil: false
        }
    }

    /// Asks the journal; `nil` when it cannot be read now.
    func ask<Answer>(_ question: (borrowing JournalFeed) throws(JournalFailure) -> Answer) -> Answer? {
        do throws(JournalFailure) {
            switch self.feed {
            case .some(let feed): return try question(feed)
            case nil: return nil
            }
        } catch {
            if self.trouble != error.description { self.log.warning("\(error.description)") }
            self.trouble = error.description
            return nil
        }
    }
}

extension JournalLink {
    /// Reads a stretch of the journal; `nil` when it cannot be read now.
    func read(_ request: JournalRequest, telling filter: JournalFilter) -> JournalStretch? {
        let range = request.first...max(request.first, request.last)
        switch request.table {
        case .event:
            return self.ask { feed throws(JournalFailure) in try feed.events(range, limit: request.limit) }.map {
                events in
                Self.stretch(events.map(\.row), request, events.filter(filter.tells).map(JournalRow.init))
            }
        case .verdict:
            return self.ask { feed throws(JournalFailure) in try feed.judgements(range, limit: request.limit) }.map {
                verdicts in
                Self.stretch(verdicts.map(\.row), request, verdicts.filter(filter.tells).map(JournalRow.init))
            }
        }
    }

    private static func stretch(_ numbers: [Int64], _ request: JournalRequest, _ rows: [JournalRow]) -> JournalStretch {
        var gaps: [ClosedRange<Int64>] = []
        var next = request.first
        for number in numbers {
            if number > next { gaps.append(next...(number - 1)) }
            next = number + 1
        }
        // With fewer than asked for there is nothing more in what was asked for.
        if numbers.count < request.limit, next <= request.last {
            gaps.append(next...request.last)
            next = request.last + 1
        }
        return JournalStretch(rows: rows, through: next - 1, gaps: gaps)
    }
}

/// What of the journal is told of.
struct JournalFilter {
    let publish: BridgeConfiguration.Publish
    let hasDetectors: Bool

    func tells(_ event: JournalFeed.Event) -> Bool {
        guard event.isSent else { return false }
        if event.app == BrokerApp.name { return self.hasDetectors }
        return self.publish.events?.matches(event.app) ?? false
    }

    func tells(_ verdict: JournalFeed.Judgement) -> Bool {
        guard self.publish.verdicts?.matches(verdict.app) ?? false else { return false }
        return verdict.row % Int64(self.publish.verdictsOneIn) == 0
    }
}

extension JournalRow {
    init(_ event: JournalFeed.Event) {
        self.init(
            row: event.row,
            .event(
                EventMessage(
                    name: EventName(app: event.app, epoch: event.epoch, sequence: event.sequence),
                    detector: event.detector, peak: event.peak, time: event.time, wall: event.wall,
                    generation: event.generation, isSimulated: event.isSimulated)))
    }

    init(_ verdict: JournalFeed.Judgement) {
        self.init(
            row: verdict.row,
            .verdict(
                VerdictMessage(
                    app: verdict.app, epoch: verdict.epoch, detector: verdict.detector, preset: verdict.preset,
                    reason: verdict.reason, isDelivered: verdict.isDelivered, intensity: verdict.intensity,
                    rule: verdict.rule, place: verdict.place, time: verdict.time, wall: verdict.wall,
                    generation: verdict.generation)))
    }
}
