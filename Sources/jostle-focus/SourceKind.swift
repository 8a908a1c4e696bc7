import DaemonSupport
import Loop

/// Which source `--source` asks for.
enum SourceKind: Sendable {
    case wlr(display: String)
    case x11(display: String)

    static let expected = "auto, wlr, wlr:DISPLAY, x11 or x11:DISPLAY"

    /// What a word means; `nil` when it means nothing, or its display is nowhere named.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        let given = parts.count == 2 && !parts[1].isEmpty ? parts[1] : nil
        switch parts[0] {
        case "wlr":
            guard let display = given ?? environmentValue("WAYLAND_DISPLAY") else { return nil }
            self = .wlr(display: display)
        case "x11":
            guard let display = given ?? environmentValue("DISPLAY") else { return nil }
            self = .x11(display: display)
        default: return nil
        }
    }

    var display: String {
        switch self {
        case .wlr(let display), .x11(let display): display
        }
    }

    /// What the session is: on Wayland the X server there knows only some windows, so it is not asked.
    static var ofSession: SourceKind? { SourceKind("wlr") ?? SourceKind("x11") }

    /// The source; `nil` when its display is none that it could look at.
    func source(_ desk: DeskLink, on loop: EventLoop, log: Log) -> (any FocusSource)? {
        switch self {
        case .wlr(let display):
            guard let directory = display.hasPrefix("/") ? "" : environmentValue("XDG_RUNTIME_DIR") else { return nil }
            return WlrSource(display, in: directory, desk, on: loop, log: log)
        case .x11(let display):
            return X11Source(display, desk, on: loop, log: log)
        }
    }
}
