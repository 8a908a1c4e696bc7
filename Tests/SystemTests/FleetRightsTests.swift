import FleetCore
import Glibc
import Loop
import MQTT
import TestSupport
import Testing

extension Surroundings {
    /// Who may hear and say what, with the list of rights and the certificates that docs/fleet.md has.
    @Suite(.serialized) struct FleetRights {
        @Test func whoHasNoRightsLearnsNothingButPresence() throws {
            let stage = try Stage()
            let acl = "\(stage.home)/jostle.acl"
            try FleetScene.write(try FleetDocument.block(behind: "`/etc/mosquitto/jostle.acl`"), to: acl)
            // That nobody takes the name of another, its configuration sees to.
            let names = try FleetDocument.commands(behind: "`/etc/mosquitto/conf.d/jostle.conf`").filter {
                $0.hasPrefix("use_username")
            }
            let server = try MQTTServer(isSecure: true, lines: ["acl_file \(acl)", "max_queued_messages 0"] + names)
            for name in ["kiosk-17", "kiosk-18", "visitor", "guest", "operator"] { try server.certify(name) }
            let everybody = try FleetListener(server, as: "visitor", to: "#")
            try everybody.connect()
            let own = try FleetListener(server, as: "operator", on: everybody.loop)
            try own.connect()
            let other = try FleetListener(server, as: "kiosk-18", on: everybody.loop)
            try other.connect()
            let file = "\(stage.home)/bridge.conf"
            try FleetScene.write(
                """
                \(FleetScene.section(of: server, as: "kiosk-17"))
                [Bridge]
                Device=kiosk-17
                Groups=kiosks
                [Detector knock]
                preset=shake
                [Publish]
                Events=*
                [Allow]
                Desired=pause
                Requests=status
                ConfirmWithin=4s

                """, to: file)
            let program = try BackgroundProgram(
                "jostle-bridge",
                ["--bus", stage.address, "--config", file, "--journal", stage.state, "--state-dir", "\(stage.home)/b"])
            _ = try program.waitForLine(on: .errors) { $0.hasSuffix("connected to localhost") }
            let topics = FleetTopics(device: "kiosk-17")
            try everybody.wait("presence") { everybody.last(topics.presence)?["online"]?.bool == true }
            try own.wait("a birth") { own.last(topics.birth) != nil }
            let thieves = try ["kiosk-17", "jostle-kiosk-17"].map { try self.guest($0, of: server, everybody) }
            // Neither a stranger nor another device has a say.
            for stranger in [everybody, other] {
                try stranger.trespass(#"{"version":1,"pause":true}"#, on: topics.desired)
                try stranger.trespass(#"{"version":1,"pause":true}"#, on: FleetTopics.desired(ofGroup: "kiosks"))
                try stranger.trespass(#"{"online":false}"#, on: topics.presence)
            }
            // Who is no device cannot say to be one.
            let birth = FleetTopics(device: "visitor").birth
            try everybody.trespass(#"{"groups":["kiosks"],"desired":[]}"#, on: birth)
            // Nor does a device say what is wanted of itself.
            let wish = FleetTopics(device: "kiosk-18").desired
            try other.trespass(#"{"version":1,"pause":true}"#, on: wish)
            #expect(try stage.jostle("shake", "--for", "500ms").status == 0)
            try own.wait("an event") { own.names.count == 1 }
            try own.want(#"{"version":2,"pause":true}"#, of: FleetTopics.desired(ofGroup: "kiosks"))
            try own.wait("a report") {
                own.last(topics.reported).flatMap { DesiredReport($0) }?.outcome == .trial
            }
            #expect(own.last(topics.reported)?["version"]?.integer == 2)
            #expect(own.last(wish) == nil && own.last(birth) == nil)
            // The device was there all the time.
            withExtendedLifetime(thieves) {}
            let presences = own.others.filter { $0.topic == topics.presence }
            #expect(presences.allSatisfy { !String(decoding: $0.payload, as: UTF8.self).contains("false") })
            #expect(own.last(topics.presence)?["online"]?.bool == true)
            #expect(Set(everybody.others.map(\.topic)) == [topics.presence] && everybody.names.isEmpty)
            #expect(other.others.isEmpty && other.names.isEmpty, "\(other.others.map(\.topic))")
        }

        /// Somebody with a certificate of his own who says to be another client.
        private func guest(_ name: String, of server: MQTTServer, _ listener: FleetListener) throws -> Client {
            var settings = ConnectionSettings(host: "localhost", port: server.port, client: name)
            settings.tls = ConnectionSettings.TLS(
                authorities: server.authority, certificate: server.certificate(of: "guest"),
                key: server.key(of: "guest"))
            let client = try Client(settings, on: listener.loop)
            var isTaken = false
            client.onEvent = { if case .connected = $0 { isTaken = true } }
            try client.connect(to: "127.0.0.1")
            try listener.wait("the guest is taken") { isTaken }
            return client
        }
    }
}
