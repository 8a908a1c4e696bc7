import Arbitration
import DBus
import DaemonSupport
import FleetCore
import Glibc
import Loop
import PolicyFiles

/// Where a bridge reads and keeps what it needs.
struct BridgePlaces {
    let config: String
    /// The broker's directory.
    let journal: String
    /// Our own.
    let state: String
    /// Who the device is when the configuration does not say.
    let device: String
    private let credentials: String?

    /// - Parameters: what the command line says.
    init(bus: BusAddress, config: String?, journal: String?, state: String?) throws(UsageProblem) {
        let isSystem = bus == .system
        let states = BaseDirectory.state.path(environmentValue)
        // Ours stands in $STATE_DIRECTORY, which says nothing of the broker's.
        let given = StateDirectory.ofManager()
        let ownConfig =
            isSystem
            ? "/etc/jostle/bridge.conf"
            : BaseDirectory.configuration.path(environmentValue).map { "\($0)/jostle/bridge.conf" }
        let ownState = given ?? (isSystem ? "/var/lib/jostle-bridge" : states.map { "\($0)/jostle-bridge" })
        let brokers = isSystem ? StateDirectory.ofSystem : states.map { "\($0)/jostle" }
        guard let config = config ?? ownConfig, let journal = journal ?? brokers, let state = state ?? ownState else {
            throw UsageProblem("there is no HOME: say --config, --journal and --state-dir")
        }
        (self.config, self.journal, self.state) = (config, journal, state)
        self.credentials = environmentValue("CREDENTIALS_DIRECTORY").flatMap { $0.hasPrefix("/") ? $0 : nil }
        self.device = Self.deviceName(ofUser: !isSystem)
    }

    /// The host's name, and the user's behind it where the broker is a user's.
    private static func deviceName(ofUser: Bool) -> String {
        var name = [CChar](repeating: 0, count: 256)
        // SAFETY: one byte less than there is, so that it ends.
        _ = unsafe gethostname(&name, name.count - 1)
        var text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if ofUser {
            // SAFETY: what it returns is copied before it is asked again.
            let user = unsafe getpwuid(getuid()).map { unsafe String(cString: $0.pointee.pw_name) } ?? "\(getuid())"
            text += ".\(user)"
        }
        let plain = String(text.map { FleetTopics.isName(String($0)) ? $0 : "-" }.prefix(FleetTopics.longestName))
        return plain.isEmpty ? "device" : plain
    }

    // MARK: Files

    /// Whether there is a journal, readable or not.
    var hasJournal: Bool {
        // SAFETY: the path lives for the call.
        unsafe access("\(self.journal)/journal.db", F_OK) == 0
    }

    /// Reads the configuration, and says all that is wrong with it.
    func readConfiguration(log: Log) -> BridgeConfiguration? {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try InputFile.contents(of: self.config, atMost: 1 << 20)
        } catch {
            log.error("\(self.config): \(SystemError.message(for: error.code))")
            // Of a file that is wrong nobody starts us again, and this one may not be.
            if error.isShortage { ExitCode.no.exit() }
            return nil
        }
        let (configuration, findings) = BridgeFileReader.read(PolicyFile(name: self.config, bytes: bytes))
        for finding in findings {
            if finding.severity == .error { log.error("\(finding)") } else { log.warning("\(finding)") }
        }
        return configuration
    }

    /// What the configuration names cannot be used.
    struct Missing: Swift.Error, CustomStringConvertible {
        let description: String
    }

    /// Where a file of the configuration is; `nil`: it is a credential, and there are none.
    func path(of place: BridgeConfiguration.Place) -> String? {
        place.path(in: self.credentials)
    }

    /// Where a file of the configuration is, without which there is no connection.
    func found(_ place: BridgeConfiguration.Place) throws(Missing) -> String {
        guard let path = self.path(of: place) else {
            throw Missing(description: "there are no credentials: nothing like LoadCredential= says them")
        }
        return path
    }

    /// Reads a password.
    func secret(in place: BridgeConfiguration.Place) throws(Missing) -> String {
        let path = try self.found(place)
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try InputFile.contents(of: path, atMost: 4_096)
        } catch {
            throw Missing(description: "the password cannot be read: \(path): \(error)")
        }
        guard let text = BridgeConfiguration.Server.password(in: bytes) else {
            throw Missing(description: "the password cannot be read: \(path) holds no text")
        }
        return text
    }
}
