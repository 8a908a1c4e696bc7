import Arbitration
import FleetCore
import Glibc
import Motion
import Testing

@testable import PolicyFiles

@Suite struct BridgeFileTests {
    private func read(_ text: String) -> (configuration: BridgeConfiguration?, found: [String]) {
        let (configuration, findings) = BridgeFileReader.read(PolicyFile(name: "bridge.conf", text))
        return (configuration, findings.map { "\($0.check.rawValue) \($0.place.line):\($0.place.column)" })
    }

    @Test func aServerIsEnoughAndTellsNothing() throws {
        let (configuration, found) = self.read("[Server]\nHost=mqtt.example.org\n")
        #expect(found == [])
        var wanted = BridgeConfiguration()
        wanted.server.host = "mqtt.example.org"
        #expect(configuration == wanted)
        let publish = try #require(configuration).publish
        #expect(publish.events == nil && publish.verdicts == nil && publish.apps == nil && !publish.sensors)
        #expect(wanted.allow.requests.isEmpty && wanted.allow.changes.isEmpty)
        #expect(wanted.server.effectivePort == 8883)
    }

    @Test func aWholeFile() throws {
        let (configuration, found) = self.read(
            """
            [Server]
            Host=10.0.0.1
            Port=18883
            Certificate=/etc/jostle/device.crt
            Key=credential:key
            [Bridge]
            Device=kiosk-17
            Groups=north
            Groups=kiosks
            Format=cbor
            Acknowledge=archive
            [Detector knock]
            preset=shake
            [Publish]
            Events=org.example.* !org.example.Game
            Verdicts=*
            VerdictsOneIn=10
            [Allow]
            Requests=explain status
            Desired=policy
            SignedBy=/etc/jostle/fleet.pub
            """)
        #expect(found == [])
        let read = try #require(configuration)
        #expect(read.server.key == .credential("key") && read.server.certificate == .path("/etc/jostle/device.crt"))
        #expect(read.device == "kiosk-17" && read.groups == ["north", "kiosks"] && read.format == .cbor)
        #expect(read.acknowledge == "archive")
        #expect(read.detectors == [DetectorRequest(name: "knock", options: ["preset": .text("shake")])])
        #expect(read.publish.events?.matches("org.example.App") == true)
        #expect(read.publish.events?.matches("org.example.Game") == false)
        #expect(read.allow.requests == [.explain, .status] && read.allow.changes == [.policy])
    }

    @Test(arguments: [
        ("", "E007 1:1"), ("[Server]\n", "E007 1:1"), ("[Servr]\n", "E001 1:2"), ("[Server]\nHost=a b\n", "E003 2:6"),
        ("[Server]\nHost=a\nHost=b\n", "E002 3:1"), ("[Server]\nHost=a\n[Server]\n", "E002 3:1"),
        ("[Server]\nHost=a\nPort=70000\n", "E003 3:6"), ("[Server]\nHost=a\nKey=key.pem\n", "E003 3:5"),
        ("[Server]\nHost=a\nKey=credential:a/b\n", "E003 3:16"), ("[Server]\nHost=a\nKey=/k\n", "E007 1:1"),
        ("[Server]\nHost=a\n[Allow]\nRequests=explain everything\n", "E001 4:18"),
        ("[Server]\nHost=a\n[Publish]\nEvent=*\n", "E001 4:1"),
        ("[Server]\nHost=a\n[Bridge]\nFormat=xml\n", "E001 4:8"),
        ("[Server]\nHost=a\n[Detector x]\npreset=shak\n", "E003 4:8"), ("[Server]\nHost=a\n[Detector]\n", "E008 3:2"),
        ("[Server]\nHost=a\nTLS=no\nAuthorities=/a\n", "E033 1:1"), ("Host=a\n", "E008 1:1"),
    ])
    func whatIsWrongHasItsPlace(_ text: String, _ place: String) {
        let (configuration, found) = self.read(text)
        #expect(configuration == nil)
        #expect(found.contains(place), "\(found)")
    }

    /// What stands in the place of a file may be what was to be in it, and others read the log.
    @Test(arguments: ["Password=hunter 2", "Password=credential:hunter 2", "Key=hunter 2"])
    func whatMayBeASecretIsNotRepeated(_ line: String) {
        let (configuration, findings) = BridgeFileReader.read(
            PolicyFile(name: "bridge.conf", "[Server]\nHost=a\n\(line)\n"))
        #expect(configuration == nil)
        #expect(findings.count == 1 && !findings.contains { "\($0)".contains("hunter") }, "\(findings)")
    }

    @Test func aPasswordEndsWithItsLine() {
        let files: [([UInt8], String?)] = [
            (Array("hunter 2\r\n\n".utf8), "hunter 2"), (Array("a\nb".utf8), "a\nb"), ([0x0A], ""), ([], ""),
            ([0x61, 0, 0x62], nil), ([0xFF], nil),
        ]
        for (bytes, password) in files {
            #expect(BridgeConfiguration.Server.password(in: bytes) == password, "\(bytes)")
        }
    }

    @Test func whatIsProbablyNotMeantIsSaid() {
        #expect(self.read("[Server]\nHost=a\nTLS=no\nPassword=credential:p\n").found == ["W052 1:1"])
        #expect(self.read("[Server]\nHost=a\n[Allow]\nDesired=pause\n").found == ["W053 1:1"])
    }

    /// Each key is read as its example shows, and the page has it.
    @Test func everyKeyIsExplained() throws {
        for (section, _, keys) in BridgeFile.sections {
            for key in keys {
                let example = try #require(BridgeFile.examples[key.name], "\(key.name)")
                let rest = section == "Server" && key.name != "Host" ? "" : "[Server]\nHost=a\n"
                let partner = ["Certificate": "Key=/k\n", "Key": "Certificate=/c\n"][key.name] ?? ""
                let own =
                    section == "Server" ? (key.name == "Host" ? "" : "[Server]\nHost=a\n") : rest + "[\(section)]\n"
                let text =
                    key.name == "Host" ? "[Server]\nHost=\(example)\n" : own + "\(key.name)=\(example)\n" + partner
                let (configuration, found) = self.read(text)
                #expect(configuration != nil, "\(key.name): \(found)")
            }
        }
    }

    @Test func thePageHasTheKeys() throws {
        let source = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let file = try #require(fopen("/\(source)/docs/fleet.md", "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 18)
        let count = fread(&bytes, 1, bytes.count, file)
        let page = String(decoding: bytes.prefix(count), as: UTF8.self)
        #expect(page.contains(bridgeKeyTables()), "put into docs/fleet.md:\n\(bridgeKeyTables())")
    }
}
