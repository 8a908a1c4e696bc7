/// What becomes of a session while the screen is locked.
package enum LockBehaviour: UInt8, Word {
    case goesOn
    case silence

    package var name: String {
        switch self {
        case .goesOn: "continue"
        case .silence: "silence"
        }
    }
}

/// A kind of session, as policy sets it up: whether it sounds beside others, and what it may do to them.
package struct SessionClass: Hashable, Sendable {
    package var name: String
    package var place: Place
    /// Interrupts nobody, and nobody's beginning interrupts it unless it is named in `interrupts`.
    package var isMixable = false
    package var whenLocked = LockBehaviour.goesOn
    /// The classes that it interrupts, also mixable ones; `nil`: those that do not mix.
    package var interrupts: [String]?
    /// Who would have to interrupt it is refused.
    package var isUninterruptible = false
    /// One of these has to be granted; none: everybody may have the class.
    package var requiredGrants = WordSet<BackgroundMode>.none
    /// The class of an audio activity that names none.
    package var isDefault = false

    package init(name: String, place: Place) {
        self.name = name
        self.place = place
    }
}

/// What a session gets while it is ducked.
package struct Ducking: Hashable, Sendable {
    /// How loud it may be, as a share of what it would be.
    package var share = 0.1
    /// The events of motions that it gets; `nil`: as many as come.
    package var events: Quota?

    package init(share: Double = 0.1, events: Quota? = nil) {
        self.share = share
        self.events = events
    }
}

/// What an exception of the matrix says.
package enum InteractionAction: UInt8, Word {
    case concurrent, duck, delay, reject

    package var name: String {
        switch self {
        case .concurrent: "concurrent"
        case .duck: "duck"
        case .delay: "delay"
        case .reject: "reject"
        }
    }
}

/// An exception of the matrix, as policy names it.
package struct Interaction: Hashable, Sendable {
    package var holder: String
    package var requester: String
    package var place: Place
    package var action = InteractionAction.concurrent
    package var ducking = Ducking()

    package init(holder: String, requester: String, place: Place) {
        self.holder = holder
        self.requester = requester
        self.place = place
    }
}
