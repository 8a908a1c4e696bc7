import DBus
import Loop
import Protocol

/// A bus on which the reader may be, as far as is known what is there.
final class ReaderPlace {
    let bus: Connection
    let names: NameWatch
    /// The reader's unique name there.
    fileprivate(set) var reader: String?
    /// The bus can start a reader. Found out where there is a choice.
    fileprivate var canStart = false
    /// Both was found out, or the bus is not there or says nothing.
    fileprivate var isKnown = false

    fileprivate init(_ bus: Connection, _ names: NameWatch) {
        self.bus = bus
        self.names = names
    }
}

/// Finds the bus that the reader is on: the only one there is; or of two the first, if the reader is there or can be started there,
/// and else the other.
final class ReaderSearch {
    let places: [ReaderPlace]
    /// Told whenever it is known anew who is where.
    var onChange: () -> Void = {}

    /// How long the first bus may take to say what is there, in µs. Until it has, it then counts as away.
    private static let patience: Int64 = 2_000_000
    private static let bus = "org.freedesktop.DBus"
    private static let rule = "type='signal',sender='\(bus)',interface='\(bus)',member='ActivatableServicesChanged'"

    /// - Parameter buses: one or two; what the service follows on its own is told to it by others.
    init(_ buses: [Connection], besides own: Connection, _ ownNames: NameWatch) {
        self.places = buses.map { ReaderPlace($0, $0 === own ? ownNames : NameWatch(on: $0)) }
        for place in self.places {
            _ = place.names.follow(BusName.sensors, ownRule: true) { [unowned self, unowned place] in
                place.reader = $0
                self.onChange()
            }
            guard place.bus !== own else { continue }
            place.bus.onReady = { [unowned self, unowned place] in
                // Their answers come in this order, so that all is known with the second.
                place.names.refresh()
                // That there is no reader here either is no news, and it is to be started all the same.
                self.look { [unowned self] in self.onChange() }
            }
            place.bus.onLost = { [unowned self, unowned place] in
                (place.canStart, place.isKnown) = (false, true)
                place.names.forgetAll()
                self.onChange()
            }
        }
        guard self.hasChoice, let first = self.places.first else { return }
        first.bus.onSignal("org.freedesktop.DBus", "ActivatableServicesChanged") { [unowned self] message in
            if message.isFrom(Self.bus) { self.look() }
        }
        first.bus.whenInDoubt { [unowned self] _ in self.look() }
        first.bus.addMatch(Self.rule)
    }

    private var hasChoice: Bool { self.places.count > 1 }

    /// Where the reader is, or may come; `nil` while nobody knows.
    var chosen: ReaderPlace? {
        guard self.hasChoice, let first = self.places.first else { return self.places.first }
        guard first.isKnown else { return nil }
        return first.reader != nil || first.canStart ? first : self.places.last
    }

    /// Connects to a bus that is not the service's own. It may come later; where there is a choice, nobody waits for it.
    func open(besides own: Connection) throws(BusError) {
        for place in self.places where place.bus !== own {
            guard self.hasChoice else {
                // The only one there is has to be there.
                try place.bus.openIfThere()
                continue
            }
            guard place.bus.openOrRetry() else {
                self.isAway(place)
                continue
            }
            place.bus.loop.once(at: Clock.monotonic.now() + Self.patience) { [weak self] in
                if !place.isKnown { self?.isAway(place) }
            }
        }
    }

    private func isAway(_ place: ReaderPlace) {
        place.isKnown = true
        self.onChange()
    }

    /// Finds out anew whether the first bus can start a reader, if that is of interest.
    func look(_ then: @escaping () -> Void = {}) {
        guard self.hasChoice, let first = self.places.first, first.bus.isReady else { return then() }
        first.bus.callBus("ListActivatableNames") { [weak self] result in
            let names: [String]? = try? result.take().read(reply: [String].self)
            first.canStart = names?.contains(BusName.sensors) ?? false
            first.isKnown = true
            self?.onChange()
            then()
        }
    }
}
