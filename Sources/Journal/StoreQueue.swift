import Arbitration
import Loop

/// A row that waits to be written.
struct JournalRow: Sendable {
    var entry: JournalEntry
    /// When it was made, in µs of the wall clock.
    let wall: Int64

    init(entry: consuming JournalEntry, wall: Int64) {
        self.entry = consume entry
        self.wall = wall
    }
}

/// What the loop's thread and the writer hand to each other.
struct StoreQueue: Sendable {
    // To the writer.
    var rows: WaitingRows
    private(set) var policies: [JournalPolicy] = []
    var questions: [Question] = []
    var epochs: EpochOrders
    var due = WaitingDue()
    var tasks = TaskChanges()
    var durable = WaitingApps()
    var isStopping = false

    // From the writer.
    /// True: it waits for a change, and somebody has to tell it.
    var isIdle = false
    /// Reserved, and not fetched yet.
    var firstEpochs: EpochBlock?
    var news: [Item] = []
    var isFailing = false
    /// When what the writer does now is to be done at the latest; `nil` while it does nothing.
    var alarm = Alarm()
    /// What people are told of the disk.
    ///
    /// The rows are well while none is left out because more come than the disk takes.
    var health: (disk: DiskHealth, rows: DiskHealth)
    var hold = Hold.free
    /// The writer has ended.
    var isOver = false

    /// Who has the directory.
    enum Hold: Sendable {
        /// Nobody else, as far as is known.
        case free
        /// Another broker, which may be about to end.
        case awaited(until: Int64)
        /// Another broker, and this says so.
        case taken(String)
    }

    /// What somebody wants to know of the journal.
    struct Question: Sendable {
        let number: UInt64
        let user: UInt32
        let query: JournalQuery
    }

    /// What the writer says.
    enum Item: Sendable {
        case answer(UInt64, Result<JournalAnswer, JournalFailure>)
        /// Epochs are reserved up to this one.
        case extended(UInt64)
        /// For the broker.
        case told(Store.News)
    }

    init(_ pace: WaitingRows.Pace, epochFloor: UInt64, _ health: DiskHealth) {
        self.rows = WaitingRows(pace)
        self.epochs = EpochOrders(floor: epochFloor)
        self.health = (disk: health, rows: health)
    }

    /// Adds a policy for the rows that will name it. Nobody takes it before there are any, and only the latest will be named.
    mutating func keep(_ policy: JournalPolicy) {
        self.policies.append(policy)
        if self.policies.count > TakenRows.mostPolicies { self.policies.removeFirst() }
    }

    mutating func takePolicies() -> [JournalPolicy] {
        defer { self.policies = [] }
        return self.policies
    }

    /// Takes one question: what is to be kept meanwhile comes before the next. At the end all of them are answered.
    ///
    /// What else its user asks stands behind what others ask from then on.
    mutating func takeQuestions() -> [Question] {
        guard !self.isStopping else {
            defer { self.questions = [] }
            return self.questions
        }
        guard let first = self.questions.first else { return [] }
        let rest = self.questions.dropFirst()
        self.questions = rest.filter { $0.user != first.user } + rest.filter { $0.user == first.user }
        return [first]
    }

    mutating func takeNews() -> [Item] {
        if let block = self.firstEpochs {
            self.firstEpochs = nil
            self.news.append(.told(.epochs(block)))
        }
        defer { self.news = [] }
        return self.news
    }
}
