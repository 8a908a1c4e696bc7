import Glibc
import TestSupport
import Testing

extension Senses {
    /// Several people, one reader on the system bus: who is in front gets samples, and nobody else. Only root can play several.
    @Suite(.serialized, .enabled(if: geteuid() == 0)) struct InFront {
        private static let sensor = "call org.jostle.Sensors1 \(Stage.Object.accelerometer) org.jostle.Sensors1.Sensor"
        private static let (alice, bob): (UInt32, UInt32) = (65_534, 1)
        private static let refusal = "error org.freedesktop.DBus.Error.AccessDenied: claim: "

        private static func claim(_ rate: Double = 50, _ more: String = "") -> String {
            "\(self.sensor) Claim a{sv} [{'rate':V('d',\(rate))\(more)}]"
        }

        private static func stream(_ rate: Double, _ more: String = "") -> String {
            "\(self.sensor) OpenStream a{sv} [{'rate':V('d',\(rate))\(more)}]"
        }

        /// A bus that is the reader's system bus, and polkit on it.
        private final class Scene {
            let stage: Stage
            let reader: BackgroundProgram
            let bed: DeviceBed?
            private(set) var polkit: BackgroundProgram?

            /// - Parameter devices: commands that add the devices that are read, by desktops too, in place of what is made up.
            init(
                policed: Bool = false, polkit: Bool = true, policy: String? = nil, source: String = Stage.rest,
                devices: [String]? = nil
            ) throws {
                // The other bus lets nobody else in here.
                self.stage = try Stage(
                    source: nil, broker: false, policed: policed, on: policed ? nil : PrivateBus(on: .dbusDaemon))
                if polkit { self.polkit = try Self.startPolkit(on: self.stage) }
                self.bed = devices == nil ? nil : try DeviceBed(self.stage)
                for device in devices ?? [] { try self.bed?.perform(device) }
                var options = ["--bus", "system"] + (self.bed == nil ? ["--source", source] : ["--sensor-proxy"])
                options += ["--policy", try self.stage.directory("reader-policy", ["10-test": policy ?? ""])]
                let environment = ["DBUS_SYSTEM_BUS_ADDRESS": self.stage.address]
                self.reader = try BackgroundProgram(
                    "jostle-sensord", options, environment: environment.merging(self.bed?.environment ?? [:]) { $1 })
                _ = try self.reader.waitForLine(on: .errors) { $0.hasSuffix("serving the system bus") }
            }

            deinit { for program in [self.polkit, self.reader] { _ = try? program?.terminate() } }

            private static func startPolkit(on stage: Stage) throws -> BackgroundProgram {
                let program = try BackgroundProgram(
                    tool: ["/usr/bin/python3", Programs.source("Tests/Scripts/polkit.py"), "own", stage.address])
                _ = try program.waitForLine { $0 == "ready" }
                return program
            }

            func startPolkit() throws { self.polkit = try Self.startPolkit(on: self.stage) }

            func endPolkit() throws {
                try self.stage.kill(self.polkit)
                self.polkit = nil
            }

            private func tell(_ arguments: String...) throws -> String {
                let answer = try self.stage.busctl(
                    ["call", "org.freedesktop.PolicyKit1", "/", "org.example.Double"] + arguments)
                try #require(answer.status == 0, "\(answer.stderr)")
                return answer.stdout
            }

            /// What polkit says of a user from now on.
            func say(_ answer: String, of user: UInt32) throws { _ = try self.tell("Set", "us", "\(user)", answer) }

            func change(times: Int = 1) throws { _ = try self.tell("Changed", "u", "\(times)") }

            /// How often it was asked about a user.
            func asked(of user: UInt32) throws -> Int {
                let text = try self.tell("Asked", "u", "\(user)")
                return try #require(Int(text.dropFirst(2).dropLast()), "\(text)")
            }

            /// Puts somebody in front, and everybody else behind.
            func putInFront(_ user: UInt32) throws {
                for other in [alice, bob] { try self.say(other == user ? "yes" : "no", of: other) }
                try self.change()
            }

            func until(_ what: String, _ isSo: () throws -> Bool) throws { try self.stage.until(what, isSo) }

            /// Waits until the accelerometer stands still.
            func untilIdle() throws {
                try self.until("it stands still") {
                    try self.stage.property("Running", at: Stage.Object.accelerometer) == "b false"
                }
            }

            var claimants: String {
                get throws { try self.stage.property("Claimants", at: Stage.Object.accelerometer) }
            }

            /// Each claim that rests, with how many samples were sent to it.
            var resting: [Substring] {
                get throws {
                    try self.claimants.split(separator: "\":").filter { $0.contains("\"resting\" s \"inactive\"") }
                }
            }
        }

        /// The number of the first sample of a `Samples` that a script heard.
        private func number(_ line: String) -> Int? {
            guard let start = line.firstIndex(of: "["), line[..<start].hasSuffix(" Samples ") else { return nil }
            return Int(line[start...].drop { "[".contains($0) }.prefix { $0.isNumber })
        }

        private func nextNumber(_ script: BackgroundProgram) throws -> Int {
            try #require(self.number(try script.waitForLine { self.number($0) != nil }))
        }

        // MARK: Claiming

        /// Whatever program it is, for as long as its user is in front; and nobody else but root.
        @Test func polkitIsAskedForEachUserAndNotForRoot() throws {
            let scene = try Scene(policed: true)
            let stage = scene.stage
            try scene.say("yes", of: Self.alice)
            let alice = try stage.script(
                as: Stage.nobody, ["p \(Self.claim())", "q \(Self.stream(100))", "p \(Self.claim(20))"])
            #expect(alice.count == 3 && alice.allSatisfy { $0.contains(" ok ") }, "\(alice)")
            // Once for each connection: the second claim of one is known to be hers.
            #expect(try scene.asked(of: Self.alice) == 2)
            let bob = try stage.script(as: Stage.somebody, ["p \(Self.claim())", "p \(Self.stream(10))"])
            #expect(
                bob.count == 2 && bob.allSatisfy { $0.hasPrefix("p \(Self.refusal)polkit lets the user claim") },
                "\(bob)")
            #expect(
                bob[0].contains("(org.jostle.sensors.claim)") && bob[0].contains("SensorChanged when you may"), "\(bob)"
            )
            try scene.say("error", of: Self.bob)
            let failed = try stage.script(as: Stage.somebody, ["p \(Self.claim())"])
            #expect(
                failed[0].hasPrefix("p \(Self.refusal)nobody says") && failed[0].contains("no such subject"),
                "\(failed)")
            #expect(try stage.script("p \(Self.claim())")[0].hasPrefix("p ok "))
            #expect(try scene.asked(of: 0) == 0)
            // What is made motion is for root, whoever is in front.
            let inject = "p \(Self.sensor) Inject sa{sv} ['shake',{}]"
            #expect(try stage.script(as: Stage.nobody, [inject])[0].contains("AccessDenied"))
        }

        @Test func withoutPolkitNobodyMayButRoot() throws {
            let scene = try Scene(policed: true, polkit: false)
            let lines = try scene.stage.script(as: Stage.nobody, ["p \(Self.claim())", "p \(Self.claim())"])
            #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("p \(Self.refusal)nobody says") }, "\(lines)")
            #expect(try scene.stage.script("p \(Self.claim())")[0].hasPrefix("p ok "))
            // Who was refused is told when there is somebody to ask, who says yes.
            let waiting = try scene.stage.startScript(
                as: Stage.nobody, ["p hear SensorChanged", "p \(Self.claim())", "p await 1", "p \(Self.claim())"])
            _ = try waiting.waitForLine { $0.hasPrefix("p error") }
            try scene.startPolkit()
            try scene.putInFront(Self.alice)
            _ = try waiting.waitForLine { $0.contains(" SensorChanged ") }
            _ = try waiting.waitForLine { $0.hasPrefix("p ok ") }
        }

        /// While polkit says nothing, little of what one connection asks waits; it is told so at once of the rest.
        @Test func oneConnectionAsksLittleAtATime() throws {
            let scene = try Scene(policed: true)
            try scene.say("silence", of: Self.alice)
            let flood = try BackgroundProgram(
                "test-attacker",
                [
                    "flood", "claim", "--to", "org.jostle.Sensors1", "--bus", scene.stage.address, "--count", "100",
                    "--user", "\(Self.alice)", "--seconds", "2",
                ])
            let line = try flood.waitForLine { $0.hasPrefix("{") }
            let figures = try #require(Figures(line))
            #expect(figures["limits"] == 67 && figures["errors"] == 67, "\(line)")
        }

        /// A rate that lets speech be heard needs a word from policy, on this bus as on others.
        @Test func fastRatesNeedPolicyForUsersHereToo() throws {
            let scene = try Scene(policy: "[App *]\nFastestRate=300Hz\n")
            try scene.say("yes", of: Self.alice)
            let lines = try scene.stage.script(
                as: Stage.nobody,
                [
                    "p \(Self.claim(400))", "p \(Self.claim(400, ",'or-slower':V('b',True)"))", "q \(Self.claim(300))",
                    "q \(Self.claim(400, ",'or-slower':V('b',True)"))", "q \(Self.claim(20))",
                ])
            #expect(lines[0].contains("AccessDenied: claim: rate 400.0 Hz needs FastestRate"), "\(lines)")
            #expect(lines[1].contains("\"allowed\": 300.0") && lines[2].hasPrefix("q ok "), "\(lines)")
            // Each claim is told of what it asks for, and not of what the one before did.
            #expect(!lines[2].contains("allowed") && lines[3].contains("\"allowed\": 300.0"), "\(lines)")
            #expect(lines[4].hasPrefix("q ok ") && !lines[4].contains("allowed"), "\(lines)")
            // Whom polkit does not let claim at all is told that, and no rate.
            try scene.say("no", of: Self.alice)
            let refused = try scene.stage.script(as: Stage.nobody, ["p \(Self.claim(400))"])
            #expect(refused[0].contains("polkit lets the user"), "\(refused)")
        }

        // MARK: Resting

        /// While samples flow, another session comes to the front: not one leaves for the first user, in whichever way; and all go
        /// on by themselves when it is in front again.
        @Test func whoIsNotInFrontGetsNoSample() throws {
            let scene = try Scene(policed: true)
            let stage = scene.stage
            try scene.putInFront(Self.alice)
            let signals = try stage.startScript(
                as: Stage.nobody, ["s hear Samples ClaimChanged", "s \(Self.claim(50))"])
            let gathered = try stage.startScript(
                as: Stage.nobody,
                ["g hear Samples ClaimChanged", "g \(Self.claim(50, ",'batch-latency':V('t',400000)"))"])
            let passive = try stage.startScript(
                as: Stage.nobody, ["r hear Samples ClaimChanged", "r \(Self.claim(50, ",'passive':V('b',True)"))"])
            let stream = try stage.startScript(
                as: Stage.nobody, ["t hear ClaimChanged", "t \(Self.stream(50))", "t packets 5"])
            let all = [signals, gathered, passive, stream]
            for script in [signals, gathered, passive] { _ = try self.nextNumber(script) }
            try stream.waitUntilSaid("staying")
            // Root's goes on all the while, so that there is something to be had.
            let root = try stage.startScript("o hear Samples", "o \(Self.claim(50))")
            _ = try self.nextNumber(root)

            try scene.putInFront(Self.bob)
            var last: [Int] = []
            for script in all {
                var line = ""
                var number = -1
                repeat {
                    line = try script.waitForLine { _ in true }
                    number = self.number(line) ?? number
                } while !line.contains("ClaimChanged") || !line.contains("\"resting\": \"inactive\"")
                #expect(line.contains("\"running\": false"), "\(line)")
                last.append(number)
            }
            let before = try scene.resting
            #expect(before.count == 4)
            for _ in 0..<40 { _ = try self.nextNumber(root) }
            #expect(try scene.resting == before)
            // Without root nobody lets the device run.
            _ = try stage.kill(root)
            try scene.untilIdle()

            try scene.putInFront(Self.alice)
            for script in all {
                // The next thing that it hears at all.
                let told = try script.waitForLine { $0.contains(" heard ") }
                #expect(told.contains(" ClaimChanged ") && !told.contains("resting"), "\(told)")
            }
            // One number is left out where all that was due had come; where samples gathered, they are lost, too.
            #expect(try self.nextNumber(signals) == last[0] + 2)
            #expect(try self.nextNumber(passive) == last[2] + 2)
            #expect(try self.nextNumber(gathered) > last[1] + 1)
            #expect(try stage.property("Running", at: Stage.Object.accelerometer) == "b true")
        }

        /// No way to ask gives a sample to whose claims rest, and what it asks for is refused.
        @Test func askingGivesNothingToWhoseClaimsRest() throws {
            let scene = try Scene()
            let stage = scene.stage
            try scene.putInFront(Self.alice)
            let script = try stage.startScript(
                as: Stage.nobody,
                [
                    "p hear ClaimChanged", "p \(Self.claim(20, ",'batch-latency':V('t',10000000)"))",
                    "p \(Self.stream(20, ",'batch-latency':V('t',10000000)"))", "say claimed", "p await 2",
                    "p hear Samples",
                    "p \(Self.sensor) Flush a{sv} [{}]", "p ask", "p packets 1", "p \(Self.claim(30))",
                    "p \(Self.sensor) Release a{sv} [{}]", "p \(Self.claim(30))",
                ])
            _ = try script.waitForLine { $0 == "claimed" }
            try scene.putInFront(Self.bob)
            try script.waitUntilSaid("staying")
            let lines = script.output.split(separator: "\n").map(String.init)
            let rest = lines.drop { $0 != "claimed" }.dropFirst()
            #expect(!rest.contains { $0.contains(" Samples ") }, "\(rest)")
            // The stream has a packet for it: that it has all that there is; or, before, that something is missing.
            #expect(rest.filter { $0.contains(" packet ") }.allSatisfy { !$0.contains(" packet 1 ") }, "\(rest)")
            #expect(rest.count { $0.contains("polkit lets the user claim") } == 2, "\(rest)")
        }

        /// What waited for room in a stream's socket is given up; what was in it had left.
        @Test func whatWaitsForAStreamIsGivenUp() throws {
            // Nothing is read for the first seconds, so that every sample is sent after the stop.
            let scene = try Scene(policy: Stage.fast, source: "synth:rate=2000Hz; gap 2s; rest 24h")
            let stage = scene.stage
            try scene.putInFront(Self.alice)
            let script = try stage.startScript(as: Stage.nobody, ["p \(Self.stream(2_000))", "p packets 3000"])
            _ = try script.waitForLine { $0.hasPrefix("p ok ") }
            try script.stop()
            func row() throws -> (sent: Int, dropped: Int) {
                let words = try scene.claimants.split(separator: " ")
                return (try #require(Int(words[5])), try #require(Int(words[6])))
            }
            try scene.until("no more fits") { try row().dropped > 100 }
            try scene.putInFront(Self.bob)
            try scene.until("it rests") { try scene.resting.count == 1 }
            let sent = try row().sent
            try script.signal(SIGCONT)
            var next = 0
            while next < sent {
                let words = try script.waitForLine { $0.hasPrefix("p packet ") }.split(separator: " ", maxSplits: 5)
                #expect(words[2] == "1" && words[4] == "\(next)", "\(words[..<5])")
                next += try #require(Int(words[3]))
            }
            // There is room, and the reader has seen it.
            for _ in 0..<3 { #expect(try row().sent == sent) }
            #expect(next == sent)
        }

        /// However often whose claims rest asks for what there is, no device is read for that.
        @Test func requestsOfWhoRestsReadNoDevice() throws {
            let scene = try Scene(devices: [DeviceBed.buffered(), "pipe /dev/iio:device3"])
            let stage = scene.stage
            try scene.putInFront(Self.alice)
            let requests = 100
            let script = try stage.startScript(
                as: Stage.nobody,
                ["g hear Go", "g name", "p \(Self.stream(25))", "say opened", "g await 1"]
                    + Array(repeating: ["p ask", "p packets 1"], count: requests).flatMap(\.self) + ["say asked"])
            let name = try script.waitForLine { $0.hasPrefix("g name ") }.dropFirst("g name ".count)
            _ = try script.waitForLine { $0 == "opened" }
            // Root's goes on, so that the device runs.
            let root = try stage.startScript("o \(Self.claim(25))")
            _ = try root.waitForLine { $0.hasPrefix("o ok ") }
            try scene.putInFront(Self.bob)
            try scene.until("it rests") { try scene.resting.count == 1 }
            func reads() throws -> Int {
                let line = try Tool.run(["grep", "^syscr", "/proc/\(scene.reader.pid)/io"]).stdout
                return try #require(Int(line.dropFirst("syscr: ".count).dropLast()), "\(line)")
            }
            let (before, start) = (try reads(), ContinuousClock.now)
            _ = try stage.script("x send \(name) / org.example.Test Go")
            _ = try script.waitForLine { $0 == "asked" }
            let (count, took) = (try reads() - before, ContinuousClock.now - start)
            // Whatever else it reads meanwhile, it reads without requests, too, in as much time.
            _ = try Tool.run(["sleep", "\(took / .seconds(1))"], timeout: .seconds(60))
            let usual = try reads() - before - count
            #expect(count - usual < requests / 2, "\(count), of them \(usual) as ever")
        }

        /// What polkit lets begin looks at policy first, where a rate needs that; who comes to rest meanwhile begins nothing.
        @Test func whoComesToRestBeforeItsClaimBeginsIsRefused() throws {
            // Each is asked for by itself.
            let names = (0..<500).map { "org.example.Fast\($0)" }
            let scene = try Scene(policy: names.map { "[App \($0)]\nFastestRate=300Hz\n" }.joined())
            let stage = scene.stage
            let owner = try stage.startScript(names.map { "o own \($0)" } + ["say owned"])
            _ = try owner.waitForLine { $0 == "owned" }
            let double = "org.freedesktop.PolicyKit1 / org.example.Double"
            // Which of the two is first, nobody can say beforehand: only where the claims come to rest first there is something to see.
            for _ in 0..<20 {
                try scene.putInFront(Self.alice)
                let script = try stage.startScript(
                    as: Stage.nobody,
                    [
                        "p hear ClaimChanged", "p \(Self.claim(20))", "say claimed",
                        "q call \(double) Set us [\(Self.alice),'no']", "q begin \(double) Changed u [1]",
                        "p \(Self.claim(300, ",'or-slower':V('b',True)"))",
                    ])
                _ = try script.waitForLine { $0 == "claimed" }
                let isFirst = try script.waitForLine { $0.hasPrefix("p ") }.contains("\"resting\": \"inactive\"")
                guard isFirst else {
                    try stage.kill(script)
                    continue
                }
                let answer = try script.waitForLine { !$0.hasPrefix("p heard ") && $0.hasPrefix("p ") }
                #expect(answer.hasPrefix("p \(Self.refusal)polkit lets the user claim"), "\(answer)")
                return
            }
            Issue.record("the claim was always first")
        }

        // MARK: The desktop

        /// What a desktop claims rests as well, of each sensor: nothing is read for it, told to it or shown to it. It goes on by itself.
        @Test func whatADesktopClaimsRestsToo() throws {
            let scene = try Scene(devices: [
                DeviceBed.accelerometer(), DeviceBed.add("ambient"), DeviceBed.add("compass"),
            ])
            let (stage, bed) = (scene.stage, try #require(scene.bed))
            let name = "net.hadess.SensorProxy"
            let (path, compass) = ("/net/hadess/SensorProxy", "/net/hadess/SensorProxy/Compass")
            func get(_ property: String) -> String {
                let isCompass = property == "CompassHeading"
                return "call \(name) \(isCompass ? compass : path) org.freedesktop.DBus.Properties Get ss "
                    + "['\(name)\(isCompass ? ".Compass" : "")','\(property)']"
            }
            let claims =
                ["ClaimAccelerometer", "ClaimLight", "ClaimProximity"].map { "a call \(name) \(path) \(name) \($0)" }
                + ["a call \(name) \(compass) \(name).Compass ClaimCompass"]
            let readings = ["AccelerometerTilt", "LightLevel", "ProximityNear", "CompassHeading"]
            let unknown = [#"["undefined"]"#, "[0.0]", "[false]", "[-1.0]"]
            try scene.say("yes", of: 0)
            try scene.putInFront(Self.alice)
            let script = try stage.startScript(
                as: Stage.nobody,
                ["a hear PropertiesChanged"] + claims + readings.map { "a \(get($0))" }
                    + ["say claimed", "b hear Go", "b name", "b await 1"] + readings.map { "a \(get($0))" }
                    + [claims[1], "say asked"])
            _ = try script.waitForLine { $0 == "claimed" }
            for reading in [#"["face-up"]"#, "[50.0]", "[false]", "[0.0]"] {
                #expect(script.output.contains("\na ok \(reading)\n"), "\(reading) in \(script.output)")
            }
            let go = try script.waitForLine { $0.hasPrefix("b name ") }.dropFirst("b name ".count)
            let root = try stage.startScript(
                "o hear PropertiesChanged", "o call \(name) \(path) \(name) ClaimLight", "say ready")
            _ = try root.waitForLine { $0 == "ready" }

            try scene.putInFront(Self.bob)
            try scene.untilIdle()
            try bed.perform(
                "set /devices/platform/ambient/iio:device7 in_illuminance_raw 600",
                "set /devices/platform/ambient/iio:device7 in_proximity_raw 111",
                "set /devices/platform/compass/iio:device8 in_magn_y_raw 0",
                "set /devices/platform/compass/iio:device8 in_magn_x_raw 200")
            _ = try root.waitForLine { $0.contains("{\"LightLevel\": 100.0}") }
            _ = try stage.script("x send \(go) / org.example.Test Go")
            _ = try script.waitForLine { $0 == "asked" }
            let lines = script.output.split(separator: "\n").drop { $0 != "claimed" }.map(String.init)
            #expect(!lines.contains { $0.hasPrefix("a heard ") }, "\(lines)")
            #expect(lines.filter { $0.hasPrefix("a ok ") } == unknown.map { "a ok \($0)" }, "\(lines)")
            #expect(lines.contains { $0.hasPrefix("a error") && $0.contains("AccessDenied: polkit") }, "\(lines)")
            // Nor does another program of the same user see anything, while root looks as ever.
            #expect(try stage.script(as: Stage.somebody, ["p \(get("LightLevel"))"]) == ["p ok [0.0]"])
            #expect(try stage.script("p \(get("LightLevel"))") == ["p ok [100.0]"])

            func expectAll(of peer: BackgroundProgram) throws {
                var missing = [
                    "\"face-up\"", "\"LightLevel\": 100.0", "\"ProximityNear\": true", "\"CompassHeading\": 90.0",
                ]
                while !missing.isEmpty {
                    let line = try peer.waitForLine { $0.hasPrefix("a heard ") }
                    missing.removeAll { line.contains($0) }
                }
            }
            try scene.putInFront(Self.alice)
            try expectAll(of: script)
            // Without polkit nobody says that it may.
            try scene.endPolkit()
            try scene.untilIdle()
            try scene.startPolkit()
            try scene.putInFront(Self.alice)
            try expectAll(of: script)
        }

        // MARK: Strangers

        /// Whoever is refused and claims again, and again, is answered by what polkit said, until something changes.
        @Test func polkitIsNotAskedAnewOfWhoIsRefused() throws {
            let scene = try Scene()
            try scene.putInFront(Self.alice)
            let lines = try scene.stage.startScript(
                as: Stage.somebody,
                Array(repeating: "p \(Self.claim())", count: 20) + ["say refused", "p hear Go", "p name", "p await 1"]
                    + ["p \(Self.claim())"])
            _ = try lines.waitForLine { $0 == "refused" }
            #expect(lines.output.split(separator: "\n").count { $0.hasPrefix("p \(Self.refusal)polkit lets") } == 20)
            #expect(try scene.asked(of: Self.bob) == 1)
            let name = try lines.waitForLine { $0.hasPrefix("p name ") }.dropFirst("p name ".count)
            try scene.putInFront(Self.bob)
            try scene.until("he is asked about") { try scene.asked(of: Self.bob) == 2 }
            _ = try scene.stage.script("x send \(name) / org.example.Test Go")
            _ = try lines.waitForLine { $0.hasPrefix("p ok ") }
        }

        /// The same to a desktop's.
        @Test func polkitIsNotAskedAnewOfADesktopThatIsRefused() throws {
            let scene = try Scene(devices: [DeviceBed.accelerometer()])
            let claim =
                "p call net.hadess.SensorProxy /net/hadess/SensorProxy net.hadess.SensorProxy ClaimAccelerometer"
            try scene.putInFront(Self.alice)
            let lines = try scene.stage.script(as: Stage.somebody, Array(repeating: claim, count: 20))
            #expect(lines.count { $0.contains("AccessDenied: polkit does not let you") } == 20, "\(lines)")
            #expect(try scene.asked(of: Self.bob) == 1)
        }

        /// A desktop whose claims rest, because nobody says whether it may, is not told that it may not.
        @Test func aDesktopIsToldThatPolkitIsGone() throws {
            let scene = try Scene(devices: [DeviceBed.accelerometer()])
            let desktop = "p call net.hadess.SensorProxy /net/hadess/SensorProxy net.hadess.SensorProxy"
            try scene.putInFront(Self.alice)
            let script = try scene.stage.startScript(
                as: Stage.nobody,
                ["\(desktop) ClaimAccelerometer", "p hear Go", "p name", "p await 1", "\(desktop) ClaimLight"])
            let name = try script.waitForLine { $0.hasPrefix("p name ") }.dropFirst("p name ".count)
            #expect(script.output.contains("p ok []"), "\(script.output)")
            try scene.endPolkit()
            try scene.untilIdle()
            _ = try scene.stage.script("x send \(name) / org.example.Test Go")
            let refusal = try script.waitForLine { $0.hasPrefix("p error ") }
            #expect(refusal.contains("AccessDenied: polkit cannot be asked whether you may claim"), "\(refusal)")
        }

        /// polkit says nothing of many connections of a user: another one's question does not wait behind theirs.
        @Test func aStrangersQuestionsDelayNobody() throws {
            let scene = try Scene()
            let stage = scene.stage
            try scene.say("silence", of: Self.bob)
            try scene.say("yes", of: Self.alice)
            let bob = try stage.startScript(
                as: Stage.somebody, (0..<60).map { "p\($0) begin" + Self.claim().dropFirst("call".count) })
            try bob.waitUntilSaid("staying")
            try scene.until("polkit is asked") { try scene.asked(of: Self.bob) >= 14 }
            let alice = try stage.script(as: Stage.nobody, ["p \(Self.claim())"])
            #expect(alice.first?.hasPrefix("p ok ") == true, "\(alice)")
            #expect(!bob.output.contains(" error "), "\(bob.output)")
            #expect(try scene.asked(of: Self.bob) == 14)
        }

        /// Nor are the places for calls that wait for polkit all his.
        @Test func aStrangersCallsLeaveOthersTheirPlaces() throws {
            let scene = try Scene(devices: [DeviceBed.accelerometer()])
            let stage = scene.stage
            let claim = "call net.hadess.SensorProxy /net/hadess/SensorProxy net.hadess.SensorProxy ClaimAccelerometer"
            try scene.say("silence", of: Self.bob)
            try scene.say("yes", of: Self.alice)
            // Known connections, so that it is known whose calls wait.
            let bob = try stage.startScript(
                as: Stage.somebody,
                (0..<10).map { "p\($0) call org.jostle.Sensors1 / org.freedesktop.DBus.Introspectable Introspect" }
                    + (0..<330).map { "p\($0 % 10) begin" + claim.dropFirst("call".count) })
            try bob.waitUntilSaid("staying")
            _ = try bob.waitForLine { $0.contains("LimitsExceeded: calls-waiting-for-leave: 256 may") }
            #expect(try stage.script(as: Stage.nobody, ["p \(claim)"]) == ["p ok []"])
            #expect(!bob.output.contains("polkit cannot be asked"), "\(bob.output)")
        }

        // MARK: Waiting

        /// Whoever is refused is told when it may, and by then it gets what it asks for.
        @Test func whoIsRefusedIsToldWhenItMay() throws {
            let scene = try Scene()
            try scene.putInFront(Self.alice)
            let bob = try scene.stage.startScript(
                as: Stage.somebody, ["p hear SensorChanged", "p \(Self.claim())", "p await 1", "p \(Self.claim())"])
            _ = try bob.waitForLine { $0.hasPrefix("p error") }
            // Something changes that is not about him: he is not told, or he would claim again and again.
            let asked = try scene.asked(of: Self.bob)
            try scene.change()
            try scene.until("he is asked about") { try scene.asked(of: Self.bob) > asked }
            #expect(!bob.output.contains(" heard "))
            try scene.putInFront(Self.bob)
            _ = try bob.waitForLine { $0.hasPrefix("p ok ") }
        }

        private static func startBroker(
            of user: [String], at home: Stage, reader: Stage
        ) throws -> BackgroundProgram {
            let broker = try BackgroundProgram(
                tool: user + [
                    Programs.path(of: "jostle-brokerd"), "--bus", home.address, "--sensor-bus", "system",
                    "--no-journal",
                ],
                environment: [
                    "DBUS_SYSTEM_BUS_ADDRESS": reader.address, "HOME": "/nonexistent", "XDG_CONFIG_HOME": "",
                    "XDG_DATA_HOME": "",
                ])
            try Stage.waitUntilServing(broker)
            return broker
        }

        /// Two people, a broker each on a bus of their own, and one reader for both.
        @Test func theBrokerOfWhoIsInFrontHearsAndTheOtherRests() throws {
            let scene = try Scene(policed: true)
            try scene.putInFront(Self.alice)
            let app = "org.example.App"
            let homes = try [Stage.nobody, Stage.somebody].map { user in
                let home = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
                try #require(chmod(home.bus.directory, 0o755) == 0)
                let broker = try Self.startBroker(of: user, at: home, reader: scene.stage)
                return (home: home, broker: broker, app: try home.watch(Stage.always, "--app", app))
            }
            func sensors(_ index: Int) throws -> String {
                try homes[index].home.property("Sensors", at: Stage.Object.broker)
            }
            func whyNot(_ index: Int) throws -> String { try homes[index].home.jostle("why-not", app).stdout }

            _ = try homes[0].app.nextEvent()
            try scene.until("the other is refused") { try sensors(1).contains("\"state\" s \"refused\"") }
            #expect(
                try whyNot(1).contains("it cannot fire, the reader does not give us") && whyNot(1).contains("polkit"))
            for front in [1, 0, 1] {
                try scene.putInFront(front == 0 ? Self.alice : Self.bob)
                let behind = 1 - front
                try scene.until("the other rests") { try sensors(behind).contains("\"state\" s \"resting\"") }
                #expect(try whyNot(behind).contains("it cannot fire, another user's session is in front"))
                #expect(
                    try homes[behind].home.property("Detectors", at: Stage.Object.app(app)).contains(
                        "\"available\" b false"))
                // What it has received stays what it was, while the other hears.
                let before = try sensors(behind)
                try scene.until("the other is to be had") { try sensors(front).contains("\"state\" s \"ready\"") }
                let now = try #require(
                    try Tool.run(["cat", "/proc/uptime"]).stdout.split(separator: " ").first.flatMap { Double($0) })
                for _ in 0..<10 {
                    _ = try homes[front].app.nextEvent { (SystemTests.number("t_us", of: $0) ?? 0) >= now * 1_000_000 }
                }
                #expect(try sensors(behind) == before)
            }
            for (_, broker, app) in homes {
                _ = try app.terminate()
                #expect(try broker.terminate() == .exited(0))
            }
        }

        /// Nobody asks for the sensor any more: that it does not rest any more does not say that it is to be had.
        @Test func whatNobodyWantsIsNotSaidToBeHad() throws {
            let scene = try Scene(policed: true)
            try scene.putInFront(Self.alice)
            let home = try Stage(source: nil, broker: false, on: PrivateBus(on: .dbusDaemon))
            try #require(chmod(home.bus.directory, 0o755) == 0)
            let broker = try Self.startBroker(of: Stage.nobody, at: home, reader: scene.stage)
            let app = try home.watch(Stage.always)
            _ = try app.nextEvent()
            try scene.putInFront(Self.bob)
            _ = try broker.waitForLine(on: .errors) { $0.contains("another user's session is in front") }
            _ = try app.terminate()
            let line = try broker.waitForLine(on: .errors) {
                $0.contains(" is to be had") || $0.contains(" is wanted by nobody")
            }
            #expect(line.contains(" is wanted by nobody"), "\(line)")
            #expect(try broker.terminate() == .exited(0))
        }

        /// Who does not read while his claim comes to rest is told when he does: of how it stands then.
        @Test func whoDidNotReadIsToldWhenHeDoes() throws {
            let scene = try Scene()
            try scene.putInFront(Self.alice)
            let script = try scene.stage.startScript(
                as: Stage.nobody, ["p hear ClaimChanged", "p \(Self.claim(200))"])
            try script.waitUntilSaid("staying")
            try script.signal(SIGSTOP)
            var last = try scene.claimants
            try scene.until("nothing is sent to him") {
                usleep(100_000)
                let now = try scene.claimants
                defer { last = now }
                return now == last
            }
            try scene.putInFront(Self.bob)
            try scene.until("his claim rests") { try scene.claimants.contains("\"resting\" s \"inactive\"") }
            try script.signal(SIGCONT)
            let line = try script.waitForLine { $0.contains(" ClaimChanged ") }
            #expect(line.contains("\"resting\": \"inactive\""), "\(line)")
        }

        // MARK: polkit

        /// Alice is in front, and what she claims comes.
        private func whereAliceListens() throws -> (Scene, BackgroundProgram) {
            let scene = try Scene()
            try scene.putInFront(Self.alice)
            let script = try scene.stage.startScript(
                as: Stage.nobody, ["p hear Samples ClaimChanged", "p \(Self.claim(20))"])
            _ = try self.nextNumber(script)
            return (scene, script)
        }

        /// Of many who are asked about, those come first who get samples.
        @Test func whoIsAwakeDoesNotWaitForTheOthers() throws {
            let scene = try Scene()
            let stage = scene.stage
            try scene.putInFront(Self.alice)
            let many = try stage.startScript(
                as: Stage.somebody, (0..<100).map { "p\($0) begin" + Self.claim().dropFirst("call".count) })
            for _ in 0..<100 { _ = try many.waitForLine { $0.contains(" error ") } }
            let script = try stage.startScript(as: Stage.nobody, ["p hear ClaimChanged", "p \(Self.claim(20))"])
            try script.waitUntilSaid("staying")
            try scene.say("no", of: Self.alice)
            try scene.say("silence", of: Self.bob)
            try scene.change()
            let line = try script.waitForLine { $0.contains(" ClaimChanged ") }
            #expect(line.contains("\"resting\": \"inactive\""), "\(line)")
        }

        /// polkit knows nothing of one connection: nobody else is asked about for that.
        @Test func whatIsNotSaidOfOneConcernsNobodyElse() throws {
            let (scene, script) = try self.whereAliceListens()
            let stage = scene.stage
            let asked = try scene.asked(of: Self.alice)
            try scene.say("error", of: Self.bob)
            let bob = try stage.startScript(as: Stage.somebody, ["p hear SensorChanged", "p \(Self.claim())"])
            _ = try bob.waitForLine { $0.hasPrefix("p error") }
            // He is asked about again, though nothing changes.
            try scene.until("he is asked about again") { try scene.asked(of: Self.bob) >= 3 }
            #expect(try scene.asked(of: Self.alice) == asked)
            _ = try self.nextNumber(script)
            try scene.say("yes", of: Self.bob)
            _ = try bob.waitForLine { $0.contains(" SensorChanged ") }
        }

        /// Somebody's question has no answer: who was let in goes on as long as polkit says yes of her. One that hangs has not said, either,
        /// that something changed: then nobody goes on.
        @Test func aQuestionWithoutAnswerMakesNobodyElseRest() throws {
            let (scene, script) = try self.whereAliceListens()
            let stage = scene.stage
            let asked = try scene.asked(of: Self.alice)
            try scene.say("silence", of: Self.bob)
            let bob = try stage.startScript(as: Stage.somebody, ["p hear SensorChanged", "p \(Self.claim())"])
            _ = try bob.waitForLine { $0.hasPrefix("p \(Self.refusal)nobody says") }
            try scene.until("polkit is tried again") { try scene.asked(of: Self.bob) >= 2 }
            try scene.until("she is asked about, too") { try scene.asked(of: Self.alice) > asked }
            _ = try self.nextNumber(script)
            #expect(!script.output.contains("resting"), "\(script.output)")
            try scene.say("silence", of: Self.alice)
            _ = try script.waitForLine { $0.contains("\"resting\": \"unknown\"") }
            // What changes is heard at once.
            for user in [Self.alice, Self.bob] { try scene.say("yes", of: user) }
            try scene.change()
            _ = try bob.waitForLine { $0.contains(" SensorChanged ") }
            _ = try script.waitForLine { $0.contains("ClaimChanged") && !$0.contains("resting") }
        }

        /// Only polkit says that something changed, and only it answers.
        @Test func othersWordsAreNotPolkits() throws {
            let (scene, script) = try self.whereAliceListens()
            let stage = scene.stage
            let reader = try stage.uniqueName("org.jostle.Sensors1.Polkit")
            try scene.say("no", of: Self.alice)
            let asked = try scene.asked(of: Self.alice)
            let forged = try stage.count("RefusedMessages", at: Stage.Object.sensors)
            _ = try stage.script(
                as: Stage.somebody,
                [
                    "x send \(reader) /org/freedesktop/PolicyKit1/Authority org.freedesktop.PolicyKit1.Authority Changed"
                ])
            for _ in 0..<3 { _ = try self.nextNumber(script) }
            #expect(try scene.asked(of: Self.alice) == asked)
            #expect(try stage.count("RefusedMessages", at: Stage.Object.sensors) == forged + 1)

            try scene.say("silence", of: Self.bob)
            let bob = try stage.startScript(as: Stage.somebody, ["p \(Self.claim())"])
            try scene.until("polkit is asked") { try scene.asked(of: Self.bob) == 1 }
            let stranger = try Tool.run(
                Stage.somebody + [
                    "/usr/bin/python3", Programs.source("Tests/Scripts/polkit.py"), "forge", stage.address, reader,
                    "2000",
                ])
            #expect(stranger.stdout == "forged\n", "\(stranger.stderr)")
            let line = try bob.waitForLine { $0.hasPrefix("p ") }
            #expect(line.hasPrefix("p \(Self.refusal)nobody says"), "\(line)")
        }

        /// The bus drops the word that something changed where somebody has filled what it keeps for the reader, and tells nobody.
        @Test func aWordOfPolkitThatIsLostIsMissed() throws {
            let (scene, script) = try self.whereAliceListens()
            // Not a word of it.
            try scene.say("no", of: Self.alice)
            let ping = "p begin org.jostle.Sensors1 / org.freedesktop.DBus.Peer Ping ay [bytes(2<<20)]"
            let flood = try scene.stage.startScript(as: Stage.somebody, Array(repeating: ping, count: 40))
            let line = try script.waitForLine { $0.contains(" ClaimChanged ") }
            #expect(line.contains("\"resting\": \"inactive\""), "\(line)")
            try flood.waitUntilSaid("staying")
        }

        /// The bus keeps few descriptors for the reader: it has dropped that word as well where somebody answers with some.
        @Test func aWordOfPolkitThatIsLostBehindDescriptorsIsMissed() throws {
            let (scene, script) = try self.whereAliceListens()
            try scene.say("yes", of: Self.bob)
            let other = try scene.stage.startScript(as: Stage.somebody, ["p answer 16", "p \(Self.claim(100))"])
            _ = try other.waitForLine { $0.hasPrefix("p ok ") }
            // Not a word of it.
            try scene.say("no", of: Self.alice)
            let line = try script.waitForLine { $0.contains(" ClaimChanged ") }
            #expect(line.contains("\"resting\": \"inactive\""), "\(line)")
        }

        /// polkit is asked by a connection that nobody can fill: where its answers were dropped all claims would rest.
        @Test func nobodyReachesTheConnectionThatAsksPolkit() throws {
            let scene = try Scene(policed: true)
            try scene.putInFront(Self.alice)
            let claim = try scene.stage.script(as: Stage.nobody, ["p \(Self.claim(20))"])
            #expect(claim[0].hasPrefix("p ok "), "\(claim)")
            let own = try scene.stage.uniqueName("org.jostle.Sensors1.Polkit")
            #expect(try own != scene.stage.uniqueName("org.jostle.Sensors1"))
            let forged = try scene.stage.count("RefusedMessages", at: Stage.Object.sensors)
            let signal = "/org/freedesktop/PolicyKit1/Authority org.freedesktop.PolicyKit1.Authority Changed"
            for name in ["org.jostle.Sensors1.Polkit", own] {
                _ = try scene.stage.script(as: Stage.somebody, ["x send \(name) \(signal)"])
            }
            #expect(try scene.stage.count("RefusedMessages", at: Stage.Object.sensors) == forged)
        }

        /// Nobody waits for polkit longer than once, and it is tried again.
        @Test func aPolkitThatNeverAnswersKeepsNobodyWaiting() throws {
            let scene = try Scene()
            let stage = scene.stage
            try scene.say("silence", of: Self.alice)
            try scene.say("silence", of: Self.bob)
            let many = try stage.startScript(
                as: Stage.nobody,
                ["p0 hear SensorChanged"] + (0..<100).map { "p\($0) begin" + Self.claim().dropFirst("call".count) })
            let start = ContinuousClock.now
            for _ in 0..<100 { _ = try many.waitForLine { $0.contains(" error ") } }
            let first = ContinuousClock.now - start
            // So many at a time are asked about, and when they have no answer, nobody else is.
            #expect(try scene.asked(of: Self.alice) <= 28)
            #expect(first < .seconds(15), "\(first)")
            try scene.say("yes", of: Self.alice)
            _ = try many.waitForLine { $0.contains(" SensorChanged ") }
            #expect(try stage.script(as: Stage.nobody, ["p \(Self.claim())"])[0].hasPrefix("p ok "))
        }

        @Test func claimsRestWhilePolkitIsGone() throws {
            let (scene, script) = try self.whereAliceListens()
            try scene.endPolkit()
            _ = try script.waitForLine { $0.contains("\"resting\": \"unknown\"") }
            try scene.startPolkit()
            _ = try script.waitForLine { $0.contains("\"resting\": \"inactive\"") }
            try scene.putInFront(Self.alice)
            _ = try script.waitForLine { $0.contains("ClaimChanged") && !$0.contains("resting") }
            _ = try self.nextNumber(script)
        }

        /// However often something changes, polkit is asked a bounded number of questions.
        @Test func aFloodOfChangesIsAFewRounds() throws {
            let scene = try Scene()
            let stage = scene.stage
            for user in [Self.alice, Self.bob] { try scene.say("yes", of: user) }
            let users = [(Stage.nobody, Self.alice), (Stage.somebody, Self.bob)]
            let scripts = try users.map { user, _ in
                try stage.startScript(as: user, (0..<250).map { "p\($0) \(Self.claim(0.1))" })
            }
            for script in scripts { try script.waitUntilSaid("staying", timeout: .seconds(60)) }
            for (_, user) in users { #expect(try scene.asked(of: user) == 250) }
            for _ in 0..<10 { try scene.change(times: 100) }
            for (_, user) in users { try scene.say("no", of: user) }
            try scene.change()
            try stage.until("all rest", timeout: .seconds(60)) {
                try stage.property("Running", at: Stage.Object.accelerometer) == "b false"
            }
            for (_, user) in users { #expect(try scene.asked(of: user) <= 250 * 8) }
        }

        /// One thing after the other that changes is no round each.
        @Test func roundsFollowEachOtherSlowly() throws {
            let scene = try Scene()
            try scene.putInFront(Self.alice)
            let script = try scene.stage.startScript(as: Stage.nobody, ["p \(Self.claim(1))"])
            _ = try script.waitForLine { $0.hasPrefix("p ok ") }
            let (start, asked) = (ContinuousClock.now, try scene.asked(of: Self.alice))
            for _ in 0..<100 { try scene.change() }
            try scene.until("there is a round") { try scene.asked(of: Self.alice) > asked }
            let rounds = try scene.asked(of: Self.alice) - asked
            let most = Int((ContinuousClock.now - start) / .milliseconds(200)) + 2
            #expect((1...most).contains(rounds), "\(rounds) rounds, \(most) at most")
        }
    }
}
