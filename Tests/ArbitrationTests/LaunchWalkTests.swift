import Motion
import Testing

@testable import Arbitration
import Randomness

/// Whatever happens to launches, in whatever order: what must never be.
@Suite struct LaunchWalkTests {
    private static let apps = ["A", "B", "C", "D", "E", "F", "G"].map { AppID($0) }
    private static let reasons: [LaunchReason] = [.motion("shake"), .motion("location"), .push, .task("t"), .task("u")]

    /// What somebody who only watches knows.
    private struct Watched {
        /// Launches under way, and when they began.
        var flights: [AppID: (launch: Launch, begun: Timestamp)] = [:]
        /// Those of them whose app was not up yet.
        var starting: Set<AppID> = []
        /// What is wished and not under way.
        var waiting: [AppID: Set<LaunchReason>] = [:]
        var notBefore: [AppID: Timestamp] = [:]
        var begun = 0
        var done = 0
        var gaveUp = 0
        /// Starts for tasks.
        var tasks = 0

        /// Whether something could go now that has happened.
        func hasUrgent(_ app: AppID, at now: Timestamp) -> Bool {
            guard self.flights[app] == nil, self.notBefore[app].map({ $0 <= now }) ?? true else { return false }
            return self.waiting[app]?.contains { if case .task = $0 { false } else { true } } == true
        }

        /// As one launch serves them: all motion is one errand.
        static func errand(_ reason: LaunchReason) -> LaunchReason {
            if case .motion = reason { .motion("") } else { reason }
        }

        /// - Parameter isWaiting: whether the like of what was given up is still wished.
        mutating func take(_ effect: LaunchEffect, at now: Timestamp, isWaiting: (LaunchRequest) -> Bool) {
            switch effect {
            case .begin(let launch):
                self.begun += 1
                #expect(self.flights[launch.app] == nil, "two at once for one app")
                #expect(
                    self.waiting[launch.app]?.remove(Self.errand(launch.reason)) != nil, "launched for nothing")
                #expect(self.notBefore[launch.app].map { $0 <= now } ?? true, "called within the pause")
                if case .task = launch.reason, launch.isCold {
                    self.tasks += 1
                    let others = self.waiting.keys.filter { self.hasUrgent($0, at: now) }
                    #expect(others.isEmpty, "a task went before what happened")
                }
                self.flights[launch.app] = (launch, now)
                if launch.isCold { self.starting.insert(launch.app) }
                #expect(self.starting.count <= Launches.mostOfUser)
            case .ended(let launch, let result, let again):
                #expect(self.flights[launch.app]?.launch == launch, "ended without having begun")
                self.flights[launch.app] = nil
                self.starting.remove(launch.app)
                guard let again else { return self.done += 1 }
                #expect(result != .done && result != .needless)
                #expect(again - now >= Launches.firstBackOff && again - now <= Launches.longestBackOff)
                self.notBefore[launch.app] = again
                self.waiting[launch.app, default: []].insert(Self.errand(launch.reason))
            case .gaveUp(let request, let failure):
                self.gaveUp += 1
                var triesAgain = true
                if case .task = request.reason, failure != nil { triesAgain = false }
                #expect(request.ends <= now || failure == .unknown || !triesAgain, "given up while it was of use")
                if !isWaiting(request) { self.waiting[request.app]?.remove(Self.errand(request.reason)) }
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func keepsItsPromises(_ seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededRandom(seed: seed)
        var launches = Launches()
        var watched = Watched()
        var now = Timestamp.zero
        let timeout = TimeSpan.milliseconds(.random(in: 500...5_000, using: &generator))
        func run(_ body: (inout Launches, inout [LaunchEffect]) -> Void) {
            var effects: [LaunchEffect] = []
            body(&launches, &effects)
            launches.run(to: now, timeout: { _ in timeout }, &effects)
            for effect in effects {
                watched.take(effect, at: now) { launches.isWaiting($0.app, of: nil, for: $0.reason) }
            }
        }
        for _ in 0..<5_000 {
            now = now + .milliseconds(.random(in: 0...300, using: &generator))
            let app = Self.apps.randomElement(using: &generator) ?? AppID("A")
            switch Int.random(in: 0..<12, using: &generator) {
            case 0..<4:
                let reason = Self.reasons.randomElement(using: &generator) ?? .push
                let ends = now + .milliseconds(.random(in: 0...9_000, using: &generator))
                watched.waiting[app, default: []].insert(Watched.errand(reason))
                let strength = Int.random(in: 0..<4, using: &generator)
                run { launches, _ in launches.add(LaunchRequest(app, reason, strength: strength, ends: ends)) }
            case 4..<8:
                let failures = LaunchFailure.allCases.map { LaunchResult.failed($0) }
                let result =
                    (failures + Array(repeating: .done, count: 6) + [.needless, .postponed]).randomElement(
                        using: &generator)
                    ?? .done
                let number = watched.flights[app]?.launch.number ?? .random(in: 0...50, using: &generator)
                run { $0.finish(app, number, result, at: now, &$1) }
            case 8..<10:
                let isRunning = Bool.random(using: &generator)
                if isRunning { watched.starting.remove(app) }
                run { launches, _ in launches.setRunning(app, of: nil, isRunning) }
            case 10:
                watched.waiting[app]?.remove(.push)
                run { launches, _ in launches.withdraw(app, of: nil) { $0 == .push } }
            default: run { _, _ in }
            }
            #expect(launches.inFlight == watched.flights.count)
            #expect(launches.coldStarts == watched.starting.count)
            for (flight, begun) in watched.flights.values {
                #expect(now - begun < timeout, "\(flight.app) is waited for too long")
            }
            if let deadline = launches.nextDeadline { #expect(deadline > now) }
        }
        // Left alone, everything comes to an end.
        var patience = 10_000
        while let next = launches.nextDeadline, patience > 0 {
            now = max(now, next)
            run { _, _ in }
            patience -= 1
        }
        #expect(launches.inFlight == 0 && launches.waiting == 0)
        #expect(watched.flights.isEmpty && watched.waiting.values.allSatisfy(\.isEmpty))
        #expect(watched.begun > 150 && watched.done > 40 && watched.gaveUp > 100 && watched.tasks > 20, "\(watched)")
    }
}
