package import Arbitration
package import Motion

/// An event that is due to an app and must not be lost with the broker.
package struct DueEvent: Equatable, Sendable {
    package var app: AppID
    /// `nil`: nobody's yet.
    package var user: UInt32?
    package var content: EventContent
    package var terms: DeliveryTerms
    /// When it is too old to be of use, in µs of the wall clock: it outlives boots.
    package var ends: Int64
    /// Who of those that wait to be launched goes first.
    package var strength: Int

    package init(
        app: AppID, user: UInt32?, _ content: EventContent, _ terms: DeliveryTerms, ends: Int64, strength: Int = 0
    ) {
        self.app = app
        self.user = user
        self.content = content
        self.terms = terms
        self.ends = ends
        self.strength = strength
    }

    /// What tells it from all others. Its number does not: an app may number it anew after a restart.
    package struct Key: Hashable, Sendable {
        let app: AppID
        let user: UInt32?
        let epoch: UInt64
        let time: Timestamp
        let detector: String
    }

    package var key: Key {
        Key(
            app: self.app, user: self.user, epoch: self.content.epoch, time: self.content.time,
            detector: self.content.detector)
    }
}

/// What is to be done to the due events on the disk: the last word on each.
package struct DueChanges: Sendable {
    /// `nil`: it is due no more.
    package private(set) var events: [DueEvent.Key: DueEvent?] = [:]
    /// Those to be kept that may be on the disk already: when they are over, they have to be taken from there.
    private var known: Set<DueEvent.Key> = []

    package init() {}

    package var isEmpty: Bool { self.events.isEmpty }
    package var count: Int { self.events.count }

    /// - Parameter isKnown: It was to be kept before, and may be on the disk.
    package mutating func add(_ event: DueEvent, isKnown: Bool = false) {
        let key = event.key
        // What is to be taken from the disk may be there.
        if isKnown || self.isForgotten(key) { self.known.insert(key) }
        self.events[key] = .some(event)
    }

    /// Whoever tried to bring this to the disk does not know how far it came: all of it may be there.
    package mutating func mayBeThere() {
        for (key, event) in self.events where event != nil { self.known.insert(key) }
    }

    /// What has not come to the disk need not be taken from there.
    package mutating func remove(_ event: DueEvent) { self.remove(event.key) }

    private mutating func remove(_ key: DueEvent.Key) {
        if case .some(.some) = self.events[key], !self.known.contains(key) {
            self.events[key] = nil
        } else {
            self.known.remove(key)
            self.events[key] = .some(nil)
        }
    }

    private func isForgotten(_ key: DueEvent.Key) -> Bool {
        if case .some(nil) = self.events[key] { true } else { false }
    }

    /// Takes in what comes later.
    package mutating func merge(_ later: DueChanges) {
        for (key, change) in later.events {
            if let event = change {
                self.add(event, isKnown: later.known.contains(key))
            } else {
                self.remove(key)
            }
        }
    }
}
