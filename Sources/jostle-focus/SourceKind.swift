import DBus
import DaemonSupport
import Glibc
import Loop

/// Which source `--source` asks for.
enum SourceKind: Hashable, Sendable {
    case wlr(display: String)
    case x11(display: String)
    case kwin
    case gnome
    case lipstick
    case lomiri

    static let expected = "auto, wlr, wlr:DISPLAY, x11, x11:DISPLAY, kwin, gnome, lipstick or lomiri"
    static let names = ["auto", "wlr", "x11", "kwin", "gnome", "lipstick", "lomiri"]

    /// What a word means; `nil` when it means nothing, or its display is nowhere named.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        let given = parts.count == 2 && !parts[1].isEmpty ? parts[1] : nil
        switch (parts[0], parts.count) {
        case ("wlr", _):
            guard let display = given ?? environmentValue("WAYLAND_DISPLAY") else { return nil }
            self = .wlr(display: display)
        case ("x11", _):
            guard let display = given ?? environmentValue("DISPLAY") else { return nil }
            self = .x11(display: display)
        case ("kwin", 1): self = .kwin
        case ("gnome", 1): self = .gnome
        case ("lipstick", 1): self = .lipstick
        case ("lomiri", 1): self = .lomiri
        default: return nil
        }
    }

    /// What the session is: on Wayland the X server there knows only some windows, so it is not asked.
    static var ofSession: SourceKind? {
        // On X11 every desktop's window manager says the same.
        guard environmentValue("WAYLAND_DISPLAY") != nil else { return SourceKind("x11") }
        let desktops = (environmentValue("XDG_CURRENT_DESKTOP") ?? "").split(separator: ":").map { $0.lowercased() }
        if desktops.contains("kde") { return .kwin }
        if desktops.contains("gnome") { return .gnome }
        if desktops.contains("lomiri") || desktops.contains("unity8") { return .lomiri }
        if unsafe access("/usr/bin/lipstick", X_OK) == 0 { return .lipstick }
        return SourceKind("wlr")
    }

    /// The source; `nil` when its display is none that it could look at.
    func source(_ desk: DeskLink, on bus: Connection, _ names: NameWatch, loop: EventLoop, log: Log) -> (
        any FocusSource
    )? {
        switch self {
        case .wlr(let display):
            guard let directory = display.hasPrefix("/") ? "" : environmentValue("XDG_RUNTIME_DIR") else { return nil }
            return WlrSource(display, in: directory, desk, on: loop, log: log)
        case .x11(let display): return X11Source(display, desk, on: loop, log: log)
        case .kwin: return ShellSource(.kwin, desk, on: bus, names, loop: loop, log: log)
        case .gnome: return ShellSource(.gnome, desk, on: bus, names, loop: loop, log: log)
        case .lipstick: return LipstickSource(desk, on: loop, log: log)
        case .lomiri: return LomiriSource(desk, on: bus, names, log: log)
        }
    }
}
