import FleetCore
import Loop
import MQTT
import Motion

/// How the configuration says to reach the server, with the secrets that stand elsewhere.
enum ServerSettings {
    /// The largest packet that a server may send: four times what may be wanted at once.
    private static let largestPacket: UInt32 = 1 << 20
    /// How much a server may have the bridge hold, in bytes: it rests with a hundredth of that.
    private static let mostMemory = 64 << 20
    /// How much memory there is for the program, in bytes. A packet may say that it has 256 MB, and all of it may come before anybody can
    /// look at what is held: the library gets no memory for it then, and gives up.
    static let memory = 3 * mostMemory

    static func make(
        _ configuration: BridgeConfiguration, _ places: BridgePlaces, _ topics: FleetTopics
    ) throws -> ConnectionSettings {
        let server = configuration.server
        var settings = ConnectionSettings(
            host: server.host, port: server.effectivePort, client: "jostle-\(topics.device)")
        settings.user = server.user
        if let place = server.password { settings.password = try places.secret(in: place) }
        if server.isSecure {
            settings.tls = ConnectionSettings.TLS(
                authorities: try self.path(server.authorities, places),
                certificate: try self.path(server.certificate, places),
                key: try self.path(server.key, places))
        }
        settings.keepAlive = UInt16(clamping: server.keepAlive.microseconds / 1_000_000)
        settings.sessionExpiry = UInt32(clamping: server.session.microseconds / 1_000_000)
        settings.largestPacket = self.largestPacket
        settings.mostMemory = self.mostMemory
        var properties = MessageProperties()
        properties.contentType = configuration.format.contentType
        settings.will = Publication(
            topics.presence, configuration.format.bytes(PresenceMessage(isOnline: false).value), isRetained: true,
            properties)
        return settings
    }

    private static func path(_ place: BridgeConfiguration.Place?, _ places: BridgePlaces) throws -> String? {
        guard let place else { return nil }
        let path = try places.found(place)
        // The library says only that something is wrong.
        do throws(SystemError) {
            _ = try InputFile(path)
        } catch {
            throw BridgePlaces.Missing(description: "\(path): \(SystemError.message(for: error.code))")
        }
        return path
    }
}

/// What a device is.
enum BirthMessage {
    static func make(_ configuration: BridgeConfiguration, _ topics: FleetTopics, stream: String) -> Outgoing {
        let detectors = configuration.detectors.map { detector in
            DataValue.fields([
                "name": .text(detector.name), "preset": Self.text(detector.options["preset"]),
                "when": Self.text(detector.options["when"]),
            ])
        }
        func list(_ words: [String]) -> DataValue? { words.isEmpty ? nil : .list(words.map { .text($0) }) }
        let value = DataValue.fields([
            "device": .text(topics.device), "version": .text(Version.text), "stream": .text(stream),
            "format": .text(configuration.format.rawValue), "detectors": detectors.isEmpty ? nil : .list(detectors),
            "groups": list(configuration.groups), "requests": list(configuration.allow.requests.map(\.rawValue)),
            "desired": list(configuration.allow.changes.map(\.rawValue)),
        ])
        return Outgoing(topics.birth, value, isRetained: true)
    }

    private static func text(_ option: OptionValue?) -> DataValue? {
        if case .text(let text) = option { .text(text) } else { nil }
    }
}
