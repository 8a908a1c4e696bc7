/// What comes of two sessions of different apps: one outcome for each pair, whoever they are.
///
/// The cells follow from the classes, and single ones are named by policy.
package struct InteractionMatrix: Sendable {
    package enum Outcome: UInt8, Word, Comparable {
        /// Both go on.
        case concurrent
        /// Both go on, the holder softly.
        case duck
        /// The holder is silent until the requester is done.
        case interrupt
        /// The requester waits until the holder is done.
        case delay
        /// The requester may not begin.
        case reject

        package var name: String {
            switch self {
            case .concurrent: "concurrent"
            case .duck: "duck"
            case .interrupt: "interrupt"
            case .delay: "delay"
            case .reject: "reject"
            }
        }

        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

        /// Whether holder and requester go on both.
        var goesTogether: Bool { self <= .duck }
        /// Whether the requester begins at once.
        var admits: Bool { self <= .interrupt }
    }

    /// One cell, and where it comes from. Immutable: every verdict has room for one, and few have one.
    package final class Cell: Equatable, Sendable {
        package let holder: String
        package let requester: String
        package let outcome: Outcome
        /// Only in a cell that ducks.
        package let ducking: Ducking?
        /// The `[Interaction]` that says so; `nil`: it follows from the classes.
        package let place: Place?

        package init(
            holder: String, requester: String, _ outcome: Outcome, ducking: Ducking? = nil, at place: Place? = nil
        ) {
            self.holder = holder
            self.requester = requester
            self.outcome = outcome
            self.ducking = ducking
            self.place = place
        }

        /// As people name it: `playAndRecord/playback`.
        package var name: String { "\(self.holder)/\(self.requester)" }

        package static func == (a: Cell, b: Cell) -> Bool {
            a.holder == b.holder && a.requester == b.requester && a.outcome == b.outcome && a.ducking == b.ducking
                && a.place == b.place
        }
    }

    private struct Pair: Hashable {
        var holder: String
        var requester: String
    }

    /// In the order in which the files name them.
    package let classes: [SessionClass]
    package let interactions: [Interaction]
    private let byName: [String: SessionClass]
    private let exceptions: [Pair: Interaction]

    package init(_ classes: [SessionClass] = [], _ interactions: [Interaction] = []) {
        self.classes = classes
        self.interactions = interactions
        self.byName = Dictionary(classes.map { ($0.name, $0) }) { first, _ in first }
        self.exceptions = Dictionary(
            interactions.map { (Pair(holder: $0.holder, requester: $0.requester), $0) }
        ) { first, _ in first }
    }

    /// Whether both say the same, wherever they stand.
    package func says(sameAs other: Self) -> Bool {
        let nowhere = Place(file: "", line: 0)
        func bare(_ matrix: Self) -> ([SessionClass], [Interaction]) {
            var (classes, interactions) = (matrix.classes, matrix.interactions)
            for index in classes.indices { classes[index].place = nowhere }
            for index in interactions.indices { interactions[index].place = nowhere }
            return (classes, interactions)
        }
        return bare(self) == bare(other)
    }

    package subscript(_ name: String) -> SessionClass? { self.byName[name] }
    /// The class of an audio activity that names none.
    package var standard: SessionClass? { self.classes.first(where: \.isDefault) }

    /// What comes of a session that would begin while another goes on.
    package func cell(holder: SessionRequest, requester: SessionRequest) -> Cell {
        if let exception = self.exceptions[Pair(holder: holder.name, requester: requester.name)] {
            let isDucking = exception.action == .duck
            return Cell(
                holder: holder.name, requester: requester.name, Self.outcome(of: exception.action),
                ducking: isDucking ? exception.ducking : nil, at: exception.place)
        }
        return Cell(
            holder: holder.name, requester: requester.name, self.derived(holder: holder, requester: requester))
    }

    private static func outcome(of action: InteractionAction) -> Outcome {
        switch action {
        case .concurrent: .concurrent
        case .duck: .duck
        case .delay: .delay
        case .reject: .reject
        }
    }

    /// What follows from the classes where policy names no exception.
    private func derived(holder: SessionRequest, requester: SessionRequest) -> Outcome {
        // A class that policy no longer has stands in nobody's way.
        guard let holding = self.byName[holder.name], let asking = self.byName[requester.name] else {
            return .concurrent
        }
        if asking.isMixable || requester.mixes { return .concurrent }
        let isMixing = holding.isMixable || holder.mixes
        if asking.interrupts?.contains(holding.name) == true { return holding.isUninterruptible ? .reject : .interrupt }
        if isMixing { return .concurrent }
        return holding.isUninterruptible || asking.interrupts != nil ? .reject : .interrupt
    }
}

/// What an app asks for when it begins a session.
package struct SessionRequest: Hashable, Sendable {
    /// The name of its class.
    package var name: String
    /// This one mixes, whatever its class does.
    package var mixes: Bool

    package init(_ name: String, mixes: Bool = false) {
        self.name = name
        self.mixes = mixes
    }
}
