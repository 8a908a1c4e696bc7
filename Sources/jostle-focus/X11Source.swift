import DaemonSupport
import FocusCore
import Loop

/// The windows of an X server whose window manager keeps to EWMH.
///
/// Nothing here waits for an answer, not even for the greeting: answers are taken as they come. What a window says is
/// read in pieces of bounded size, and what vanished meanwhile is an error that nobody minds.
/// Not `Sendable`: it belongs to the thread of its loop.
final class X11Source: FocusSource {
    let name: String
    let desk: DeskLink
    private let display: (number: UInt32, screen: Int)
    private let loop: EventLoop
    private let log: Log
    private let socket: DisplaySocket
    private var relay: X11Relay?
    /// There is one while the server has taken us in.
    private var line: X11Line?
    private var watch: EventLoop.Registration?
    private var names: X11Names?
    private var windows: [UInt32: X11Window] = [:]
    /// Windows of which something is to be asked, in turn.
    private var waiting: [UInt32] = []
    /// The windows of the manager's first list that have not told all yet, which is whole when there is none. `nil`: it was.
    private var gathering: Set<UInt32>? = []
    private var knows = (list: false, front: false)
    private var currentDesktop: UInt32?
    private var front: UInt32 = 0

    /// The most windows that are followed.
    private static let mostWindows = Desk.mostWindows

    /// - Parameter display: what `DISPLAY` names, such as `:0`; `nil` when it is not on this machine.
    init?(_ display: String, _ desk: DeskLink, on loop: EventLoop, log: Log) {
        guard let parts = Self.parts(of: display) else { return nil }
        self.name = "x11:\(sourceName(display))"
        self.display = parts
        self.desk = desk
        self.loop = loop
        self.log = log
        self.socket = DisplaySocket("/tmp/.X11-unix/X\(parts.number)", on: loop)
        self.socket.onTry = { [unowned self] in self.open() }
        self.socket.onGivingUp = { [unowned self] in
            self.log.notice("\(self.name): no X server takes us at \(self.socket.path); waiting for one")
        }
    }

    deinit { self.drop() }

    /// The numbers in `:0` or `:0.0`.
    private static func parts(of display: String) -> (number: UInt32, screen: Int)? {
        guard display.hasPrefix(":") else { return nil }
        let parts = display.dropFirst().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let number = UInt32(parts[0]), let screen = UInt16(parts.count == 1 ? "0" : parts[1]) else { return nil }
        return (number, Int(screen))
    }

    func start() {
        do throws(SystemError) {
            try self.socket.start()
        } catch {
            self.log.error("\(self.name): \(self.socket.path) cannot be watched, and is looked for: \(error)")
        }
    }

    func stop() {
        self.socket.stop()
        self.drop()
    }

    // MARK: The connection

    private func open() -> Bool {
        do throws(SystemError) {
            let relay = try X11Relay(to: self.socket.path, X11Authority(of: self.display.number))
            self.watch = try self.loop.watch(relay.descriptor, for: .read) { [weak self] _ in self?.serve() }
            self.relay = relay
            self.flush()
            return true
        } catch {
            return false
        }
    }

    /// Goes in where the server takes us in.
    private func enter(_ greeting: X11Greeting, through relay: X11Relay) {
        guard greeting.roots.indices.contains(self.display.screen) else { return self.lose() }
        let line: X11Line
        do throws(SystemError) {
            line = try X11Line.make(greeting, root: greeting.roots[self.display.screen], through: relay)
        } catch {
            self.log.error("\(self.name): \(error)")
            return self.lose()
        }
        self.line = line
        self.gathering = []
        self.knows = (list: false, front: false)
        self.desk.begin()
        X11Names.ask(on: line) { [weak self] in self?.begin($0) }
    }

    private func drop() {
        self.loop.cancel(&self.watch)
        self.line?.close()
        self.line = nil
        self.relay = nil
        self.names = nil
        self.windows = [:]
        self.waiting = []
        self.currentDesktop = nil
        self.front = 0
    }

    /// The server is gone, or does not take us in.
    private func lose() {
        let wasIn = self.line != nil
        self.drop()
        if wasIn {
            self.log.info("\(self.name): the X server is gone")
            self.desk.leave()
        }
        self.socket.lost()
    }

    /// Handles what has come in, and asks on.
    private func serve() {
        guard let relay else { return }
        relay.receive()
        while self.relay === relay, let parcel = relay.next() {
            switch parcel {
            case .greeting(let greeting): self.enter(greeting, through: relay)
            case .messages(let messages): self.take(messages)
            }
        }
        guard self.relay === relay else { return }
        self.askOn()
        self.flush()
        if relay.isBroken || self.line?.isBroken == true { self.lose() }
    }

    private func take(_ messages: [UInt8]) {
        guard let line else { return }
        line.put(messages)
        while let event = line.nextEvent() { self.handle(event) }
        line.takeReplies()
    }

    /// Sends what was asked; what the server does not read now it gets later.
    private func flush() {
        self.line?.flush()
        guard let relay, let watch else { return }
        relay.flush()
        try? self.loop.update(watch, for: relay.isBehind ? [.read, .write] : .read)
    }

    private func handle(_ event: X11Event) {
        guard let line, let names else { return }
        switch event {
        case .property(let window, let atom):
            if window == line.root {
                self.rootChanged(atom, names)
            } else if let property = names.property(of: atom) {
                self.doubt(window, [property])
            }
        case .destroyed(let window):
            self.forget(window)
        }
    }

    // MARK: The root

    private func begin(_ names: X11Names) {
        guard let line else { return }
        self.names = names
        line.follow(line.root, structure: false)
        for atom in [names.clientList, names.currentDesktop, names.activeWindow] { self.rootChanged(atom, names) }
    }

    private func rootChanged(_ atom: UInt32, _ names: X11Names) {
        guard let line else { return }
        switch atom {
        case names.clientList:
            line.property(atom, of: line.root, words: UInt32(Self.mostWindows)) { [weak self] in
                self?.list($0.numbers)
            }
        case names.activeWindow:
            line.property(atom, of: line.root, words: 1) { [weak self] in self?.activate($0.numbers.first ?? 0) }
        case names.currentDesktop:
            line.property(atom, of: line.root, words: 1) { [weak self] in self?.show($0.numbers.first) }
        default: break
        }
    }

    private func list(_ ids: [UInt32]) {
        let listed = Set(ids)
        for id in self.windows.keys where !listed.contains(id) { self.forget(id) }
        for id in ids where self.windows[id] == nil && self.windows.count < Self.mostWindows {
            self.windows[id] = X11Window()
            self.line?.follow(id, structure: true)
            self.doubt(id, X11Window.Property.allCases)
        }
        // Those that come later are waited for no more: there may be others all the time.
        if !self.knows.list { self.gathering?.formUnion(self.windows.keys) }
        self.knows.list = true
        self.checkWhole()
    }

    private func activate(_ window: UInt32) {
        self.front = window
        self.knows.front = true
        self.desk.setFront(window == 0 ? [] : [Self.text(window)])
        // One for which there was no room finds it when it comes to the front.
        if window != 0, self.windows[window]?.isKnown == true, !self.desk.contains(Self.text(window)) {
            self.tell(window)
        }
        self.checkWhole()
    }

    private func show(_ desktop: UInt32?) {
        guard self.currentDesktop != desktop else { return }
        self.currentDesktop = desktop
        for window in self.windows.keys where self.windows[window]?.isKnown == true { self.tell(window) }
    }

    // MARK: Windows

    private func forget(_ window: UInt32) {
        guard self.windows.removeValue(forKey: window) != nil else { return }
        self.gathering?.remove(window)
        self.desk.close(Self.text(window))
        self.checkWhole()
    }

    /// Some of what a window said may not be so any more.
    private func doubt(_ window: UInt32, _ properties: [X11Window.Property]) {
        guard let wasWaiting = self.windows[window]?.doubt(properties) else { return }
        if !wasWaiting { self.waiting.append(window) }
    }

    /// Asks what is to be asked, as far as not too much is asked already.
    private func askOn() {
        guard let line, let names else { return }
        var asked = 0
        while asked < self.waiting.count, line.hasRoom {
            let window = self.waiting[asked]
            asked += 1
            for property in self.windows[window]?.takeDoubts() ?? [] {
                self.ask(property, of: window, names, line)
            }
        }
        self.waiting.removeFirst(asked)
    }

    private func ask(_ property: X11Window.Property, of window: UInt32, _ names: X11Names, _ line: X11Line) {
        let then: (X11Answer) -> Void = { [weak self] in self?.told(property, by: window, $0) }
        if property == .server {
            guard names.tellsClients else { return then(X11Answer()) }
            line.client(of: window, then)
        } else {
            line.property(names.atom(of: property), of: window, words: X11Window.mostWords, then)
        }
    }

    private func told(_ property: X11Window.Property, by window: UInt32, _ answer: X11Answer) {
        guard let (isDone, isWaiting) = self.windows[window]?.take(property, answer) else { return }
        // Changed once more while it was asked.
        if isWaiting { self.waiting.append(window) }
        guard isDone else { return }
        self.gathering?.remove(window)
        self.tell(window)
        self.checkWhole()
    }

    private func tell(_ id: UInt32) {
        guard let names, let window = self.windows[id] else { return }
        let text = Self.text(id)
        guard !window.isOfDesktop(names) else { return self.desk.close(text) }
        // It may have left the list and come back.
        if id == self.front { self.desk.setFront([text]) }
        self.desk.put(
            text, window.claims(isServerAsked: names.tellsClients, host: X11Line.host),
            isHidden: window.isHidden(names, on: self.currentDesktop))
    }

    /// The first look is over when each window of the list has told all that it was asked.
    private func checkWhole() {
        guard self.knows.list, self.knows.front, self.gathering?.isEmpty == true else { return }
        self.gathering = nil
        self.desk.complete()
    }

    private static func text(_ window: UInt32) -> String { "0x" + String(window, radix: 16) }
}

@available(*, unavailable)
extension X11Source: Sendable {}
