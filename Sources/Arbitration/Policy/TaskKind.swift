/// What background work is like, which decides how much of it there may be and how long it may take.
package enum TaskKind: UInt8, Word {
    /// Short, to have something new to show.
    case refresh
    /// Longer, to tidy up or work something out.
    case processing

    package var name: String {
        switch self {
        case .refresh: "refresh"
        case .processing: "processing"
        }
    }

    /// The mode that an app needs for it.
    package var mode: BackgroundMode {
        switch self {
        case .refresh: .fetch
        case .processing: .processing
        }
    }

    /// How many of them may wait for one app.
    package var mostPending: Int {
        switch self {
        case .refresh: 1
        case .processing: 10
        }
    }
}
