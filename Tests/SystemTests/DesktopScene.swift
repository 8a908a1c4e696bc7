import Glibc
import TestSupport
import Testing

/// A session with a display, jostle-focus, and somebody in the broker's place who writes down what it says.
final class DesktopScene {
    let stage: Stage
    /// Where the compositor's socket is; its user's own.
    let runtime: String
    private(set) var focus: BackgroundProgram?
    private(set) var reports = 0
    private var broker: BackgroundProgram?
    private var server: BackgroundProgram?
    private var compositor: BackgroundProgram?
    private var others: [BackgroundProgram?] = []
    private var display = ""

    init(broker: Bool = true) throws {
        self.stage = try Stage(source: nil, broker: false)
        self.runtime = "\(self.stage.bus.directory)/run"
        try #require(mkdir(self.runtime, 0o700) == 0 && chown(self.runtime, 65_534, 65_534) == 0)
        try #require(chmod(self.stage.bus.directory, 0o755) == 0)
        for id in ["Alpha", "Beta"] + (0..<10).map({ "App\($0)" }) {
            try self.install("org.example.\(id)", program: "none")
        }
        if broker { try self.startBroker() }
    }

    /// Where desktop files are looked for.
    private var data: String { "\(self.stage.bus.directory)/data" }

    /// Installs a desktop file.
    func install(_ id: String, program: String) throws {
        let path = "\(self.data)/applications/\(id).desktop"
        let text = "[Desktop Entry]\nType=Application\nName=\(id)\nExec=\(program)\n"
        let command = ["sh", "-ec", "mkdir -p \"${1%/*}\"; printf %s \"$2\" > \"$1\"", "sh", path, text]
        try #require(try Tool.run(command).status == 0)
    }

    /// Waits until `jostle focus` says this, or says it no more.
    func untilListed(_ text: String, isThere: Bool = true) throws {
        try self.stage.until("\(text): \(isThere)") {
            try self.stage.jostle("focus", "--list").stdout.contains(text) == isThere
        }
    }

    deinit {
        for program in [self.focus, self.compositor, self.server, self.broker] + self.others {
            _ = try? program?.terminate()
        }
    }

    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    func startBroker(_ arguments: String...) throws {
        let program = try BackgroundProgram(
            tool: ["python3", Programs.source("Tests/Scripts/window-broker.py"), self.stage.address] + arguments)
        try program.waitUntilSaid("ready")
        self.broker = program
    }

    func endBroker() throws {
        try self.stage.kill(self.broker)
        self.broker = nil
    }

    func theBroker() throws -> BackgroundProgram { try #require(self.broker) }

    func startFocus(_ source: String, _ environment: [String: String]) throws {
        let program = try BackgroundProgram(
            "jostle-focus", ["--bus", self.stage.address, "--source", source],
            environment: environment.merging(["XDG_DATA_HOME": self.data]) { $1 })
        _ = try program.waitForLine(on: .errors) { $0.contains("serving the ") }
        self.focus = program
    }

    @discardableResult
    func endFocus() throws -> ProgramEnd? {
        let end = try self.focus?.terminate()
        self.focus = nil
        return end
    }

    /// Ends a program with the scene, if it is there yet.
    func keep(_ program: BackgroundProgram) -> BackgroundProgram {
        self.others.append(program)
        return program
    }

    /// Waits until the broker hears this, and says when it did.
    @discardableResult
    func until(_ said: String, within timeout: Int64 = 20_000_000) throws -> Int64 {
        let line = try #require(self.broker).waitForLine(timeout: .microseconds(timeout)) { line in
            self.reports += 1
            return line.split(separator: " ", maxSplits: 2).last.map { $0 == said } ?? false
        }
        return try #require(Int64(line.prefix { $0 != " " }))
    }

    // MARK: X11

    /// Starts an X server, and says which display it is.
    ///
    /// - Parameter secret: the file of a secret, without which it takes nobody in.
    func startX(_ display: String? = nil, secret: String? = nil) throws -> String {
        var command = ["Xvfb"] + (display.map { [$0] } ?? []) + ["-displayfd", "1", "-screen", "0", "800x600x24"]
        if let secret { command += ["-auth", secret] }
        let program = try BackgroundProgram(tool: command)
        let number = try program.waitForLine { Int($0) != nil }
        self.server = program
        self.display = ":\(number)"
        return self.display
    }

    /// Writes a file as `xauth` does: of any display, a secret.
    func makeSecret() throws -> String {
        let path = "\(self.stage.bus.directory)/secret"
        let entry = #"\377\377\0\0\0\0\0\022MIT-MAGIC-COOKIE-1\0\020sixteen-of-bytes"#
        let command = ["sh", "-ec", "printf \"$1\" > \"$2\"", "sh", entry, path]
        try #require(try Tool.run(command).status == 0)
        return path
    }

    /// Starts an X server of our own that hangs, and says which display it is.
    func startXDouble(_ kind: String) throws -> String {
        let program = try BackgroundProgram(tool: ["python3", Programs.source("Tests/Scripts/x-server.py"), kind])
        self.server = program
        return try program.waitForLine { $0.hasPrefix(":") }
    }

    func xServer() throws -> BackgroundProgram { try #require(self.server) }

    func killX() throws {
        try self.stage.kill(self.server)
        self.server = nil
    }

    func x(_ command: [String]) throws {
        let result = try Tool.run(command, environment: ["DISPLAY": self.display])
        try #require(result.status == 0, "\(command): \(result.stderr)")
    }

    func x(_ command: String...) throws { try self.x(command) }

    /// Starts a window manager. It says that it is there before it takes windows, so it is waited for until it runs what it is told to.
    func startOpenbox() throws -> BackgroundProgram {
        let file = "\(self.runtime)/openbox"
        unlink(file)
        let program = try BackgroundProgram(
            tool: ["openbox", "--startup", "touch \(file)"], environment: ["DISPLAY": self.display])
        try self.stage.until("a window manager takes windows") { access(file, F_OK) == 0 }
        return program
    }

    /// Opens a window, which says that it is this app's.
    func openX(_ program: String, as app: String? = nil) throws -> (program: BackgroundProgram, window: String) {
        let environment = ["DISPLAY": self.display]
        let program = try BackgroundProgram(tool: [program], environment: environment)
        var window = ""
        var seen = ""
        defer { if window.isEmpty { Issue.record("\(program.name) has no window: \(seen) \(program.errors)") } }
        try self.stage.until("it has a window") {
            seen = try Tool.run(["wmctrl", "-l", "-x"], environment: environment).stdout
            let listed = seen.split(separator: "\n")
            window = listed.first { $0.contains(" \(program.name).") }.map { String($0.prefix { $0 != " " }) } ?? ""
            return !window.isEmpty
        }
        if let app {
            try self.x("xprop", "-id", window, "-f", "_GTK_APPLICATION_ID", "8u", "-set", "_GTK_APPLICATION_ID", app)
        }
        return (program, window)
    }

    // MARK: Wayland

    private static let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    private var environment: [String: String] {
        [
            "XDG_RUNTIME_DIR": self.runtime, "HOME": self.runtime, "WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman",
            "WLR_LIBINPUT_NO_DEVICES": "1", "SWAYSOCK": "\(self.runtime)/ipc",
        ]
    }

    @discardableResult
    func startCompositor(_ name: String) throws -> BackgroundProgram {
        let configuration = "\(self.stage.bus.directory)/sway"
        let file = try #require(fopen(configuration, "w"))
        fputs("xwayland disable\n", file)
        try #require(fclose(file) == 0)
        let command = name == "sway" ? ["sway", "-c", configuration] : [name]
        let program = try BackgroundProgram(tool: Self.user + command, environment: self.environment)
        self.compositor = program
        return program
    }

    func killCompositor() throws {
        try self.stage.kill(self.compositor)
        self.compositor = nil
    }

    @discardableResult
    func startDouble(_ arguments: String...) throws -> BackgroundProgram {
        let program = try BackgroundProgram(
            tool: ["python3", Programs.source("Tests/Scripts/compositor.py"), "\(self.runtime)/own"] + arguments)
        _ = try program.waitForLine { $0 == "ready" }
        self.compositor = program
        return program
    }

    /// Opens a window that says that it is this app's, once there is a compositor.
    func openWayland(on display: String, as app: String) throws -> BackgroundProgram {
        try self.stage.until("there is a compositor") { access("\(self.runtime)/\(display)", F_OK) == 0 }
        return try BackgroundProgram(
            tool: Self.user + ["foot", "--app-id=\(app)", "sleep", "1000"],
            environment: self.environment.merging(["WAYLAND_DISPLAY": display]) { $1 })
    }

    func sway(_ command: String) throws {
        let result = try Tool.run(["swaymsg", command], environment: self.environment)
        try #require(result.status == 0, "\(result.stdout) \(result.stderr)")
    }

    /// Has sway do one thing after the other, and say when it was asked for each; "wait MS" waits between two.
    func swayCommands(_ commands: [String]) throws -> BackgroundProgram {
        self.keep(
            try BackgroundProgram(
                tool: ["python3", Programs.source("Tests/Scripts/sway-commands.py"), "\(self.runtime)/ipc"] + commands))
    }

    /// The time with which a line begins.
    static func time(of line: String) throws -> Int64 { try #require(Int64(line.prefix { $0 != " " })) }
}
