import Foundation
import Glibc
import TestSupport
import Testing

extension Senses {
    /// jostle-sensord with a true gpsd, whose receiver is a log that gpsfake plays.
    @Suite(.serialized) struct Gpsd {
        private static let location = "/org/jostle/Sensors1/location"

        private static func sentence(_ body: String) -> String {
            let sum = body.utf8.reduce(UInt8(0)) { $0 ^ $1 }
            let digits = String(sum, radix: 16, uppercase: true)
            return "$\(body)*\(digits.count < 2 ? "0" : "")\(digits)\r\n"
        }

        /// Ten minutes due north at 20 m/s, a fix a second.
        private static let log = (0..<600).map { second in
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let time = "06\(two(second / 60))\(two(second % 60)).00"
            let minutes = Double(second) * 20 / 1_852
            let latitude = "46\(minutes < 10 ? "0" : "")\(String(format: "%.5f", minutes)),N"
            return sentence("GPGGA,\(time),\(latitude),01400.00000,E,1,08,0.9,300.0,M,46.9,M,,")
                + sentence("GPGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.3,2.1")
                + sentence("GPRMC,\(time),A,\(latitude),01400.00000,E,38.88,000.0,221126,,,A")
        }.joined()

        /// A port that nobody has: the kernel gave it out, and does not again so soon.
        private static func freePort() throws -> Int {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
                }
            }
            try #require(isBound)
            return Int(UInt16(bigEndian: address.sin_port))
        }

        /// Plays the log on a pseudo-terminal to a gpsd on the port.
        private func startGpsd(_ port: Int, _ directory: String) throws -> BackgroundProgram {
            let file = "\(directory)/way.nmea"
            try Self.log.write(toFile: file, atomically: true, encoding: .utf8)
            return try BackgroundProgram(
                tool: ["gpsfake", "-P", "\(port)", "-c", "0.02", file], environment: ["TMPDIR": directory])
        }

        @Test func gpsdIsHeardWhileSomebodyWantsIt() throws {
            let port = try Self.freePort()
            let stage = try Stage(source: "gpsd:127.0.0.1:\(port)")
            // Nobody wants it, so nobody has asked gpsd, which is not even there.
            #expect(try stage.property("State", at: Self.location) == "s \"idle\"")
            #expect(try stage.property("Unit", at: Self.location) == "s \"deg,deg,m/s,deg,m\"")
            let app = try stage.start(
                "watch", "location.distance,name=far,distance=100m", "--app", "org.example.Tracker", "--json")
            _ = try app.waitForLine { $0.contains("\"watching\":\"far\"") }
            try stage.until("the reader notices that there is no gpsd") {
                try stage.property("State", at: Self.location) == "s \"broken\""
            }
            #expect(try stage.property("StateDetail", at: Self.location).contains("Connection refused"))

            // It comes: the reader finds it by itself.
            let gpsd = try self.startGpsd(port, stage.bus.directory)
            let event = try app.waitForLine { (number("distance_m", of: $0) ?? 0) > 0 }
            let distance = try #require(number("distance_m", of: event))
            #expect(distance >= 100 && distance < 400, "\(event)")
            #expect(event.contains("\"simulated\":false"))
            #expect(try stage.property("State", at: Self.location) == "s \"running\"")
            #expect(try stage.property("Driver", at: Self.location) == "s \"gpsd\"")
            #expect(try stage.property("Method", at: Self.location) == "s \"told\"")
            let sensors = try stage.jostle("sensors", "--json").stdout
            #expect(sensors.contains("\"values\":[46."), "\(sensors)")

            // It goes in the middle of things: the claim stays.
            try gpsd.signal(SIGTERM)
            _ = try gpsd.waitForEnd()
            try stage.until("the reader notices that gpsd is gone") {
                try stage.property("State", at: Self.location) == "s \"broken\""
            }
            let again = try self.startGpsd(port, stage.bus.directory)
            _ = try app.waitForLine { $0.contains("\"detector\":\"far\"") }
            try stage.until("the sensor runs again") {
                try stage.property("State", at: Self.location) == "s \"running\""
            }

            // Nobody wants it any more.
            #expect(try app.terminate() == .exited(0))
            try stage.until("the connection is closed") {
                try stage.property("State", at: Self.location) == "s \"idle\""
            }
            #expect(try Self.connections(to: port, of: #require(stage.reader).pid).isEmpty)
            try again.signal(SIGTERM)
            _ = try again.waitForEnd()
        }

        /// The sockets of a process that are connected to a port.
        private static func connections(to port: Int, of pid: pid_t) throws -> [String] {
            let hex = String(port, radix: 16, uppercase: true)
            let wanted = ":" + String(repeating: "0", count: 4 - hex.count) + hex
            let table = try String(contentsOfFile: "/proc/\(pid)/net/tcp", encoding: .utf8)
            let inodes = table.split(separator: "\n").dropFirst().compactMap { line -> Substring? in
                let cells = line.split(separator: " ")
                return cells.count > 9 && cells[2].hasSuffix(wanted) ? cells[9] : nil
            }
            let held = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)")
            }
            return held.filter { link in inodes.contains { link == "socket:[\($0)]" } }
        }

        /// Whoever listens there and is no gpsd, or a broken one, stops nobody.
        @Test(arguments: [
            ("no words", "{\"class\":\"TPV\"}\\n\\n{\\n{\"class\":\"TPV\",\"mode\":9,\"lat\":1e999,\"lon\":\"x\"}\\n"),
            // In these libgps alone would look for a report for ever.
            ("no end", "{\"class\":\"TPV\"[\"class\":\"DEVICE\"\\n"),
            ("no start", "{1\"class\":\"TPV\",\"mode\":3}\\n"),
            ("no line", "x" + String(repeating: "y", count: 40_000)), ("nothing", ""),
        ])
        func whatIsNoGpsdDoesNoHarm(_ name: String, _ text: String) throws {
            let port = try Self.freePort()
            let stage = try Stage(source: "gpsd:127.0.0.1:\(port)")
            let script = """
                import socket, sys
                server = socket.create_server(("127.0.0.1", \(port)))
                print("there", flush=True)
                text = sys.argv[1].encode().decode("unicode_escape").encode("latin-1")
                while True:
                    client, _ = server.accept()
                    asked = client.recv(100)
                    client.sendall(text)
                    client.close()
                    print("asked", asked, flush=True)
                """
            let server = try BackgroundProgram(tool: ["python3", "-c", script, text])
            _ = try server.waitForLine { $0 == "there" }
            let app = try stage.start("watch", "location.distance", "--app", "org.example.Tracker", "--json")
            _ = try server.waitForLine { $0.contains("WATCH={") }
            // It is tried again, less and less often.
            _ = try server.waitForLine { $0.contains("WATCH={") }
            try stage.until("it is broken") { try stage.property("State", at: Self.location).contains("broken") }
            #expect(try app.terminate() == .exited(0))
            _ = try server.terminate()
        }

        /// Who has said something, and nothing as gpsd does, is tried again like one who is silent; of a fix, what nobody can be counts
        /// as not told.
        @Test(arguments: [
            ("{\\n{\"cla", false),
            ("{\"class\":\"TPV\",\"mode\":3,\"lat\":46.0,\"lon\":14.0,\"speed\":1e308,\"eph\":1e308}\\n", true),
        ])
        func whoFallsSilentIsTriedAgain(_ text: String, _ isGpsd: Bool) throws {
            let port = try Self.freePort()
            let stage = try Stage(source: "gpsd:127.0.0.1:\(port)", broker: false)
            let script = """
                import socket, sys
                server = socket.create_server(("127.0.0.1", \(port)))
                print("there", flush=True)
                text = sys.argv[1].encode().decode("unicode_escape").encode("latin-1")
                kept = []
                while True:
                    client, _ = server.accept()
                    asked = client.recv(100)
                    client.sendall(text)
                    kept.append(client)
                    print("asked", asked, flush=True)
                """
            let server = try BackgroundProgram(tool: ["python3", "-c", script, text])
            _ = try server.waitForLine { $0 == "there" }
            let claim = "call org.jostle.Sensors1 \(Self.location) org.jostle.Sensors1.Sensor Claim a{sv} "
            let app = try stage.startScript("a hear Samples", "a \(claim)[{'rate':V('d',1.0)}]")
            _ = try server.waitForLine { $0.contains("WATCH={") }
            if isGpsd {
                let line = try app.waitForLine { $0.contains(" Samples ") }
                #expect(line.contains("[46.0, 14.0, ") && !line.contains("e+308"), "\(line)")
            } else {
                _ = try server.waitForLine { $0.contains("WATCH={") }
                _ = try #require(stage.reader).waitForLine(on: .errors) { $0.contains("it does not answer") }
            }
            _ = try app.terminate()
            _ = try server.terminate()
        }

        @Test func whatIsNoAddressIsRefused() throws {
            let reader = try BackgroundProgram("jostle-sensord", ["--source", "gpsd:example.org"])
            #expect(try reader.waitForEnd() == .exited(2))
            #expect(reader.errors.contains("gpsd: expected an address in numbers"), "\(reader.errors)")
        }
    }
}
