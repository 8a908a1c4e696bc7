import FleetCore
import Glibc
import Journal
import TestSupport
import Testing

/// A device, a bridge, a server and somebody who listens to all that is told.
///
/// Not `Sendable`: one test, one thread.
final class FleetScene {
    static let device = "kiosk-17"
    let topics = FleetTopics(device: FleetScene.device)
    let stage: Stage
    let server: MQTTServer
    private(set) var bridge: BackgroundProgram?
    let listener: FleetListener
    private let config: String
    /// What the device itself says.
    let policyDirectory: String
    private let brokerOptions: [String]

    /// - Parameters:
    ///   - lines: What the bridge's configuration says besides where the server is.
    ///   - server: What the server's says.
    init(_ lines: String, server options: [String] = [], broker: [String] = []) throws {
        self.stage = try Stage(broker: false)
        self.server = try MQTTServer(lines: options)
        self.policyDirectory = try stage.directory("fleet-policy", ["40-bridge": Self.policy])
        self.config = "\(self.stage.home)/bridge.conf"
        try FleetScene.write(
            """
            [Server]
            Host=localhost
            Port=\(self.server.port)
            TLS=no
            KeepAlive=60s
            [Bridge]
            Device=\(FleetScene.device)
            \(lines)
            """, to: self.config)
        let outside = "\(self.stage.home)/bridge-state/desired"
        self.brokerOptions = ["--policy", self.policyDirectory, "--outside", outside] + broker
        try self.stage.startBroker(options: self.brokerOptions)
        self.listener = try FleetListener(self.server)
        try self.listener.connect()
    }

    private static let policy =
        "[Rule bridge]\nPriority=200\nWhenApp=org.jostle.Bridge\nThen=allow\n"
        + "[Rule others]\nThen=allow\n"

    /// What a bridge's file says of a server that knows its devices by their certificates.
    static func section(of server: MQTTServer, as name: String) -> String {
        """
        [Server]
        Host=localhost
        Port=\(server.port)
        Authorities=\(server.authority)
        Certificate=\(server.certificate(of: name))
        Key=\(server.key(of: name))
        """
    }

    static func write(_ text: String, to path: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        try #require(fclose(file) == 0)
    }

    /// Starts another broker with the same options, in the place of one that ended.
    func restartBroker() throws { try self.stage.startBroker(options: self.brokerOptions) }

    /// Where the bridge keeps what it keeps.
    var bridgeState: String { "\(self.stage.home)/bridge-state" }

    /// - Parameter tool: a command that becomes the bridge, with its arguments.
    func startBridge(
        waits: Bool = true, environment: [String: String] = [:], under tool: [String] = []
    ) throws {
        let program = try self.anotherBridge(environment: environment, under: tool)
        // Which of the two comes first is not said.
        var isServing = false
        var isConnected = !waits
        _ = try program.waitForLine(on: .errors, timeout: .seconds(60)) { line in
            if line.contains("serving the bus at") { isServing = true }
            if line.hasSuffix("connected to localhost") { isConnected = true }
            return isServing && isConnected
        }
        self.bridge = program
    }

    /// Starts a bridge, beside the one that runs if one does.
    func anotherBridge(
        environment: [String: String] = [:], under tool: [String] = []
    ) throws -> BackgroundProgram {
        try BackgroundProgram(
            "jostle-bridge",
            [
                "--bus", self.stage.address, "--config", self.config, "--journal", self.stage.state, "--state-dir",
                self.bridgeState,
            ], environment: environment, under: tool)
    }

    /// Waits until the broker has a detector of the bridge's.
    func waitUntilHearing() throws {
        let app = Stage.Object.app("org.jostle.Bridge")
        try self.stage.until("the bridge hears") { try self.stage.property("DetectorCount", at: app).hasPrefix("t 1") }
    }

    func killBridge() throws {
        try self.stage.kill(self.bridge)
        self.bridge = nil
    }

    // MARK: What must hold

    /// All events of an app that the journal has; without a word, of the bridge's own.
    func journal(of app: String = "org.jostle.Bridge") throws -> [EventName] {
        let feed = try JournalFeed(in: self.stage.state)
        var names: [EventName] = []
        var row: Int64 = 0
        while true {
            let rows = try feed.events((row + 1)...(.max - 1), limit: 4_096)
            guard let last = rows.last else { return names }
            names += rows.filter { $0.isSent && $0.app == app }.map {
                EventName(app: $0.app, epoch: $0.epoch, sequence: $0.sequence)
            }
            row = last.row
        }
    }

    /// Waits until the listener has all that is in the journal and nothing more comes there.
    func waitForAll(of app: String = "org.jostle.Bridge", timeout: Duration = .seconds(60)) throws -> [EventName] {
        let deadline = ContinuousClock.now + timeout
        var names = try self.journal(of: app)
        while !self.listener.names.isSuperset(of: names) {
            guard ContinuousClock.now < deadline else { break }
            try self.listener.run(for: 100_000)
            names = try self.journal(of: app)
        }
        return names
    }

    /// Nothing lost, each topic in order, copies marked.
    func check(_ names: [EventName]) {
        let missing = names.filter { !self.listener.names.contains($0) }
        #expect(
            missing.isEmpty,
            "\(missing.count) of \(names.count) are lost, the first is \(String(describing: missing.first))")
        #expect(self.listener.problems.isEmpty, "\(self.listener.problems.prefix(5))")
    }
}
