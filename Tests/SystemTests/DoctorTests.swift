import DBus
import Glibc
import Motion
import PolicyFiles
import TestSupport
import Testing

@testable import jostle

/// What `jostle doctor` makes of what it found.
@Suite struct DoctorExamTests {
    private func states(_ remarks: [Remark]) -> [Remark.State] { remarks.map(\.state) }

    @Test func aServiceOfOurVersionIsWell() {
        let owner = AskedBus.Owner(process: 7, user: 1_000)
        let exam = ServiceExam(service: .broker, address: .session, standing: .runs(version: Version.text, owner))
        #expect(
            exam.remarks
                == [.good(.broker, "the broker \(Version.text) (process 7, user 1000) answers on the session bus")])
    }

    @Test func aServiceOfAnotherVersionIsRestartedByItsUnit() {
        let owner = AskedBus.Owner(process: 7, user: nil)
        for (address, mend) in [
            (BusAddress.session, "systemctl --user restart jostle-sensord.service"),
            (.system, "systemctl restart jostle-sensord.service"), (.address("unix:path=/x"), "kill 7"),
        ] {
            let exam = ServiceExam(
                service: .reader, address: address, standing: .runs(version: "0.0.1\u{1B}[2J", owner))
            #expect(self.states(exam.remarks) == [.wrong] && exam.remarks[0].mend == [mend])
            #expect(!exam.remarks[0].text.contains("\u{1B}"))
        }
    }

    @Test func eachWayToBeAwayIsTold() {
        func text(_ standing: ServiceExam.Standing) -> String {
            let exam = ServiceExam(
                service: .broker, address: .system, standing: standing, program: "/opt/jostle-brokerd")
            #expect(self.states(exam.remarks) == [.wrong])
            return exam.remarks[0].text + " | " + exam.remarks[0].mend.joined(separator: " | ")
        }
        #expect(text(.noBus("no such file")) == "the system bus cannot be reached: no such file | systemctl start dbus")
        #expect(text(.absent).hasSuffix("the bus does not know how to start it | /opt/jostle-brokerd --bus system &"))
        #expect(
            text(.notStarted("exit 1")).hasSuffix("system bus: exit 1 | journalctl -u jostle-brokerd.service -n 50"))
        #expect(text(.silent(nil)).contains("the broker does not answer on the system bus"))
        #expect(text(.refuses("no")).contains("refuses to answer on the system bus: no"))
    }

    @Test func unitsThatCannotRunAreWrong() {
        func unit(_ load: String, _ state: String, _ restarts: UInt32 = 0) -> [Remark] {
            UnitExam(
                name: "jostle-brokerd.service", isUsers: true, load: load, state: state, result: "watchdog",
                restarts: restarts
            ).remarks
        }
        #expect(unit("not-found", "inactive").isEmpty)
        #expect(unit("masked", "inactive").first?.mend == ["systemctl --user unmask jostle-brokerd.service"])
        #expect(unit("loaded", "failed").first?.text == "the user's jostle-brokerd.service has failed (watchdog)")
        #expect(self.states(unit("loaded", "active")) == [.good])
        #expect(self.states(unit("loaded", "active", 3)) == [.note])
        #expect(self.states(unit("bad-setting", "inactive")) == [.wrong])
    }

    @Test func whoMayNotReadADeviceIsToldWhatIsMissing() {
        let closed = DeviceExam.Access(user: 0, group: 0, mode: 0o100600)
        var exam = DeviceExam(
            devices: [DeviceExam.Device(node: "iio:device0", name: "bmc150", access: closed)], serviceUser: nil,
            rules: nil,
            isSystems: false)
        #expect(self.states(exam.remarks) == [.good])
        exam.isSystems = true
        #expect(exam.remarks.last?.mend == ["systemd-sysusers"])
        exam.serviceUser = (id: 900, group: 901)
        #expect(exam.remarks.last?.text.hasPrefix("udev has no 60-jostle.rules") == true)
        exam.rules = "/usr/lib/udev/rules.d/60-jostle.rules"
        #expect(exam.remarks.last?.text.contains("may not read /dev/iio:device0") == true)
        exam.devices[0].access = DeviceExam.Access(user: 0, group: 901, mode: 0o100640)
        #expect(self.states(exam.remarks) == [.good])
        // Without a buffer there is nothing to read but attributes, which all may.
        exam.devices[0].access = nil
        #expect(self.states(exam.remarks) == [.good])
        exam.hasRival = true
        #expect(exam.remarks.last?.mend == ["systemctl mask --now iio-sensor-proxy"])
    }

    @Test func rightsAreWrongUnlessTheyAreGiven() {
        #expect(RightsExam(standing: .isRoot).remarks.isEmpty)
        #expect(self.states(RightsExam(standing: .allowed).remarks) == [.good])
        for standing in [RightsExam.Standing.noPolkit, .unknownAction, .refused(challenge: true), .silent("x")] {
            #expect(self.states(RightsExam(standing: standing).remarks) == [.wrong])
        }
    }

    @Test func aSensorIsToldOnce() {
        let broken = SensorExam.Sensor(name: "accelerometer", state: "broken", detail: "Input/output error")
        let refused = SensorExam.Sensor(name: "gyroscope", state: "refused", detail: "not in front")
        let exam = SensorExam(
            ofReader: [broken, SensorExam.Sensor(name: "gyroscope", state: "idle", detail: "")],
            missing: [broken, refused])
        #expect(
            exam.remarks.map(\.text) == [
                "the reader has gyroscope (idle)", "accelerometer is broken: Input/output error",
                "apps hear nothing of it: gyroscope is refused: not in front",
            ])
        #expect(self.states(exam.remarks) == [.good, .wrong, .wrong])
        #expect(self.states(SensorExam(ofReader: [], missing: nil).remarks) == [.wrong])
        let still = SensorExam.Sensor(name: "accelerometer", state: "stuck", detail: "")
        #expect(self.states(SensorExam(ofReader: [still], missing: nil).remarks) == [.note])
    }

    @Test func whatTheBrokerSaysOfItselfIsJudged() {
        var exam = BrokerExam(isForegroundTold: true, foreground: "org.example.A", durability: "ok")
        #expect(self.states(exam.remarks(now: 5)) == [.good, .good])
        exam.isForegroundTold = false
        #expect(exam.remarks(now: 5).first?.text.contains("every app counts as in the foreground") == true)
        (exam.isPaused, exam.mutedUntil) = (true, 10_000_005)
        #expect(exam.remarks(now: 5).prefix(2).map(\.text).last == "motion is silenced for another 10s")
        #expect(exam.remarks(now: 10_000_005).count == exam.remarks(now: 5).count - 1)
        exam.durability = "degraded"
        #expect(exam.remarks(now: 5).last?.state == .wrong)
    }

    @Test func clocksThatAreOffAreWrong() {
        let year = Int64(366 * 86_400) * 1_000_000
        #expect(self.states(ClockExam(wallClock: 60 * year, offset: 0).remarks) == [.good])
        #expect(self.states(ClockExam(wallClock: 30 * year, offset: -5).remarks) == [.wrong, .wrong])
        #expect(
            ClockExam.boottimeOffset(in: Array("monotonic 1 0\nboottime        -86400         0\n".utf8)) == -86_400)
        #expect(ClockExam.boottimeOffset(in: []) == 0)
    }
}

extension EndToEnd {
    /// `jostle doctor` on a real bus.
    @Suite(.serialized) struct Doctor {
        private func remarks(_ stage: Stage, status: Int32) throws -> [String] {
            let result = try stage.jostle("doctor", "--json")
            #expect(result.status == status, "\(result)")
            #expect(try kinds(of: result.stdout, from: "doctor") == [0])
            return result.stdout.split(separator: "\n").map(String.init)
        }

        @Test func aStageIsWell() throws {
            let stage = try Stage()
            #expect(try self.remarks(stage, status: 0).allSatisfy { !$0.contains("\"wrong\"") })
            let told = try stage.jostle("doctor", "--all").stdout
            #expect(
                told.contains("good: broker: the broker \(Version.text) (process \(stage.broker?.pid ?? 0), user"))
            #expect(told.contains("good: sensors: the reader has accelerometer (idle)"))
            #expect(told.hasSuffix("nothing is wrong; --all shows what was looked at\n"))
        }

        @Test func whatIsAwayOrSilentIsWrong() throws {
            let stage = try Stage(broker: false)
            #expect(
                try self.remarks(stage, status: 1).contains {
                    $0.hasPrefix("{\"area\":\"broker\",\"state\":\"wrong\"")
                        && $0.contains("jostle-brokerd &")
                })
            try stage.startBroker()
            let broker = try #require(stage.broker)
            try broker.signal(SIGSTOP)
            let silent = try self.remarks(stage, status: 1)
            try broker.signal(SIGCONT)
            #expect(
                silent.contains { $0.contains("the broker (process \(broker.pid)") && $0.contains("does not answer") })
            #expect(try self.remarks(stage, status: 0).contains { $0.contains("\"area\":\"storage\"") })
        }

        @Test func aPolicyWithAnErrorIsShownWithItsPlace() throws {
            let stage = try Stage(broker: false)
            try stage.startBroker(policy: "[Policy]\nDefault=allow\n")
            let directory = try stage.directory("policy", ["10-test": "[Policy]\nDefault=perhaps\n"])
            #expect(
                try self.remarks(stage, status: 1).contains {
                    $0.contains("\(directory)/10-test.conf:2:") && $0.contains("error E")
                })
        }

        @Test func motionThatIsOffIsTold() throws {
            let stage = try Stage()
            #expect(try stage.jostle("pause").status == 0)
            #expect(
                try self.remarks(stage, status: 0).contains {
                    $0.contains("switched off for all apps\",\"mend\":[\"jostle resume\"]")
                })
        }

        @Test func aBusThatIsNotThereIsWrong() throws {
            let result = try Tool.run([Programs.path(of: "jostle"), "doctor", "--bus", "unix:path=/nonexistent"])
            #expect(result.status == 1)
            #expect(result.stdout.hasPrefix("wrong: bus: the bus at unix:path=/nonexistent cannot be reached"))
            #expect(result.stdout.split(separator: "\n").count { $0.hasPrefix("wrong: bus:") } == 1)
        }
    }
}
