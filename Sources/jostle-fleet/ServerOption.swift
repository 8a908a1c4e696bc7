import DaemonSupport
import FleetCore
import Glibc
import Loop
import MQTT
import Motion
import PolicyFiles

/// Where the server is, and as whom it is spoken to: options of all commands, each of which goes before what a file says of the same server.
enum ServerOption {
    static let config = CommandOption.value(
        "config", "FILE",
        "where all of this stands, as [Server] of a bridge's file (default: what JOSTLE_FLEET_CONFIG says, else ~/.config/jostle/fleet.conf)",
        naming: .file)
    static let server = CommandOption.value(
        "server", "HOST[:PORT]", "the server")
    static let plain = CommandOption.flag("plain", "without TLS: what is said is open to everybody on the way")
    static let authorities = CommandOption.value(
        "authorities", "FILE", "certificates of authorities that are believed (default: those of the system)",
        naming: .file)
    static let certificate = CommandOption.value("certificate", "FILE", "the operator's own certificate", naming: .file)
    static let key = CommandOption.value("key", "FILE", "the key of that certificate", naming: .file)
    static let user = CommandOption.value("user", "NAME", "the name for a server that asks for one")
    static let password = CommandOption.value("password-file", "FILE", "what holds the password", naming: .file)
    static let patience = TypedOption.time(
        "timeout", "TIME", "how long the server, or a device that is asked, may take (default: 10s)",
        expected: "a time, such as 10s")
    static let json = CommandOption.flag("json", "one JSON object a line, for machines")

    static let all: [any OptionDeclaration] = [
        config, server, plain, authorities, certificate, key, user, password, patience,
    ]

    static let exits = [ExitCode.done, .no, .usage, .noService, .refused].map {
        ExitStatus(
            $0,
            $0 == .noService
                ? "the server cannot be reached, or the device does not answer"
                : $0 == .refused ? "the device, or the server, does not allow it" : nil)
    }

    /// What the command line says of the server, and where it says nothing the file.
    static func settings(_ arguments: Arguments) throws -> ConnectionSettings {
        let file = try self.file(arguments)
        let named = try arguments.value(of: self.server).map { try self.split($0) }
        guard let host = named?.host ?? file?.host else {
            throw UsageProblem("say with --server where the server is, or in ~/.config/jostle/fleet.conf")
        }
        // What stands in a file is of the server that is named there.
        let known = named == nil || named?.host == file?.host ? file : nil
        let isPlain = arguments.has(self.plain) || known?.isSecure == false
        let port = named?.port ?? known?.port ?? (isPlain ? 1_883 : 8_883)
        // Nobody else may have this name at the same time; the server would end the other's connection.
        let name = "jostle-fleet-" + String(UInt64.random(in: 0 ... .max), radix: 36)
        var settings = ConnectionSettings(host: host, port: port, client: name)
        let files = try (
            arguments.value(of: self.authorities) ?? self.path(known?.authorities),
            arguments.value(of: self.certificate) ?? self.path(known?.certificate),
            arguments.value(of: self.key) ?? self.path(known?.key)
        )
        if isPlain {
            guard files.0 == nil, files.1 == nil, files.2 == nil else {
                throw UsageProblem("certificates have no effect beside --plain")
            }
        } else {
            guard (files.1 == nil) == (files.2 == nil) else {
                throw UsageProblem("--certificate and --key go together")
            }
            // The library says only that something is wrong.
            for path in [files.0, files.1, files.2].compactMap({ $0 }) { _ = try contents(of: path, atMost: 1 << 20) }
            settings.tls = ConnectionSettings.TLS(authorities: files.0, certificate: files.1, key: files.2)
            settings.tls?.mayAsk = true
        }
        settings.user = arguments.value(of: self.user) ?? known?.user
        if let path = try arguments.value(of: self.password) ?? self.path(known?.password) {
            guard let text = BridgeConfiguration.Server.password(in: try contents(of: path, atMost: 4_096)) else {
                throw FleetFailure(.usage, "\(path) holds no text")
            }
            settings.password = text
        }
        settings.receiveMaximum = 1_000
        return settings
    }

    /// Reads the operator's file, which says as much as a bridge's does of its server.
    private static func file(_ arguments: Arguments) throws -> BridgeConfiguration.Server? {
        let given =
            arguments.value(of: self.config)
            ?? environmentValue("JOSTLE_FLEET_CONFIG").flatMap { $0.isEmpty ? nil : $0 }
        let own = BaseDirectory.configuration.path(environmentValue).map { "\($0)/jostle/fleet.conf" }
        guard let path = given ?? own else { return nil }
        // One that nobody named need not be there, nor where we may look, as in another user's HOME. One that is there and cannot be read is
        // told of below.
        // SAFETY: the path lives for the call.
        if given == nil, unsafe access(path, F_OK) != 0 { return nil }
        let file = PolicyFile(name: path, bytes: try contents(of: path, atMost: 1 << 20))
        let (configuration, findings) = BridgeFileReader.read(file)
        for finding in findings where finding.severity != .info { complain("\(finding)") }
        guard let configuration else { throw FleetFailure(.usage, "\(path) cannot be used") }
        return configuration.server
    }

    private static func path(_ place: BridgeConfiguration.Place?) throws -> String? {
        guard let place else { return nil }
        if let path = place.path(in: environmentValue("CREDENTIALS_DIRECTORY")) { return path }
        guard case .credential(let name) = place else { return nil }
        throw FleetFailure(.usage, "there are no credentials, and the file names credential:\(name)")
    }

    /// `host`, `host:port`, `[address]:port`.
    private static func split(_ text: String) throws -> (host: String, port: UInt16?) {
        var (host, rest) = (text, "")
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            host = String(text[text.index(after: text.startIndex)..<end])
            rest = String(text[text.index(after: end)...])
        } else if let colon = text.lastIndex(of: ":"), text.firstIndex(of: ":") == colon {
            host = String(text[..<colon])
            rest = String(text[colon...])
        }
        guard !host.isEmpty, !rest.isEmpty || !text.hasPrefix("["), rest.isEmpty || rest.hasPrefix(":") else {
            throw UsageProblem("'\(printable(text))' is no HOST[:PORT]")
        }
        guard !rest.isEmpty else { return (host, nil) }
        guard let port = UInt16(rest.dropFirst()), port > 0 else {
            throw UsageProblem("'\(printable(text))' is no HOST[:PORT]")
        }
        return (host, port)
    }
}

/// All bytes of a file that a person named.
func contents(of path: String, atMost most: Int) throws(FleetFailure) -> [UInt8] {
    do throws(SystemError) {
        return try InputFile.contents(of: path, atMost: most)
    } catch {
        throw FleetFailure(.usage, error.code == EFBIG ? "\(path) is longer than \(most) bytes" : "\(path): \(error)")
    }
}
