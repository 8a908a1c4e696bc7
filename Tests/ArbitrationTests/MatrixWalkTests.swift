import Arbitration
import Motion
import Testing
import Randomness

/// Random matrices, and random sessions that come and go under them.
@Suite struct MatrixWalkTests {
    private struct World {
        var generator: SeededRandom
        var matrix: InteractionMatrix
        let names: [String]
        let interactions: [Interaction]

        init(seed: UInt64) {
            var generator = SeededRandom(seed: seed)
            let names = (0..<Int.random(in: 1...6, using: &generator)).map { "class\($0)" }
            let place = Place(file: "random.conf", line: 1)
            var classes: [SessionClass] = []
            for name in names {
                var one = SessionClass(name: name, place: place)
                one.isMixable = Int.random(in: 0..<4, using: &generator) == 0
                one.isUninterruptible = Int.random(in: 0..<4, using: &generator) == 0
                one.whenLocked = Bool.random(using: &generator) ? .goesOn : .silence
                if Int.random(in: 0..<3, using: &generator) == 0 {
                    one.interrupts = names.filter { _ in Bool.random(using: &generator) }
                }
                classes.append(one)
            }
            var interactions: [Interaction] = []
            for holder in names {
                for requester in names where Int.random(in: 0..<3, using: &generator) == 0 {
                    var cell = Interaction(holder: holder, requester: requester, place: place)
                    cell.action = InteractionAction.allCases.randomElement(using: &generator) ?? .concurrent
                    cell.ducking.share = [0, 0.1, 0.5].randomElement(using: &generator) ?? 0
                    interactions.append(cell)
                }
            }
            self.generator = generator
            self.names = names
            self.interactions = interactions
            self.matrix = InteractionMatrix(classes, interactions)
        }

        mutating func request() -> SessionRequest {
            SessionRequest(
                self.names.randomElement(using: &self.generator) ?? "",
                mixes: Int.random(in: 0..<5, using: &self.generator) == 0)
        }

        /// Everything that could be said of a pair, by conditions of which no two hold at once.
        func outcomes(_ holder: SessionRequest, _ requester: SessionRequest) -> [String] {
            let exception = self.interactions.first { $0.holder == holder.name && $0.requester == requester.name }
            guard let h = self.matrix[holder.name], let r = self.matrix[requester.name] else { return [] }
            let (hMixes, rMixes) = (h.isMixable || holder.mixes, r.isMixable || requester.mixes)
            let isNamed = r.interrupts?.contains(h.name) ?? false
            let isOpen = exception == nil && !rMixes
            let said: [(Bool, String)] = [
                (exception != nil, exception?.action.name ?? ""),
                (exception == nil && rMixes, "concurrent"),
                (isOpen && isNamed && !h.isUninterruptible, "interrupt"),
                (isOpen && isNamed && h.isUninterruptible, "reject"),
                (isOpen && !isNamed && hMixes, "concurrent"),
                (isOpen && !isNamed && !hMixes && (h.isUninterruptible || r.interrupts != nil), "reject"),
                (isOpen && !isNamed && !hMixes && !h.isUninterruptible && r.interrupts == nil, "interrupt"),
            ]
            return said.filter(\.0).map(\.1)
        }
    }

    @Test(arguments: 1...300)
    func everyPairHasExactlyOneOutcome(_ seed: UInt64) {
        print("Matrix seed \(seed)")
        let world = World(seed: seed)
        for holder in world.names {
            for requester in world.names {
                for mixes in [(false, false), (false, true), (true, false), (true, true)] {
                    let (h, r) = (SessionRequest(holder, mixes: mixes.0), SessionRequest(requester, mixes: mixes.1))
                    let cell = world.matrix.cell(holder: h, requester: r)
                    #expect(world.outcomes(h, r) == [cell.outcome.name], "seed \(seed), \(cell.name)")
                    #expect((cell.ducking != nil) == (cell.outcome == .duck), "seed \(seed), \(cell.name)")
                }
            }
        }
    }

    /// What an app knows of its session from what it was told.
    private struct Told: Equatable {
        var isPlaying = false
        var isWaiting = false
        var share = 1.0
        var isSilenced = false
        var ducks = 0
        var restores = 0
        var answers = 0
    }

    /// Sessions with what their apps were told, checked after each step.
    private struct Walk {
        var world: World
        var sessions = Sessions()
        var told: [SessionKey: Told] = [:]
        var lastNumber: UInt64 = 0
        var waited = 0
        var ducked = 0
        let seed: UInt64

        init(seed: UInt64) {
            self.seed = seed
            self.world = World(seed: seed)
        }

        mutating func begin() {
            let app = AppHandle(UInt32.random(in: 0..<6, using: &self.world.generator))
            let request = self.world.request()
            guard self.sessions.count < Sessions.most,
                self.sessions.obstacle(to: request, of: app, self.world.matrix)?.cell.outcome != .reject
            else { return }
            self.lastNumber += 1
            let key = SessionKey(app, ActivityID(self.lastNumber))
            self.told[key] = Told()
            self.take(self.sessions.begin(key, AppID("app\(app.index)"), request, self.world.matrix))
            #expect(self.told[key]?.answers == 1, "seed \(self.seed)")
        }

        mutating func end(_ key: SessionKey) {
            let others = self.sessions.sessions(of: key.app).map(\.key.activity).filter { $0 != key.activity }
            self.close(key)
            self.take(self.sessions.end(key.app, except: others, self.world.matrix))
        }

        mutating func close(_ key: SessionKey) {
            // Ended while it was soft, it has nothing to be restored to.
            let told = self.told.removeValue(forKey: key)
            #expect(told.map { $0.ducks - $0.restores } == (told?.share == 1 ? 0 : 1), "seed \(self.seed)")
        }

        mutating func take(_ effects: [SessionEffect]) {
            for effect in effects {
                guard var told = self.told[effect.key] else {
                    Issue.record("seed \(self.seed): told who is not there")
                    continue
                }
                let place: Comment = "seed \(self.seed), \(effect)"
                switch effect.change {
                case .began:
                    #expect(!told.isPlaying, place)
                    if told.isWaiting { self.waited += 1 } else { told.answers += 1 }
                    (told.isPlaying, told.isWaiting) = (true, false)
                case .waits:
                    #expect(!told.isPlaying && !told.isWaiting, place)
                    told.answers += 1
                    told.isWaiting = true
                case .interrupted:
                    #expect(told.isPlaying, place)
                    told.isPlaying = false
                case .resumed:
                    #expect(!told.isPlaying && !told.isWaiting, place)
                    told.isPlaying = true
                case .ducked(let meeting):
                    let share = meeting.cell.ducking?.share ?? 1
                    #expect(share < 1 && share != told.share, place)
                    if told.share == 1 {
                        told.ducks += 1
                        self.ducked += 1
                    }
                    told.share = share
                case .restored:
                    #expect(told.share < 1, place)
                    told.restores += 1
                    told.share = 1
                case .silenced, .audible:
                    let isSilenced = effect.change == .silenced
                    #expect(told.isSilenced != isSilenced, place)
                    told.isSilenced = isSilenced
                }
                self.told[effect.key] = told
            }
            self.check()
        }

        func check() {
            let all = self.sessions.all
            #expect(all.count == self.told.count, "seed \(self.seed)")
            let begun = all.filter { if case .waiting = $0.standing.state { false } else { true } }
            for (index, session) in all.enumerated() {
                let told = self.told[session.key]
                #expect(told?.isPlaying == session.standing.isPlaying, "seed \(self.seed)")
                #expect(told?.share == session.standing.share, "seed \(self.seed)")
                #expect(told?.isSilenced == session.standing.isSilenced, "seed \(self.seed)")
                let later = begun.dropFirst(index + 1).filter { $0.key.app != session.key.app }
                let words = later.map {
                    ($0, self.world.matrix.cell(holder: session.request, requester: $0.request).outcome)
                }
                switch session.standing.state {
                case .playing:
                    #expect(words.allSatisfy { $0.1 <= .duck }, "seed \(self.seed)")
                    let soft = words.contains { $0.1 == .duck && $0.0.standing.isPlaying && !$0.0.standing.isSilenced }
                    #expect(soft == (session.standing.ducked != nil), "seed \(self.seed)")
                case .interrupted: #expect(words.contains { $0.1 > .duck }, "seed \(self.seed)")
                case .waiting:
                    // Nobody waits for who waits: somebody is heard who will be done some time.
                    let holds = begun.contains {
                        $0.standing.isPlaying && $0.key.app != session.key.app
                            && self.world.matrix.cell(holder: $0.request, requester: session.request).outcome
                                > .interrupt
                    }
                    #expect(holds, "seed \(self.seed)")
                }
            }
            // Somebody is always heard, unless nobody wants to be.
            #expect(all.isEmpty || all.contains { $0.standing.isPlaying }, "seed \(self.seed)")
        }
    }

    private static func walk(_ seed: UInt64) -> Walk {
        var walk = Walk(seed: seed)
        var isLocked = false
        for _ in 0..<120 {
            switch Int.random(in: 0..<10, using: &walk.world.generator) {
            case 0..<5: walk.begin()
            case 5..<9:
                let keys = walk.sessions.all.map(\.key)
                if let key = keys.randomElement(using: &walk.world.generator) { walk.end(key) }
            default:
                isLocked.toggle()
                walk.take(walk.sessions.lock(isLocked, walk.world.matrix))
            }
        }
        if isLocked { walk.take(walk.sessions.lock(false, walk.world.matrix)) }
        return walk
    }

    @Test(arguments: someSeeds(1...300))
    func whoWaitsBeginsAndWhatWasDuckedIsRestoredOnce(_ seed: UInt64) {
        print("Session seed \(seed)")
        var walk = Self.walk(seed)
        // Whoever is heard ends, one after the other: everybody gets a turn, and the last one is as loud as ever.
        while let heard = walk.sessions.all.first(where: \.standing.isPlaying) {
            let left = walk.sessions.count
            if left == 1 { #expect(heard.standing == SessionStanding(.playing), "seed \(seed)") }
            walk.end(heard.key)
            #expect(walk.sessions.count == left - 1, "seed \(seed)")
        }
        #expect(walk.sessions.isEmpty && walk.told.isEmpty, "seed \(seed)")
    }

    /// The walks come by what they are to test.
    @Test func theWalksAreNoStrolls() {
        let walks = (1...50).map { Self.walk($0) }
        #expect(walks.map(\.waited).reduce(0, +) > 50)
        #expect(walks.map(\.ducked).reduce(0, +) > 50)
    }
}
