import Glibc

/// A message bus of a test's own: a real one, in a directory that goes when the bus goes.
///
/// Which program it is says `JOSTLE_TEST_BUS`: `dbus-daemon`, the default, or `dbus-broker`. Hold it for as long as it
/// is needed, or use `with`: the bus ends with the object. Not `Sendable`: one test, one thread.
package final class PrivateBus {
    /// What rules the bus has.
    package enum Kind: Equatable, Sendable {
        /// Everything is allowed, as between the programs of one user.
        case session
        /// What a system bus allows, and what these policy files add to it, absolute or in the directory. Always `dbus-daemon`: the policy language is
        /// its own, and beside it only the launcher of dbus-broker reads it, which does not run without systemd.
        case system(policies: [String])
    }

    /// The program that is the bus.
    package enum Implementation: String, CaseIterable, Sendable {
        case dbusDaemon = "dbus-daemon"
        case dbusBroker = "dbus-broker"

        /// What the environment asks for.
        package static func chosen() throws(Failure) -> Implementation {
            guard let name = Programs.variable("JOSTLE_TEST_BUS"), !name.isEmpty else { return .dbusDaemon }
            guard let choice = Implementation(rawValue: name) else {
                throw Failure("JOSTLE_TEST_BUS is '\(name)': it must be dbus-daemon or dbus-broker")
            }
            return choice
        }
    }

    /// A name that the bus can activate, and the command that does it.
    package struct Service: Equatable, Sendable {
        package var name: String
        package var command: String

        package init(name: String, command: String) {
            self.name = name
            self.command = command
        }
    }

    package let kind: Kind
    package let implementation: Implementation
    /// What clients connect to: `unix:path=…`, with the bus's id where the bus tells it.
    package let address: String
    /// A fresh directory; tests may put their own files there. Removed with the bus, also after a crash.
    package let directory: String
    private let process: TetheredProcess

    /// Starts a bus and returns when clients can connect.
    ///
    /// - Parameters:
    ///   - additions: Elements for dbus-daemon's configuration, such as `<limit>`; they come last and so win.
    ///   - files: Files to be in the directory before the bus starts, by name; a policy may be one of them.
    ///   - bytes: What dbus-broker keeps for all connections of one user together.
    package init(
        _ kind: Kind = .session, services: [Service] = [], additions: String = "", files: [String: String] = [:],
        on wanted: Implementation? = nil, bytes: Int = 1_000_000_000
    ) throws(Failure) {
        var implementation: Implementation = if let wanted { wanted } else { try .chosen() }
        if kind != .session, wanted == nil { implementation = .dbusDaemon }
        guard implementation == .dbusDaemon || (kind == .session && additions.isEmpty) else {
            throw Failure("dbus-broker has no configuration file here: ask for a session bus without additions")
        }
        let directory = try makeDirectory(open: kind != .session)
        let command: [String]
        do {
            try makeServices(services, in: directory)
            for (name, text) in files { try write(text, to: "\(directory)/\(name)") }
            switch implementation {
            case .dbusDaemon:
                let file = "\(directory)/bus.conf"
                try write(configuration(kind, directory: directory, additions: additions), to: file)
                command = ["dbus-daemon", "--config-file=\(file)", "--nofork", "--nopidfile", "--print-address=1"]
            case .dbusBroker:
                command = [
                    Programs.path(of: "test-dbus-broker"), "\(directory)/bus", "\(directory)/services", "\(bytes)",
                ]
            }
        } catch {
            // A tether without a program does nothing but remove.
            try? TetheredProcess([], removing: directory).release()
            throw error
        }
        // Inherited, this would be read as the bus that activated us, by whatever this bus activates.
        let process = try TetheredProcess(
            // Into a file: a bus that logs each refusal would stand still before a pipe that nobody reads.
            ["sh", "-c", "exec \"$@\" 2>\"$0\"", "\(directory)/errors"] + command,
            environment: [
                "DBUS_STARTER_ADDRESS": "", "DBUS_STARTER_BUS_TYPE": "", "XDG_STATE_HOME": "\(directory)/activated",
                "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(directory)/none",
            ], removing: directory)
        var read = 0
        var line: String?
        _ = try process.wait(.seconds(30)) {
            if line == nil { line = process.output.nextLine(from: &read) }
            return line != nil
        }
        guard let line else {
            let errors = try Tool.run(["cat", "\(directory)/errors"]).stdout
            throw Failure("\(implementation.rawValue) is not ready: \(errors)\(process.errors.text)")
        }
        (self.kind, self.implementation, self.address) = (kind, implementation, line)
        (self.directory, self.process) = (directory, process)
    }

    /// Runs `body` with a bus that is there until its end.
    @discardableResult
    package static func with<Result>(
        _ kind: Kind = .session, services: [Service] = [], additions: String = "", files: [String: String] = [:],
        on implementation: Implementation? = nil,
        _ body: (PrivateBus) throws -> Result
    ) throws -> Result {
        let bus = try PrivateBus(kind, services: services, additions: additions, files: files, on: implementation)
        defer { bus.stop() }
        return try body(bus)
    }

    /// The pid of the bus; of its launcher for dbus-broker.
    package var pid: Int32 { self.process.pid }

    /// What the bus has written to its standard error.
    package var errors: String { (try? Tool.run(["cat", "\(self.directory)/errors"]).stdout) ?? "" }

    /// The variable that makes a program take this bus for its session bus, or its system bus.
    package var environment: [String: String] {
        switch self.kind {
        case .session: ["DBUS_SESSION_BUS_ADDRESS": self.address]
        case .system: ["DBUS_SYSTEM_BUS_ADDRESS": self.address]
        }
    }

    /// Ends the bus and all it activated, and removes the directory.
    package func stop() { self.process.release() }
}

/// Makes the directory of a bus; others must be able to reach the socket of a system bus.
private func makeDirectory(open: Bool) throws(Failure) -> String {
    // Short, and not TMPDIR: a socket's path has 108 bytes.
    var template = Array("/tmp/jostle-bus-XXXXXX\0".utf8CString.dropLast())
    // SAFETY: the array is the terminated template that mkdtemp writes into.
    guard unsafe mkdtemp(&template) != nil else { throw .system("mkdtemp") }
    let path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // SAFETY: a string becomes a terminated one for the length of the call; so below.
    if open, unsafe chmod(path, 0o755) != 0 { throw .system("chmod \(path)") }
    return path
}

private func makeServices(_ services: [PrivateBus.Service], in directory: String) throws(Failure) {
    guard unsafe mkdir("\(directory)/services", 0o755) == 0 else { throw .system("mkdir \(directory)/services") }
    for service in services {
        let text = "[D-BUS Service]\nName=\(service.name)\nExec=\(service.command)\n"
        try write(text, to: "\(directory)/services/\(service.name).service")
    }
}

/// Writes a file that must not be there yet.
private func write(_ text: String, to path: String) throws(Failure) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw .system("open \(path)") }
    defer { _ = close(descriptor) }
    let bytes = Array(text.utf8)
    // SAFETY: the array lives until the call returns, and has as many bytes as it says.
    let count = unsafe Glibc.write(descriptor, bytes, bytes.count)
    guard count == bytes.count else { throw .system("write \(path)") }
}
