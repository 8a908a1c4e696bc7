import Arbitration
import FleetCore
import Motion

/// The sections and keys of `bridge.conf`.
enum BridgeFile {
    typealias Keys = [Key<BridgeConfiguration>]

    /// Bytes of the file (`bridge-file-bytes`).
    static let most = 256 * 1_024
    static let mostGroups = 16

    /// In the order of the documentation.
    static let sections: [(name: String, help: String, keys: Keys)] = [
        ("Server", "Which server, and as whom.", server),
        ("Bridge", "Who the device is, and how messages are sent.", bridge),
        ("Publish", "What is told, besides the events of the bridge's own detectors.", publish),
        ("Allow", "What may be asked and changed from outside. Without a word nothing may.", allow),
    ]

    private static let server: Keys = [
        Key("Host", .text, "", "The name of the server, which its certificate must have, or its address. It is needed.")
        {
            (file, words) throws(ValueProblem) in
            file.server.host = try Values.host(words)
        },
        Key("Port", .number, "8883", "Its port; 1883 without TLS.") { (file, words) throws(ValueProblem) in
            file.server.port = UInt16(try Values.number(words, 1...65_535))
        },
        Key("TLS", .flag, "yes", "Whether what is said is secret, and the server proves who it is.") {
            (file, words) throws(ValueProblem) in
            file.server.isSecure = try Values.flag(words)
        },
        Key("Authorities", .file, "those of the system", "Certificates of authorities that are believed.") {
            (file, words) throws(ValueProblem) in
            file.server.authorities = try Values.place(words)
        },
        Key("Certificate", .file, "", "The device's own certificate.") { (file, words) throws(ValueProblem) in
            file.server.certificate = try Values.place(words)
        },
        Key("Key", .file, "", "The key of that certificate.") { (file, words) throws(ValueProblem) in
            file.server.key = try Values.place(words)
        },
        Key("User", .text, "", "The name for a server that asks for one.") { (file, words) throws(ValueProblem) in
            file.server.user = try Values.text(words, atMost: 256)
        },
        Key("Password", .file, "", "What holds the password; it stands in no configuration.") {
            (file, words) throws(ValueProblem) in
            file.server.password = try Values.place(words)
        },
        Key("KeepAlive", .time, "60s", "After how long without a word the server is asked whether it is there.") {
            (file, words) throws(ValueProblem) in
            file.server.keepAlive = try Values.span(words, .seconds(5) ... .seconds(3_600))
        },
        Key("Session", .time, "24h", "How long the server remembers the bridge when it is gone.") {
            (file, words) throws(ValueProblem) in
            file.server.session = try Values.span(words, .seconds(0)...Limits.longestSpan)
        },
    ]

    private static let bridge: Keys = [
        Key(
            "Device", .name, "the host's name",
            "What the device is called; a user's bridge adds `.USER` to the host's name."
        ) {
            (file, words) throws(ValueProblem) in
            file.device = try Values.name(words)
        },
        Key("Groups", .names, "", "Groups of devices that it is in.") { (file, words) throws(ValueProblem) in
            guard words.count <= BridgeFile.mostGroups else {
                throw ValueProblem(
                    place: words[BridgeFile.mostGroups].place, message: "more than \(BridgeFile.mostGroups) groups",
                    advice: "remove some")
            }
            file.groups = try Values.plainNames(words)
        },
        Key("Format", .word, "json", "How messages are written: json or cbor.") { (file, words) throws(ValueProblem) in
            file.format = try Values.choice(words, "format")
        },
        Key("Window", .number, "100", "So many messages are on their way at most; the server may say less.") {
            (file, words) throws(ValueProblem) in
            file.window = try Values.number(words, 2...10_000)
        },
        Key("Expiry", .time, "60s", "How late an event may come that something reacts to.") {
            (file, words) throws(ValueProblem) in
            file.expiry = try Values.span(words, .seconds(1) ... .seconds(86_400))
        },
        Key("Resend", .time, "10min", "How much is sent again to a server that remembers nothing of us.") {
            (file, words) throws(ValueProblem) in
            file.resend = try Values.span(words, .seconds(0)...Limits.longestSpan)
        },
        Key("Acknowledge", .name, "", "A consumer that says what it has stored: the cursor moves with its word alone.")
        {
            (file, words) throws(ValueProblem) in
            file.acknowledge = try Values.name(words)
        },
    ]

    private static let publish: Keys = [
        Key("Events", .names, "", "Apps whose events are told, with stars or not.") {
            (file, words) throws(ValueProblem) in
            file.publish.events = try Values.apps(words)
        },
        Key("Verdicts", .names, "", "Apps whose verdicts are told.") { (file, words) throws(ValueProblem) in
            file.publish.verdicts = try Values.apps(words)
        },
        Key("VerdictsOneIn", .number, "1", "Of so many verdicts one is told.") { (file, words) throws(ValueProblem) in
            file.publish.verdictsOneIn = try Values.number(words, 1...1_000_000)
        },
        Key("Apps", .names, "", "Apps whose states are told.") { (file, words) throws(ValueProblem) in
            file.publish.apps = try Values.apps(words)
        },
        Key("Sensors", .flag, "no", "Whether the states of sensors are told.") { (file, words) throws(ValueProblem) in
            file.publish.sensors = try Values.flag(words)
        },
        Key("Counters", .time, "never", "How often what is counted is told. It wakes the device.") {
            (file, words) throws(ValueProblem) in
            file.publish.counters = try Values.span(words, .seconds(10) ... .seconds(86_400))
        },
        Key(
            "HomeAssistant", .name, "",
            "The prefix of Home Assistant's discovery, if it is to find the device: `homeassistant`."
        ) { (file, words) throws(ValueProblem) in
            file.publish.home = try Values.name(words)
        },
    ]

    private static let allow: Keys = [
        Key("Requests", .words, "", "What may be asked: status, explain, why-not, what-if.") {
            (file, words) throws(ValueProblem) in
            file.allow.requests = try Values.choices(words, "request")
        },
        Key("Desired", .words, "", "What may be changed: policy, apps, detectors, pause.") {
            (file, words) throws(ValueProblem) in
            file.allow.changes = try Values.choices(words, "kind of change")
        },
        Key("SignedBy", .file, "", "The public key (ed25519) by which what is wanted must be signed.") {
            (file, words) throws(ValueProblem) in
            file.allow.signedBy = try Values.place(words)
        },
        Key("ConfirmWithin", .time, "5min", "When what was applied goes back, if the server was not there meanwhile.") {
            (file, words) throws(ValueProblem) in
            file.allow.confirmWithin = try Values.span(words, .seconds(2) ... .seconds(86_400))
        },
    ]

    static let examples = [
        "Host": "mqtt.example.org", "Port": "8883", "TLS": "no", "Authorities": "/etc/jostle/authority.crt",
        "Certificate": "/etc/jostle/device.crt", "Key": "credential:key", "User": "kiosk-17",
        "Password": "credential:password", "KeepAlive": "5min", "Session": "1h", "Device": "kiosk-17",
        "Groups": "north kiosks",
        "Format": "cbor", "Window": "20", "Expiry": "10s", "Resend": "1h", "Acknowledge": "archive",
        "Events": "org.example.*", "Verdicts": "* !org.example.Game", "VerdictsOneIn": "10", "Apps": "*",
        "Sensors": "yes",
        "Counters": "1min", "HomeAssistant": "homeassistant", "Requests": "status explain", "Desired": "policy pause",
        "SignedBy": "/etc/jostle/fleet.pub",
        "ConfirmWithin": "10min",
    ]
}

/// The tables of the keys of `bridge.conf`, as the documentation has them.
package func bridgeKeyTables() -> String {
    BridgeFile.sections.map { section in
        let rows = section.keys.map { key in
            let standard = key.standard.isEmpty ? "" : "`\(key.standard)`"
            return
                "| `\(key.name)` | \(key.type.rawValue) | \(standard) | `\(BridgeFile.examples[key.name] ?? "")` | \(key.help) |\n"
        }
        return
            "`[\(section.name)]`: \(section.help)\n\n| key | value | without it | example | meaning |\n|---|---|---|---|---|\n"
            + rows.joined()
    }.joined(separator: "\n")
}
