import DBus
import Glibc
import Loop
import TestSupport
import Testing

/// All tests that need a bus, one after the other: they measure time and share two processors.
@Suite(.serialized) struct BusTests {}

/// A loop of this process with connections to a bus of its own, and tools that talk to them meanwhile.
///
/// Not `Sendable`: one test, one thread. Tools run on a thread of their own while this one runs the loop.
final class Station {
    let bus: PrivateBus
    let loop: EventLoop
    /// The connection that serves.
    let connection: Connection

    static let name = "org.example.Station"

    init(
        names: [String] = [Station.name], retry: Connection.Retry = .never, additions: String = "",
        on implementation: PrivateBus.Implementation? = nil
    ) throws {
        self.bus = try PrivateBus(additions: additions, on: implementation)
        self.loop = try EventLoop()
        self.connection = Connection(to: .address(self.bus.address), on: self.loop, names: names, retry: retry)
        try self.connection.openAndWait()
    }

    deinit {
        self.connection.close()
        self.bus.stop()
    }

    /// Another connection of ours, as a peer of the first.
    func client() throws -> Connection {
        let client = Connection(to: .address(self.bus.address), on: self.loop)
        try client.openAndWait()
        return client
    }

    /// Has so much sent to us within a moment that the bus may have dropped something, and returns when that is over, and was told.
    func flood() throws {
        var isOver = false
        self.connection.whenInDoubt { isOver = isOver || $0 }
        let other = try self.client()
        let body = [UInt8](repeating: 0, count: 2 << 20)
        // Some may count as what came long before.
        for _ in 0..<40 {
            try self.until("the bus takes more") {
                other.signal(
                    from: ObjectPath(literal: "/"), "org.example.Flood", "Drop", to: self.connection.uniqueName
                ) { body.write(to: &$0) }
            }
        }
        try self.until("it is over") { isOver }
        other.close()
    }

    /// Runs the loop until `isDone`, and fails the test when that takes too long.
    func until(
        _ what: String, timeout: Duration = .seconds(30), location: SourceLocation = #_sourceLocation,
        _ isDone: () -> Bool
    ) throws {
        let deadline = ContinuousClock.now + timeout
        while !isDone() {
            guard ContinuousClock.now < deadline else {
                Issue.record("\(what) did not come to pass within \(timeout)", sourceLocation: location)
                throw Failure("\(what) did not come to pass")
            }
            try self.loop.runOnce(timeout: 50_000)
        }
    }

    /// Runs the loop for a time.
    func run(for duration: Duration) throws {
        let deadline = ContinuousClock.now + duration
        while ContinuousClock.now < deadline { try self.loop.runOnce(timeout: 5_000) }
    }

    /// Runs a tool to its end, and the loop meanwhile.
    func run(_ arguments: [String]) throws -> Tool.Result {
        let environment = self.bus.environment
        return try self.beside { () throws(Failure) in try Tool.run(arguments, environment: environment) }
    }

    func busctl(_ arguments: String...) throws -> Tool.Result {
        try self.run(["busctl", "--address=\(self.bus.address)", "--timeout=10"] + arguments)
    }

    /// Runs a Python program with the bus's address for its first argument.
    func python(_ program: String, _ arguments: String...) throws -> Tool.Result {
        try self.run(["python3", "-c", program, self.bus.address] + arguments)
    }

    /// Returns when the bus has passed on what was sent before: it answers somebody who comes later. Nobody runs the loop meanwhile, so
    /// that what was sent has all arrived when it goes on, however long others kept the bus from its work.
    func settle() throws {
        let bus = "org.freedesktop.DBus"
        let answer = try Tool.run(["busctl", "--address=\(self.bus.address)", "call", bus, "/", bus, "GetId"])
        try #require(answer.status == 0, "\(answer.stderr)")
    }

    /// Runs `work` on a thread of its own, and the loop until it has ended.
    func beside<Result>(_ work: @escaping () throws(Failure) -> Result) throws -> Result {
        var isDone = false
        let wakeup = self.loop.wakeup { isDone = true }
        defer { self.loop.cancel(wakeup) }
        var outcome: Swift.Result<Result, Failure>?
        let job = Job {
            do throws(Failure) { outcome = .success(try work()) } catch { outcome = .failure(error) }
            wakeup.fire()
        }
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<Job>.fromOpaque(context).takeRetainedValue().work() }
                return nil
            }, Unmanaged.passRetained(job).toOpaque())
        try #require(error == 0)
        // Whatever the loop throws, the thread ends before what it uses.
        defer { pthread_join(thread, nil) }
        while !isDone { try self.loop.runOnce(timeout: nil) }
        guard let outcome else { throw Failure("the work beside the loop had no outcome") }
        return try outcome.get()
    }

    private final class Job {
        let work: () -> Void
        init(_ work: @escaping () -> Void) { self.work = work }
    }
}

extension Station {
    /// Something to call.
    final class Echo {
        /// Calls of `Later`, which nobody answers.
        var kept: [MethodCall] = []
        var object: ExportedObject?

        static let path = ObjectPath(literal: "/org/example/Echo")
        static let target = CallTarget(Station.name, path, "org.example.Echo")

        /// A new object, on the bus.
        static func export(on connection: Connection) -> Echo {
            let echo = Echo()
            connection.export(ExportedObject(self.path, [(self.table(), echo)]))
            return echo
        }

        private static func table() -> Interface<Echo> {
            Interface(
                "org.example.Echo",
                methods: [
                    Method("Echo", in: ["text"], out: ["text"]) {
                        (_: Echo, _, text: String) throws(BusError) -> String in text
                    },
                    Method(later: "Later") { (echo: Echo, call) throws(BusError) in echo.kept.append(call) },
                ])
        }
    }
}

extension CallResult {
    /// The name of the error; empty when there is none.
    consuming func errorName() -> String {
        do throws(BusError) {
            _ = try self.take()
            return ""
        } catch {
            return error.name
        }
    }
}
