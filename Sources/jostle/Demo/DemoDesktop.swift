import DBus
import DaemonSupport
import Glibc
import JostleClient
import Loop
import Motion
import Protocol

/// A screen that nobody sees, with a window for each of some apps: sway, which the demo's apps are shown by, and jostle-focus, which
/// tells the broker which of them is in front.
final class DemoDesktop {
    private let stage: DemoStage
    private var runtime = ""
    /// sway does not want to be root's.
    private let user: UInt32? = geteuid() == 0 ? 65_534 : nil
    /// In a folder of our own it has no other.
    private static let display = "wayland-1"
    /// What has a program of this name, and in which package it is.
    private static let needed = [("sway", "sway"), ("swaymsg", "sway"), ("foot", "foot"), ("env", "coreutils")]

    init(on stage: DemoStage) { self.stage = stage }

    /// Fails when something is missing that this needs.
    func check() throws(CommandFailure) {
        let missing = Self.needed.filter { !isProgram($0.0) }
        guard missing.isEmpty else {
            let packages = Set(missing.map(\.1)).sorted().joined(separator: " ")
            throw CommandFailure(
                .no,
                "there is no \(missing.map(\.0).joined(separator: ", ")): install it, in Debian with apt install \(packages)"
            )
        }
        guard siblingProgram("jostle-focus") != nil else {
            throw CommandFailure(
                .no, "jostle-focus is not beside this program: install it, or build it with make build-focus")
        }
    }

    /// Starts everything, and returns when the broker knows all of the windows.
    func build(of apps: [String]) throws(CommandFailure) {
        guard case .address(let address) = self.stage.bus?.address else {
            throw CommandFailure(.no, "the private bus has no address")
        }
        self.runtime = try self.stage.makeDirectory("display", for: self.user)
        try self.stage.start(
            "jostle-focus", try self.stage.path(of: "jostle-focus"),
            ["--bus", address, "--exit-with-bus", "--log-level", "warning", "--source", "wlr:\(Self.display)"],
            environment: ["XDG_RUNTIME_DIR": self.runtime])
        // Not where its user may put something else in its place.
        let configuration = "\(self.stage.directory)/sway"
        // Without it, it would look for a free X display on this machine, and leave its lock.
        try self.stage.write("xwayland disable\n", configuration)
        let socket = "\(self.runtime)/\(Self.display)"
        // SAFETY: the paths are NUL-terminated strings for the time of the calls.
        _ = unsafe chmod(configuration, 0o644)
        try self.start("sway", ["-c", configuration])
        try self.wait("sway has a display") { () throws(CommandFailure) in unsafe access(socket, F_OK) == 0 }
        for app in apps {
            try self.start("foot", ["--app-id=\(app)", "sleep", "infinity"])
            // A new window is in front.
            try self.wait("\(app) has a window") { () throws(CommandFailure) in try self.front == app }
        }
    }

    /// Brings the app's window to the front.
    func show(_ app: String) throws(CommandFailure) {
        try self.tell("workspace 1; [app_id=\"^\(app)$\"] focus")
        try self.wait("\(app) is in front") { () throws(CommandFailure) in try self.front == app }
    }

    /// Goes where no windows are.
    func showNothing() throws(CommandFailure) {
        try self.tell("workspace 2")
        try self.wait("nothing is in front") { () throws(CommandFailure) in try self.front.isEmpty }
    }

    /// Which app is in front, as the broker has it from jostle-focus; empty: none.
    private var front: String {
        get throws(CommandFailure) {
            guard try self.stage.property("ForegroundReported") == .boolean(true),
                case .string(let app) = try self.stage.property("Foreground")
            else { return "nobody says" }
            return app
        }
    }

    private func tell(_ command: String) throws(CommandFailure) {
        let asking = try self.start("swaymsg", ["-q", command], mayEnd: true)
        try self.stage.wait(until: { asking.ending != nil })
        guard asking.ending == .exited(0) else {
            throw CommandFailure(.no, "sway did not do this: \(command)")
        }
    }

    @discardableResult
    private func start(
        _ program: String, _ arguments: [String], mayEnd: Bool = false
    ) throws(CommandFailure) -> ChildProcess {
        try self.stage.start(
            program, program, arguments,
            environment: [
                "XDG_RUNTIME_DIR": self.runtime, "HOME": self.runtime, "WAYLAND_DISPLAY": Self.display,
                "SWAYSOCK": "\(self.runtime)/ipc", "WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman",
                "WLR_LIBINPUT_NO_DEVICES": "1",
            ], as: self.user, mayEnd: mayEnd, output: .null, errorOutput: .null)
    }

    /// Looks again and again, because who says it says so on another bus than ours or on none.
    private func wait(_ what: String, _ isSo: () throws(CommandFailure) -> Bool) throws(CommandFailure) {
        for _ in 0..<2_000 {
            if try isSo() { return }
            try self.stage.rest(.milliseconds(5))
        }
        throw CommandFailure(.no, "10 s passed without this: \(what)")
    }
}

@available(*, unavailable)
extension DemoDesktop: Sendable {}
