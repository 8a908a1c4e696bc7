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
    struct Key: Hashable, Sendable {
        let app: AppID
        let user: UInt32?
        let epoch: UInt64
        let time: Timestamp
        let detector: String
    }

    var key: Key {
        Key(
            app: self.app, user: self.user, epoch: self.content.epoch, time: self.content.time,
            detector: self.content.detector)
    }
}

/// What is to be done to the due events on the disk: the last word on each.
struct DueChanges: Sendable {
    /// `nil`: it is due no more.
    private(set) var events: [DueEvent.Key: DueEvent?] = [:]

    var isEmpty: Bool { self.events.isEmpty }
    var count: Int { self.events.count }

    mutating func add(_ event: DueEvent) { self.events[event.key] = .some(event) }

    /// What has not come to the disk need not be taken from there.
    mutating func remove(_ event: DueEvent) {
        if case .some(.some) = self.events[event.key] {
            self.events[event.key] = nil
        } else {
            self.events[event.key] = .some(nil)
        }
    }

    /// Takes in what comes later.
    mutating func merge(_ later: DueChanges) {
        for (key, change) in later.events {
            if change == nil, case .some(.some) = self.events[key] {
                self.events[key] = nil
            } else {
                self.events[key] = change
            }
        }
    }
}
