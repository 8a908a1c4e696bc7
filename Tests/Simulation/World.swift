import Arbitration
import Background
import BrokerCore
import DBus
import Journal
import Motion

/// The whole as a value: a broker, its disk, the bus, and apps that are well and ill; and what becomes of them step by step.
///
/// What the daemon's shell does around its core is done here in the same order: see `BrokerService`, `DiskLink`, `ClientLink`,
/// `RegistrationLink` and `PacedSender`.
struct World {
    /// An app's program, as far as it remembers.
    struct Client {
        /// Its connection to the bus, while it runs.
        var connection: Int?
        /// That and those of before from which the broker has not heard all.
        var lines: [Int] = []
        var detectors: Set<Int> = [0]
        var last: EventName?
        /// Events that want an answer and have none.
        var unanswered: [EventName] = []
        /// Calls by which it is launched that have none, what it was handed in them, and by which process of the broker.
        var calls: [(launch: Launch, events: [EventName], process: Int)] = []
        /// A task of its user that it does.
        var task: (owner: TaskOwner, run: TaskRun)?
        /// What it registers is to last.
        var wantsToLast = false
        /// What its program does when it is started.
        var program = 0
    }

    /// Whether nobody uses the device, and what it runs on.
    var device = 0

    /// A process of the broker. Its core cannot be copied, and a world can.
    final class Process {
        var core: Broker
        var store: SimulatedStore
        var peers: [AppHandle: SimulatedPeer] = [:]
        var handles = SimulatedHandles()
        /// Apps that exist also while they are not on the bus.
        var installed: [AppID: AppHandle] = [:]
        /// Programs that the bus was asked to start.
        var starts: [SimulatedStart] = []
        /// Changes of tasks that are on their way to the disk, by the number that it gave them.
        var keptTasks: [(number: UInt64, owner: TaskOwner, revision: UInt64)] = []
        /// What apps registered for good, and what of that they were told.
        var durable = DurableApps()
        var promises = DurablePromises()
        /// Who waits for the disk to say whose apps are; `nil`: nobody need.
        var parked: [Int]? = []
        var timer: Timestamp?
        /// Something of those who left is still there.
        var isCleaning = false
        /// What is in force for the claim; `nil`: there is none.
        var claim: SensorPace?
        var wantsClaim: SensorPace?
        var nextSample: UInt64 = 0

        init(core: consuming Broker, store: SimulatedStore) {
            self.core = core
            self.store = store
        }
    }

    let setup: Setup
    var now = Timestamp(microseconds: 1_000_000)
    /// What the wall clock is ahead, in µs.
    private(set) var wallOffset: Int64 = 1_700_000_000_000_000
    private var disk = SimulatedDisk()
    var process: Process?
    /// Registrations wait so long and no longer.
    private var diskDeadline: Timestamp?
    var clients = [Client](repeating: Client(), count: Setup.clients)
    var connections: [SimulatedConnection] = []
    private var isSensorThere = true
    private var lastSample = Timestamp.zero
    private var actions: [BrokerAction] = []
    var returned: [BrokerAction] = []
    var events = EventWatch()
    private(set) var verdicts = VerdictWatch()
    var launches = LaunchWatch()
    var tasks = TaskWatch()
    /// Tasks that somebody wanted run, whatever they wait for.
    var forced: Set<TaskWatch.Name> = []
    /// How long the system has slept, in µs.
    private(set) var slept: Int64 = 0
    /// The state of each app that is on the bus, before what is being performed.
    var states: [AppHandle: AppState] = [:]
    var usage = UsageWatch()
    /// The reader of sensors, which has a life of its own.
    let reader = ReaderScene()
    /// The version of each app file that is there; 0: none.
    var files = [Int](repeating: 0, count: Setup.files.count)
    private var steps = 0
    /// How many processes of the broker there were.
    var processes = 0
    private var ownFinding: String?

    /// So often no timer has anything to do while nothing else happens.
    private static let mostRuns = 2_000
    /// How long registrations wait for the disk.
    private static let diskPatience = TimeSpan.seconds(1)

    init(_ setup: Setup) { self.setup = setup }

    /// What is wrong.
    var finding: String? {
        self.ownFinding ?? self.events.finding ?? self.verdicts.finding ?? self.launches.finding ?? self.tasks.finding
            ?? self.usage.finding ?? self.reader.finding
    }

    var wall: Int64 { self.now.microseconds + self.wallOffset }

    mutating func find(_ what: String) { self.ownFinding = self.ownFinding ?? what }

    // MARK: Steps

    mutating func take(_ step: Step) {
        // What happens to the reader changes nothing of the broker.
        if step.kind.isOfReader { return self.takeReader(step) }
        self.answerClaim()
        let client = step.a >= 0 && step.a < Setup.clients ? step.a : 0
        switch step.kind {
        case .pass: self.pass(.milliseconds(Int64(step.a)))
        case .stall: self.now = self.now + .milliseconds(Int64(step.a))
        case .sleep:
            self.input(.life(.sleep(true)))
            self.now = self.now + .milliseconds(Int64(step.a))
            self.slept += 1_000 * Int64(step.a)
            self.input(.life(.sleep(false)))
            self.pass(.zero)
        case .jump: self.wallOffset += Int64(step.a) * 1_000
        case .shake: self.shake(Double(step.a) / 10, step.b)
        case .sensor: self.setSensor(step.a != 0)
        case .pause: self.input(.pause(step.a != 0))
        case .start: self.start(client)
        case .quit: self.quit(client)
        case .read: self.read(client, step.b, answers: false)
        case .work: self.read(client, step.b, answers: true)
        case .answer: self.answer(client, step.b == 1 ? .pass : .consume, refuses: step.b == 2)
        case .lie: self.lie(client, step.b)
        case .subscribe: self.say(client, .subscribe(since: step.b != 0 ? self.clients[client].last : nil))
        case .listen:
            self.clients[client].detectors.insert(step.b)
            self.say(client, .listen([step.b]))
        case .forget:
            self.clients[client].detectors.remove(step.b)
            self.say(client, .forget(step.b))
        case .state: self.tell(client, step.b)
        case .seen: self.see(step.a)
        case .frozen: self.freeze(step.a)
        case .lock: self.input(.life(.locked(step.a == 1)))
        case .hear: self.hear(client, step.b)
        case .round: self.round()
        case .write: self.write()
        case .news: self.takeNews()
        case .disk: self.disk.mood = SimulatedDisk.Mood(rawValue: step.a) ?? .well
        case .wipe:
            self.disk.wipe()
            self.events.diskLost()
        case .kill: self.kill()
        case .tear:
            if step.a == 0 { self.write() } else { _ = self.process?.store.work(on: &self.disk, upTo: step.a - 1) }
            self.kill()
        case .cut: self.process?.store.cut(after: step.a)
        case .begin: self.begin()
        case .last: self.last(client, step.b)
        case .policy: self.setPolicy(step.a)
        case .file: self.setFile(step.a, version: step.b)
        case .program: self.clients[client].program = step.b
        case .rise: self.rise(client)
        case .push: self.input(.push(Setup.apps[client]))
        case .submit: self.say(client, .submit(step.b))
        case .cancel: self.say(client, .cancel(Self.declared[max(0, min(step.b, Self.declared.count - 1))]))
        case .finish: self.finishTask(client, isSuccess: step.b == 0)
        case .end:
            if self.process != nil {
                self.task(.terminated(TaskOwner(Setup.apps[client], user: Setup.user(of: client))))
            }
        case .force: self.forceTasks(of: TaskOwner(Setup.apps[client], user: Setup.user(of: client)))
        case .device:
            self.device = step.a
            self.tellDevice()
        default: break
        }
        // What it did beyond that in this step it may have done before: nobody but the disk tells the order.
        if self.process?.store.isCut(on: &self.disk) == true {
            self.kill()
            self.begin()
        }
        self.check()
    }

    // MARK: The broker's process

    private mutating func begin() {
        guard self.process == nil else { return }
        let wall = UInt64(max(0, self.wall))
        var store = SimulatedStore(wall: wall, on: &self.disk, room: self.setup.room)
        let epoch = store.takeFirstEpoch() ?? wall
        var core = Broker(policy: self.setup.rules[0], epoch: epoch, keeper: Setup.user(of: 0))
        core.keepSteps()
        self.process = Process(core: core, store: store)
        self.processes += 1
        self.installFiles()
        self.tellDevice()
        if self.isSensorThere { self.input(.sensorAppeared(Setup.sensor)) }
        for index in self.connections.indices where self.connections[index].isOpen {
            self.connections[index].hear(.brokerCame)
        }
        self.diskDeadline = self.now + Self.diskPatience
    }

    private mutating func kill() {
        guard self.process != nil else { return }
        self.process = nil
        self.diskDeadline = nil
        self.events.brokerEnds()
        self.verdicts.brokerEnds()
        self.launches.brokerEnds()
        self.tasks.brokerEnds()
        self.usage.brokerEnds()
        for index in self.connections.indices {
            self.connections[index].toBroker = []
            self.connections[index].unread = 0
            if self.connections[index].isOpen { self.connections[index].hear(.brokerGone) }
        }
    }

    /// Performs what came back when there was nothing else to perform.
    mutating func performReturned() {
        swap(&self.actions, &self.returned)
        self.perform()
        self.follow()
    }

    @discardableResult
    mutating func input(_ input: BrokerInput) -> BrokerAnswer? {
        self.tellClock()
        if case .leave(let app) = input, let id = self.process?.core.registry[app]?.id { self.events.departs(id) }
        let answer = try? self.process?.core.apply(input, at: self.now, &self.actions)
        if let wish = answer?.wish { self.launches.push(wish) }
        self.perform()
        self.follow()
        self.events.hasDeparted()
        return answer
    }

    /// The wall clock is told before whatever tasks may go by it.
    private mutating func tellClock() {
        guard self.process?.core.awaited().wallClock == true else { return }
        let clock = BrokerInput.task(.clock(self.wallTime - self.now))
        _ = try? self.process?.core.apply(clock, at: self.now, &self.actions)
    }

    /// Sees to what follows an input.
    private mutating func follow() {
        guard let due = self.process?.core.due() else { return }
        self.process?.isCleaning = due.isCleaning
        if due.hasSteps, let steps = self.process?.core.takeSteps() {
            self.verdicts.take(steps)
            self.launches.take(steps)
        }
        guard let tick = due.tick else { return }
        if let timer = self.process?.timer, timer <= tick { return }
        self.process?.timer = tick
    }

    /// When something happens by itself.
    private var nextTime: Timestamp? {
        guard let timer = self.process?.timer, let deadline = self.diskDeadline else {
            return self.process?.timer ?? self.diskDeadline
        }
        return min(timer, deadline)
    }

    /// Time passes, and the broker has its turn when its timer runs.
    mutating func pass(_ span: TimeSpan) {
        let end = self.now + span
        var (spins, runs) = (0, 0)
        while let time = self.nextTime, time <= end {
            spins = time > self.now ? 0 : spins + 1
            runs += 1
            if spins > 8 || runs > Self.mostRuns {
                return self.find("the broker's timer runs again and again at \(self.now)")
            }
            self.now = max(self.now, time)
            if let deadline = self.diskDeadline, deadline <= self.now {
                self.admitParked()
                continue
            }
            self.process?.timer = nil
            self.input(.tick)
            if let launches = self.process?.core.arbiter.launches { self.launches.check(launches, at: self.now) }
            self.tasks.checkTime(awake: self.awake)
        }
        self.now = end
        self.passReader()
    }

    // MARK: What the broker asks for

    private mutating func perform() {
        while !self.actions.isEmpty {
            var actions: [BrokerAction] = []
            swap(&actions, &self.actions)
            for action in actions { self.perform(action) }
            swap(&self.actions, &self.returned)
        }
    }

    private mutating func perform(_ action: BrokerAction) {
        switch action {
        case .claim(_, let pace): self.process?.wantsClaim = pace
        case .release:
            self.process?.wantsClaim = nil
            self.process?.claim = nil
        case .deliver(let app, let event): self.deliver(event, to: app)
        case .mark(let app, let mark): self.deliver(mark, to: app)
        // Nobody would come back for what a client without a name gets.
        case .persist(let event):
            guard !event.app.isAnonymous else { break }
            self.events.persists(event)
            self.keep(event, again: event.wasNobodys)
        case .forget(let event):
            let due = self.due(event)
            if !event.app.isAnonymous { self.process?.store.forget(due) }
        case .ended(let app, _, let event, let end): self.events.ended(event, of: app, end, at: self.now)
        case .keep(let record):
            self.events.takes(record.verdict)
            self.verdicts.keep(record)
        case .launch(let launch, let handover): self.launch(launch, handover)
        case .launchEnded(let launch, let result):
            self.launches.end(launch, result, at: self.now)
            self.events.ended(launch, result)
        case .life(let app, .changed(let change)): self.states[app] = change.to
        case .task(let effect): self.perform(effect)
        case .launchGivenUp(let wish, _):
            let current = self.process?.core.arbiter.launches.launch(of: wish.app)
            self.launches.gaveUp(wish, besides: current?.number)
        case .availability, .life, .session, .failed, .clip: break
        }
    }

    private mutating func deliver(_ event: Event, to app: AppHandle) {
        guard let peer = self.process?.peers[app] else {
            return self.find("\(event.sequence) is sent to app \(app.index), which was never there")
        }
        guard let box = self.box(of: app) else {
            return self.lost(to: peer) { $0.sent(event, to: $1, at: $2) }
        }
        if self.process?.core.isHeld(app) == false, self.offer(event.bytes, .event(event), to: app, peer.connection) {
            self.process?.core.sent(app, event, &self.returned)
            self.events.sent(event, to: box, at: self.now)
        } else {
            _ = try? self.process?.core.apply(.unsent(app, event), at: self.now, &self.returned)
        }
    }

    private mutating func deliver(_ mark: Mark, to app: AppHandle) {
        guard let peer = self.process?.peers[app] else { return }
        guard let box = self.box(of: app) else {
            return self.lost(to: peer) { watch, box, _ in watch.sent(mark, to: box) }
        }
        if self.process?.core.isHeld(app) == false, self.offer(Mark.bytes, .mark(mark), to: app, peer.connection) {
            self.process?.core.sent(app, mark)
            self.events.sent(mark, to: box)
        } else {
            _ = try? self.process?.core.apply(.unsentMark(app, mark), at: self.now, &self.returned)
        }
    }

    /// An app has left with this very input: what goes to it is lost like all that it has not read.
    private mutating func lost(
        to peer: SimulatedPeer, _ see: (inout EventWatch, EventWatch.Box, _ now: Timestamp) -> Void
    ) {
        let client = self.connections[peer.connection].client
        guard !Setup.apps[client].isAnonymous else { return }
        see(&self.events, EventWatch.Box(app: Setup.apps[client], user: Setup.user(of: client)), self.now)
    }

    private mutating func offer(
        _ bytes: Int, _ signal: SimulatedConnection.Signal, to app: AppHandle, _ connection: Int
    ) -> Bool {
        guard let verdict = self.process?.peers[app]?.offer(bytes) else { return false }
        if verdict.goes {
            let size = SimulatedConnection.size(bytes)
            self.connections[connection].unread += size
            self.connections[connection].hear(signal)
            let limit = self.process?.peers[app]?.flow.limit ?? 0
            if self.connections[connection].unread > max(limit, size) {
                self.find(
                    "the bus holds \(self.connections[connection].unread) bytes for app \(app.index), not \(limit)")
            }
        }
        if verdict.pings { self.connections[connection].hear(.ping(process: self.processes)) }
        return verdict.goes
    }

    // MARK: Sensors

    /// The reader answers the claim.
    private mutating func answerClaim() {
        guard self.isSensorThere, let pace = self.process?.wantsClaim else { return }
        self.process?.wantsClaim = nil
        self.process?.claim = pace
        self.process?.nextSample = 0
        self.input(.claim(sensor: Setup.sensor.name, .answered(pace)))
    }

    private mutating func setSensor(_ isThere: Bool) {
        guard self.isSensorThere != isThere else { return }
        self.isSensorThere = isThere
        self.process?.claim = nil
        self.process?.wantsClaim = nil
        self.input(isThere ? .sensorAppeared(Setup.sensor) : .sensorsLost)
        self.answerClaim()
    }

    /// Shakes arrive in one message, each a sample above and one below, 10 ms apart.
    private mutating func shake(_ strength: Double, _ count: Int) {
        let rows = 2 * max(0, min(count, 100))
        self.pass(.milliseconds(10 * Int64(rows)))
        guard self.isSensorThere, rows > 0, self.process?.claim != nil, let first = self.process?.nextSample else {
            return
        }
        let begin = max(self.lastSample, self.now - .milliseconds(10 * Int64(rows)))
        let times = (1...rows).map { begin.microseconds + 10_000 * Int64($0) }
        let values: [Double] = (0..<rows).flatMap { row -> [Double] in [row % 2 == 0 ? strength : 0, 0, 1] }
        self.lastSample = Timestamp(microseconds: times.last ?? 0)
        self.now = max(self.now, self.lastSample)
        self.process?.nextSample = first + UInt64(rows)
        self.process?.core.samples(
            Setup.sensor.name, first: first, times: times.span, values: values.span, at: self.now, &self.actions)
        self.perform()
        self.follow()
    }

    // MARK: Clients

    mutating func start(_ client: Int) {
        guard self.connect(client) else { return }
        self.say(client, .register)
    }

    /// A program takes its name, if nobody has it.
    mutating func connect(_ client: Int) -> Bool {
        guard self.owner(of: Setup.apps[client]) == nil, self.clients[client].connection == nil else { return false }
        let lines = self.clients[client].lines.filter { !self.connections[$0].toBroker.isEmpty }
        self.clients[client].lines = lines + [self.connections.count]
        self.clients[client].connection = self.connections.count
        self.connections.append(SimulatedConnection(client: client))
        return true
    }

    mutating func quit(_ client: Int) {
        guard let connection = self.clients[client].connection else { return }
        self.say(client, .left)
        self.events.leaves(Setup.apps[client])
        // The bus answers for whoever is gone.
        let unread = self.connections[connection].toClient.compactMap { signal -> Launch? in
            guard case .call(let launch, _, self.processes) = signal else { return nil }
            return launch
        }
        let calls = self.clients[client].calls.filter { $0.process == self.processes }
        for launch in calls.map(\.launch) + unread { self.say(client, .notCalled(launch, .left)) }
        for case .runTask(let owner, let run, self.processes) in self.connections[connection].toClient {
            self.say(client, .taskLost(owner, run.revision))
        }
        self.clients[client].connection = nil
        self.clients[client].task = nil
        self.clients[client].unanswered = []
        self.clients[client].calls = []
        self.connections[connection].isOpen = false
        self.connections[connection].toClient = []
    }

    /// Without a broker the bus refuses.
    mutating func say(_ client: Int, _ message: SimulatedConnection.Message) {
        guard let connection = self.clients[client].connection, self.process != nil else { return }
        self.connections[connection].say(message)
    }

    private mutating func read(_ client: Int, _ count: Int, answers: Bool) {
        for _ in 0..<max(0, count) {
            guard let connection = self.clients[client].connection,
                let signal = self.connections[connection].takeSignal()
            else { return }
            switch signal {
            case .registered:
                self.say(client, .subscribe(since: self.clients[client].last))
                self.say(client, .listen(self.clients[client].detectors.sorted()))
            case .event(let event):
                self.events.reads(event, Setup.apps[client])
                guard event.wantsAck else { continue }
                self.clients[client].unanswered.append(EventName(sequence: event.sequence, epoch: event.epoch))
                if answers { self.answerEvents(client, .consume) }
            case .call(let launch, let events, self.processes):
                for event in events { self.events.reads(event, Setup.apps[client]) }
                let names = events.map { EventName(sequence: $0.sequence, epoch: $0.epoch) }
                self.clients[client].calls.append((launch, names, self.processes))
                while answers, !self.clients[client].calls.isEmpty { self.answer(client, .consume) }
            case .runTask(let owner, let run, self.processes):
                self.clients[client].task = (owner, run)
                if answers { self.finishTask(client, isSuccess: true) }
            case .ping(self.processes): self.say(client, .pong)
            // The bus takes an answer to whoever asked, and to no other.
            case .call, .runTask, .ping, .mark: break
            case .brokerGone:
                self.clients[client].unanswered = []
                self.clients[client].calls = []
                self.clients[client].task = nil
            case .brokerCame: self.say(client, .register)
            }
        }
    }

    private mutating func answer(_ client: Int, _ answer: Answer, refuses: Bool = false) {
        if let (launch, events, process) = self.clients[client].calls.popLast() {
            // The bus takes an answer to whoever called, and to no other.
            guard process == self.processes else { return }
            if refuses { return self.say(client, .notCalled(launch, .refused)) }
            self.clients[client].last = events.last ?? self.clients[client].last
            return self.say(client, .called(launch, answer))
        }
        self.answerEvents(client, answer)
    }

    private mutating func answerEvents(_ client: Int, _ answer: Answer) {
        guard let name = self.clients[client].unanswered.last else { return }
        // An answer is for those before it. What was sent again later, as its call failed, may have a smaller number.
        var (last, open): (UInt64, [EventName]) = (0, [])
        for name in self.clients[client].unanswered.reversed() where name.sequence > last {
            last = name.sequence
            open.append(name)
        }
        self.clients[client].unanswered = []
        self.clients[client].last = name
        for name in open.reversed() { self.say(client, .answer(name, answer)) }
    }

    private mutating func lie(_ client: Int, _ distance: Int) {
        guard var name = self.clients[client].unanswered.last ?? self.clients[client].last else { return }
        name.sequence = UInt64(max(0, Int64(clamping: name.sequence) + Int64(distance)))
        self.say(client, .answer(name, .consume))
        name.epoch &+= 1
        self.say(client, .answer(name, .consume))
    }

    mutating func tell(_ client: Int, _ state: Int) {
        let states: [AppState?] = [nil, .foreground, .background, .suspended, .inactive]
        guard let app = self.handle(of: client) else { return }
        self.input(.life(.told(app, states[max(0, min(state, 4))])))
    }

    /// The apps of the clients whose bits are set.
    private func apps(_ bits: Int) -> Set<AppID> {
        let clients = self.clients.indices.filter { bits & 1 << $0 != 0 }
        return Set(clients.map { Setup.apps[$0] }.filter { !$0.isAnonymous })
    }

    private mutating func see(_ bits: Int) {
        let shown = ShownApps(front: self.apps(bits), visible: self.apps(bits >> Setup.clients))
        self.input(.life(.foreground(bits < 0 ? .none : .shown(shown))))
    }

    private mutating func freeze(_ bits: Int) {
        let apps = self.apps(bits)
        self.input(
            .life(.frozen(Dictionary(uniqueKeysWithValues: apps.map { ($0, FocusTestimony.frozen(by: "life")) }))))
    }

    private func handle(of client: Int) -> AppHandle? {
        self.clients[client].connection.flatMap { self.process?.handles[$0] }
    }

    /// Who is registered, by connection, in order.
    private var handles: [(connection: Int, app: AppHandle)] { self.process?.handles.all ?? [] }

    private mutating func round() {
        for client in self.clients.indices {
            self.read(client, 1_000, answers: true)
            self.hear(client, 1_000)
        }
    }

    // MARK: What the broker hears

    /// Of a client's connections, the oldest first.
    private mutating func hear(_ client: Int, _ count: Int) {
        var left = count
        for index in self.clients[client].lines {
            while left > 0, self.process != nil, let message = self.connections[index].takeMessage() {
                left -= 1
                self.take(message, from: index)
            }
        }
    }

    private mutating func take(_ message: SimulatedConnection.Message, from connection: Int) {
        switch message {
        case .register: self.register(connection)
        case .left: self.leave(connection)
        case .called(let launch, let answer):
            self.events.begin(call: launch)
            self.input(.answered(launch, answer))
            self.events.endCall()
        case .notCalled(let launch, let failure): self.input(.failed(launch, failure))
        case .started(let start): self.started(start, connection)
        case .taskLost(let owner, let run): self.task(.failed(owner, run: run))
        case .listen, .forget, .subscribe, .answer, .pong, .submit, .cancel, .taskDone:
            guard let app = self.process?.handles[connection] else { return }
            self.take(message, of: app, connection)
        }
    }

    private mutating func take(_ message: SimulatedConnection.Message, of app: AppHandle, _ connection: Int) {
        switch message {
        case .register, .left, .called, .notCalled, .started, .taskLost: break
        case .submit(let number): self.submit(number, of: app, Setup.apps[self.connections[connection].client])
        case .cancel(let identifier): self.task(.cancel(app, identifier))
        case .taskDone(let isSuccess): self.task(.done(app, isSuccess: isSuccess))
        case .listen(let numbers):
            guard self.input(.addDetectors(app, numbers.map(Setup.detector))) != nil else { break }
            self.usage.added(numbers, by: app)
            self.last(numbers, of: self.connections[connection].client)
        case .forget(let number):
            guard self.input(.removeDetectors(app, ["d\(number)"])) != nil else { break }
            self.usage.removed(number, by: app)
            self.lastNoMore(number, of: self.connections[connection].client)
        case .subscribe(let since):
            self.watchAnswer(since, of: app, isSince: true) { $0.input(.subscribe(app, since: since)) }
        case .answer(let name, let answer):
            self.watchAnswer(name, of: app, isSince: false) { $0.input(.answer(app, name, answer)) }
        case .pong:
            guard let (pings, room) = self.process?.peers[app]?.answered() else { return }
            if pings { self.connections[connection].hear(.ping(process: self.processes)) }
            if let room { self.input(.room(app, room)) }
        }
    }

    private mutating func watchAnswer(
        _ name: EventName?, of app: AppHandle, isSince: Bool, _ body: (inout World) -> Void
    ) {
        guard let name, let box = self.box(of: app) else { return body(&self) }
        let due = self.events.begin(answer: name, of: box, isSince: isSince)
        body(&self)
        self.events.endAnswer(due)
    }

    private mutating func register(_ connection: Int) {
        let app = Setup.apps[self.connections[connection].client]
        if self.process?.handles[connection] != nil {
            self.bind(self.connections[connection].client)
            return self.connections[connection].hear(.registered)
        }
        if self.process?.parked != nil, !app.isAnonymous {
            self.process?.parked?.append(connection)
            return
        }
        self.complete(connection, app)
    }

    private mutating func complete(_ connection: Int, _ app: AppID) {
        guard self.process?.handles[connection] == nil else { return }
        // Whoever had the name before has lost it; the bus's word on that may still be under way.
        let client = self.connections[connection].client
        // Another user's program has the name by now.
        if let owner = self.owner(of: app), self.connections[owner].client != client { return }
        let others = self.handles.map(\.connection).filter {
            let other = self.connections[$0].client
            return other == client || !app.isAnonymous && Setup.apps[other] == app
        }
        for other in others { self.leave(other) }
        self.readFile(of: app)
        guard let handle = self.process?.installed[app] ?? self.freeHandle,
            let policy = self.process?.core.arbiter.policy
        else { return }
        let user = Setup.user(of: client)
        let owner = self.box(of: handle)
        let wasNobodys = owner?.user == nil
        // What is kept of a broker must not be held while it changes, or it would be copied.
        let isWatched = client >= Setup.firstLaunched
        let before = isWatched ? self.process?.core.mailboxes.durableEvents ?? [] : []
        let hadOwn =
            self.process?.core.mailboxes.absentBoxes.contains { $0.app == app && $0.user == user } ?? false
        let limit = EventQueue.busShare(of: policy.settings(for: app).queueBytes)
        self.process?.handles[connection] = handle
        self.process?.peers[handle] = SimulatedPeer(connection, limit: limit)
        self.usage.registered(handle, of: user)
        if wasNobodys { self.events.passes(app, to: user, hadOwn: hadOwn) }
        self.events.handsOn()
        self.launches.came(app, of: user)
        // Who had this number before may have been elsewhere.
        self.states[handle] = nil
        self.input(.register(handle, app, AppEntrance(), user: user))
        self.connections[connection].hear(.registered)
        defer { self.bind(client) }
        self.states[handle] = self.process?.core.arbiter.facts(of: handle)?.state
        guard let box = self.box(of: handle), let mailboxes = self.process?.core.mailboxes,
            let queue = mailboxes[handle]
        else { return self.find("\(app) may not register") }
        if isWatched { self.events.handedOn(before, to: box, mailboxes.durableEvents) }
        self.process?.peers[handle]?.kept = queue.bytes
        // What was another user's he does not take over.
        let isNew = !wasNobodys && owner?.user != user && !hadOwn
        self.events.begin(box, last: isNew ? 0 : queue.lastSequence)
        self.task(.came(handle))
    }

    mutating func leave(_ connection: Int) {
        self.process?.parked?.removeAll { $0 == connection }
        guard let app = self.process?.handles[connection] else { return }
        self.usage.left(app)
        self.process?.handles[connection] = nil
        self.input(.leave(app))
        if self.process?.core.registry[app]?.isInstalled == true, let id = self.process?.core.registry[app]?.id {
            self.process?.installed[id] = app
        }
        self.process?.peers[app] = nil
        self.input(.clean)
    }

    private mutating func admitParked() {
        self.diskDeadline = nil
        guard let parked = self.process?.parked else { return }
        self.process?.parked = nil
        for connection in parked { self.complete(connection, Setup.apps[self.connections[connection].client]) }
    }

    private mutating func setPolicy(_ index: Int) {
        guard index >= 0, index < Setup.policies else { return }
        let policy = self.setup.rules[index]
        self.input(.policy(policy))
        for (connection, app) in self.handles {
            let settings = policy.settings(for: Setup.apps[self.connections[connection].client])
            self.process?.peers[app]?.setLimit(EventQueue.busShare(of: settings.queueBytes))
        }
    }

    // MARK: The disk

    private func due(_ stored: StoredEvent) -> DueEvent {
        let event = stored.event
        return DueEvent(
            app: stored.app, user: stored.user, event.content, event.terms,
            ends: self.wall + (event.ends - self.now).microseconds, strength: event.strength)
    }

    private func stored(_ due: DueEvent) -> StoredEvent {
        let left = min(max(0, due.ends - self.wall), max(0, due.terms.lifespan.microseconds))
        let ends = self.now + TimeSpan(microseconds: left)
        return StoredEvent(
            app: due.app, user: due.user, event: Event(due.content, due.terms, ends: ends, strength: due.strength))
    }

    private mutating func keep(_ event: StoredEvent, again: Bool = false) {
        let due = self.due(event)
        if let isKept = self.process?.store.keep(due, again: again) { self.events.isKept(event, isKept) }
    }

    /// The writer has a turn.
    private mutating func write(compares: Bool = true) {
        guard let process = self.process, process.store.work(on: &self.disk), compares else { return }
        // What was there before it is due as soon as that is heard.
        guard process.store.isHeard else { return }
        self.events.committed(self.disk.rows.values, due: process.core.mailboxes.durableEvents)
        if self.disk.durable != process.durable.all {
            self.find("what is registered for good is not what is on the disk")
        }
        self.tasks.committed(Array(self.disk.tasks.values), self.disk.terminated, process.core.work.tasks)
    }

    private mutating func takeNews() {
        guard let news = self.process?.store.takeNews() else { return }
        for item in news {
            switch item {
            case .epochs(let first): self.process?.core.skipEpochs(upTo: first)
            case .durable(let apps): self.restoreDurable(apps)
            case .restored(let due): self.restore(due.map { self.stored($0) })
            case .persisted(let due): for event in due { self.input(.persisted(self.stored(event))) }
            case .restoredTasks(let records, let terminated): self.restoreTasks(records, terminated)
            case .tasksKept(let number): self.tasksKept(upTo: number)
            case .failed:
                self.releaseTasks()
                self.performReturned()
                self.admitParked()
            case .forgotten:
                self.storeTasksAgain()
                self.storeDurableAgain()
                for event in self.process?.core.mailboxes.durableEvents ?? [] where !event.app.isAnonymous {
                    self.keep(event, again: true)
                }
            }
        }
    }

    private mutating func restore(_ events: [StoredEvent]) {
        // Apps are known first, and then what is due to them.
        self.admitParked()
        let apps = Set(self.handles.map(\.app) + (self.process?.installed.values.map { $0 } ?? []))
        let numbered = apps.filter { (self.process?.core.mailboxes[$0]?.lastSequence ?? 0) > 0 }
        // What waits for an app that has left may never have been sent.
        let absent = (self.process?.core.mailboxes.absentBoxes ?? []).filter { $0.queue.lastSequence > 0 }
        self.events.restoring(
            events,
            numbered: Set(numbered.compactMap { self.box(of: $0) } + absent.map { .init(app: $0.app, user: $0.user) }),
            here: apps.compactMap { self.box(of: $0) })
        self.input(.restored(events))
        self.events.restored(events, due: self.process?.core.mailboxes.durableEvents ?? [])
    }

    // MARK: What must hold

    private mutating func check() {
        guard let mailboxes = self.process?.core.mailboxes, let registry = self.process?.core.registry else { return }
        for (connection, app) in self.handles {
            guard let queue = mailboxes[app], let known = registry[app] else {
                self.find("the app of connection \(connection) has no queue")
                continue
            }
            let id = known.id
            if queue.bytes != queue.keptBytes {
                self.find("\(id): \(queue.bytes) bytes are counted of \(queue.keptBytes)")
            }
            // What was sent stays when the limit sinks, and becomes no more.
            let most = max(queue.limit, self.process?.peers[app]?.kept ?? 0)
            if queue.bytes < 0 || queue.bytes > most { self.find("\(id): keeps \(queue.bytes) bytes of \(most)") }
            self.process?.peers[app]?.kept = queue.bytes
            // What is in its hands in a call ends with that.
            if self.launches.isCalled(id) { continue }
            if queue.unacknowledgedCount > EventQueue.creditWindow {
                self.find("\(id): \(queue.unacknowledgedCount) events are out")
            }
            if queue.waitingCount + queue.unacknowledgedCount > 0, queue.deadline == nil {
                self.find("\(id): nothing would end what is kept")
            }
            if queue.isIdle { self.events.isEmpty(EventWatch.Box(app: id, user: known.user), last: queue.lastSequence) }
        }
        if let wrong = self.checkDurable() { self.find(wrong) }
        // A book that is wrong stays so.
        self.steps += 1
        guard self.steps.isMultiple(of: 4) else { return }
        if let tasks = self.process?.core.work.tasks { self.tasks.check(tasks) }
        self.checkUsage(all: self.steps.isMultiple(of: 8))
    }

    /// What went since is still held until that is cleaned up.
    private mutating func checkUsage(all: Bool) {
        guard let process = self.process, !process.isCleaning else { return }
        let (mailboxes, registry) = (process.core.mailboxes, process.core.registry)
        let apps = Set(self.handles.map(\.app) + process.installed.values)
        let held = apps.reduce(0) { $0 + (registry[$1]?.detectors.count ?? 0) }
        let atWork = process.core.sensing.detectorCount
        if atWork != held { self.find("\(held) detectors are registered, and \(atWork) are at work") }
        // Most is not counted here.
        self.usage.check(all ? process.core.usage : registry.usage + mailboxes.usage, mailboxes)
    }

    // MARK: In the end

    /// All are well and have time: everything comes to its end, and then nothing is left to do.
    mutating func finish() {
        self.disk.mood = .well
        self.begin()
        for client in self.clients.indices {
            self.clients[client].program = 0
            // What it has read and not answered, it answers: it may be sent that again only later.
            while !self.clients[client].calls.isEmpty { self.answer(client, .consume) }
            self.answer(client, .consume)
            self.start(client)
        }
        self.quieten()
        for client in self.clients.indices { self.tell(client, 0) }
        self.see(-1)
        self.freeze(0)
        self.input(.life(.locked(false)))
        self.quieten()
        for (_, app) in self.handles {
            guard let queue = self.process?.core.mailboxes[app], !queue.isIdle else { continue }
            self.find(
                "app \(app.index) reads and answers, and \(queue.waitingCount) events wait, \(queue.unacknowledgedCount) are out"
            )
        }
        if self.handles.count != Set(Setup.apps).count { self.find("not all apps could register") }
        self.check()
        self.verdicts.end()
        for client in self.clients.indices { self.quit(client) }
        self.quieten()
        self.pass(Setup.longestLifespan + .seconds(60))
        // Those come back who were launched for what was left.
        self.quieten()
        for client in self.clients.indices { self.quit(client) }
        self.quieten()
        self.events.end()
        self.finishTasks()
        for client in self.clients.indices { self.quit(client) }
        self.quieten()
        // What was wished for a task that is over is found needless when its pause is over.
        self.pass(Launches.longestBackOff)
        self.quieten()
        if let tasks = self.process?.core.work.tasks { self.tasks.end(tasks) }
        if let launches = self.process?.core.arbiter.launches { self.launches.end(launches) }
        self.forgetDurable(Setup.apps[Self.durableClient])
        for file in self.files.indices { self.setFile(file, version: 0) }
        self.quieten()
        self.checkUsage(all: true)
        if let usage = self.process?.core.usage { self.usage.end(usage) }
        self.finishReader()
        if self.disk.rows.isEmpty == false { self.find("the disk keeps \(self.disk.rows.count) events for ever") }
        if !self.disk.durable.isEmpty { self.find("the disk keeps for ever what was registered for good") }
        if let timer = self.process?.timer { self.find("nothing is left to do, and the broker wakes up at \(timer)") }
    }

    /// All read, answer and write until nothing is under way; and then time passes, and once more.
    mutating func quieten() {
        for span in [TimeSpan.seconds(3), .zero] {
            for _ in 0..<150 {
                self.answerClaim()
                for client in self.clients.indices { self.rise(client) }
                self.round()
                self.write(compares: false)
                self.takeNews()
                self.pass(.milliseconds(20))
                if self.isCalm { break }
            }
            self.write()
            self.pass(span)
        }
    }

    private var isCalm: Bool {
        guard let process = self.process, process.parked == nil else { return false }
        return self.connections.allSatisfy { $0.toBroker.isEmpty && $0.toClient.isEmpty }
            && process.starts.isEmpty
            && process.handles.all.allSatisfy { process.core.mailboxes[$0.app]?.isIdle == true }
    }
}
