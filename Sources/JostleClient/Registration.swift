import DBus
import Motion
import Protocol

/// Keeps what the app asked the broker for, to ask for it again when the broker comes back.
struct Registration {
    /// The app id; empty for an app without one.
    let app: String
    /// Whether the detectors are to outlive the app and the broker.
    var isDurable = false
    /// Whether the app asked for what is kept for it.
    private(set) var isSubscribed = false
    /// The app was registered, so the next broker is to know it, too: also without detectors it may wait for what is kept, to be
    /// launched or to be given tasks.
    private(set) var isNeeded = false
    /// As far as the app knows, a broker has all of it.
    private var isInForce = false
    private var detectors: [Detector] = []
    /// Why the broker does not take the app any more, which whoever runs it is to learn.
    private var refusal: JostleError?

    init(app: String) { self.app = app }

    /// Refuses what can be no app. The broker would say the same, but the bus is asked for the name first, and each bus has its
    /// own words.
    func check() throws(BusError) {
        guard self.app.isEmpty || AppID.isValid(self.app) else {
            throw .invalidConfiguration("'\(printable(self.app))' is no app id: give a well-known bus name, or nothing")
        }
    }

    /// What it says besides the app's name.
    var options: [String: Value] { self.isDurable ? [RegisterOptions.durable: .boolean(true)] : [:] }

    /// All detectors, split into calls.
    var batches: [ArraySlice<DetectorRequest>] { DetectorBatch.split(self.detectors.map(\.request)) }

    /// A broker took the app, and all that it asked for.
    mutating func begin() {
        self.isNeeded = true
        self.isInForce = true
    }

    /// The broker is gone. False: it had not taken all yet, so that the app knows of none.
    mutating func end() -> Bool {
        defer { self.isInForce = false }
        return self.isInForce
    }

    /// Takes in detectors that the broker took; one of the same name is replaced.
    mutating func add(_ detectors: [Detector]) {
        self.remove(detectors.map(\.name))
        self.detectors += detectors
    }

    /// Forgets detectors that the broker took away.
    mutating func remove(_ names: [String]) {
        let names = Set(names)
        self.detectors.removeAll { names.contains($0.name) }
    }

    /// The app asked for what is kept for it.
    mutating func subscribe() { self.isSubscribed = true }

    /// The broker does not take the app, and will not.
    mutating func refuse(_ error: JostleError) { self.refusal = error }

    /// Tells a refusal, once.
    mutating func throwRefusal() throws(JostleError) {
        if let refusal = self.refusal.take() { throw refusal }
    }
}
