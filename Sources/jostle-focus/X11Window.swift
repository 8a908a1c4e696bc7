import FocusCore

/// What an X11 window says of itself, a piece at a time, and what of it is in doubt.
struct X11Window {
    enum Property: UInt8, CaseIterable {
        case windowClass
        case gtkAppID
        case process
        case machine
        case managed
        case states
        case desktop
        case type
        /// No property: what the server says of whose window it is.
        case server
    }

    /// What is read of a property, in words of four bytes: two names of the longest length, and more than a window has states.
    static let mostWords: UInt32 = 130

    private var claim: (instance: String?, windowClass: String?) = (nil, nil)
    private var gtkAppID: String?
    private var ownProcess: UInt32?
    private var serverProcess: UInt32?
    private var machine: String?
    /// What the window manager says: shown or iconic.
    private var managed: UInt32?
    private var states: [UInt32] = []
    private var desktop: UInt32?
    private var types: [UInt32] = []
    private var doubts: Set<Property> = []
    private var asked: Set<Property> = []
    /// What it has not told yet.
    private var untold = Set(Property.allCases)

    private static let iconic: UInt32 = 3
    private static let everywhere: UInt32 = .max

    /// It has told everything once. What changes again and again is not waited for.
    var isKnown: Bool { self.untold.isEmpty }

    /// Notes what to ask. Tells whether it waited to be asked already, or is asked again when the answer is there.
    mutating func doubt(_ properties: [Property]) -> Bool {
        let wasWaiting = !self.doubts.isEmpty
        self.doubts.formUnion(properties)
        return wasWaiting || !self.asked.isDisjoint(with: self.doubts)
    }

    /// What to ask now.
    mutating func takeDoubts() -> [Property] {
        let now = self.doubts.subtracting(self.asked)
        self.doubts.subtract(now)
        self.asked.formUnion(now)
        return now.sorted { $0.rawValue < $1.rawValue }
    }

    /// Takes an answer in, also one that there is no such property. Tells whether it was the last that was due, or the last of all that
    /// were never told, and whether there is something to ask again.
    mutating func take(_ property: Property, _ answer: X11Answer) -> (isDone: Bool, isWaiting: Bool) {
        self.asked.remove(property)
        let isFirst = self.untold.remove(property) != nil
        switch property {
        case .windowClass:
            let parts = answer.bytes.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
            self.claim = (parts.first.flatMap(Self.text), parts.dropFirst().first.flatMap(Self.text))
        case .gtkAppID: self.gtkAppID = Self.text(answer.bytes[...])
        case .process: self.ownProcess = answer.numbers.first
        case .machine: self.machine = Self.text(answer.bytes[...])
        case .managed: self.managed = answer.numbers.first
        case .states: self.states = answer.numbers
        case .desktop: self.desktop = answer.numbers.first
        case .type: self.types = answer.numbers
        case .server: self.serverProcess = answer.process
        }
        let isDone = (self.asked.isEmpty && self.doubts.isEmpty) || (isFirst && self.isKnown)
        return (isDone, self.doubts.contains(property))
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        let own = bytes.prefix { $0 != 0 }
        return own.isEmpty ? nil : String(decoding: own, as: UTF8.self)
    }

    /// - Parameters:
    ///   - isServerAsked: the server knows whose connections are; what a window says of its process counts only where it does not.
    ///   - host: this machine's name.
    func claims(isServerAsked: Bool, host: String) -> WindowClaims {
        let own = self.machine == host ? self.ownProcess : nil
        return WindowClaims(
            instance: self.claim.instance, windowClass: self.claim.windowClass, gtkAppID: self.gtkAppID,
            process: isServerAsked ? self.serverProcess : own,
            isElsewhere: self.machine != nil && self.machine != host)
    }

    /// Whether nobody sees it, on this desktop.
    func isHidden(_ names: X11Names, on current: UInt32?) -> Bool {
        if self.managed == Self.iconic || self.states.contains(names.hidden) { return true }
        guard let current, let desktop, desktop != Self.everywhere else { return false }
        return desktop != current
    }

    /// Whether it is a part of the desktop, such as a panel or what is behind all windows, and of no app.
    func isOfDesktop(_ names: X11Names) -> Bool {
        self.types.first == names.dock || self.types.first == names.background
    }
}
