import Arbitration
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

    private func lines(
        _ commands: [TypedCommand], _ broker: BusAddress = .session, _ reader: BusAddress = .session
    ) -> [String] {
        commands.map { $0.line(on: TypedCommand.Buses(broker: broker, reader: reader)) }
    }

    @Test func commandsNameTheBusesAndQuoteTheirWords() {
        let address = BusAddress.address("unix:path=/x;y=it's")
        let resume = [TypedCommand.jostle("resume", to: .broker)]
        #expect(self.lines(resume) == ["jostle resume"])
        #expect(self.lines(resume, .system, .session) == ["jostle resume --bus system"])
        #expect(self.lines(resume, address) == [#"jostle resume --bus 'unix:path=/x;y=it'\''s'"#])
        #expect(
            self.lines([.jostle("sensors", to: .reader)], .session, .system) == ["jostle sensors --sensor-bus system"])
        #expect(self.lines([.jostle("demo", to: .nobody)], address, address) == ["jostle demo"])
        #expect(self.lines([.leave(["/opt/a b", ""])], address) == ["'/opt/a b' '' &"])
    }

    @Test func aServiceOfOurVersionIsWell() {
        let owner = AskedBus.Owner(process: 7, user: 1_000)
        let exam = ServiceExam(service: .broker, address: .session, standing: .runs(version: Version.text, owner))
        #expect(
            exam.remarks
                == [.good(.broker, "the broker \(Version.text) (process 7, user 1000) answers on the session bus")])
    }

    @Test func aServiceOfAnotherVersionIsRestartedByItsUnitOrEnded() {
        let owner = AskedBus.Owner(process: 7, user: nil)
        func unit(_ isUsers: Bool, _ load: String, _ state: String = "active") -> UnitExam {
            UnitExam(name: "jostle-sensord.service", isUsers: isUsers, load: load, state: state)
        }
        for (address, unit, mend, log) in [
            (
                BusAddress.session, unit(true, "loaded"), "systemctl --user restart jostle-sensord.service",
                ["journalctl --user -u jostle-sensord.service -n 50"]
            ),
            (
                .system, unit(false, "loaded"), "systemctl restart jostle-sensord.service",
                ["journalctl -u jostle-sensord.service -n 50"]
            ),
            // Somebody else started what runs.
            (.system, unit(false, "loaded", "inactive"), "kill 7", ["journalctl -u jostle-sensord.service -n 50"]),
            (.session, unit(true, "not-found", "inactive"), "kill 7", []),
            (.address("unix:path=/x"), nil, "kill 7", []),
        ] as [(BusAddress, UnitExam?, String, [String])] {
            let exam = ServiceExam(
                service: .reader, address: address, standing: .runs(version: "0.0.1\u{1B}[2J", owner), unit: unit)
            #expect(self.states(exam.remarks) == [.wrong] && self.lines(exam.remarks[0].mend) == [mend])
            #expect(!exam.remarks[0].text.contains("\u{1B}"))
            #expect(self.lines(exam.upkeep.log) == log)
        }
    }

    /// What hangs does not look at signals, as it looks at nothing.
    @Test func aServiceThatIsSilentIsNotAskedToEnd() {
        func mend(_ unit: UnitExam?) -> [String] {
            let standing = ServiceExam.Standing.silent(AskedBus.Owner(process: 7, user: nil))
            let exam = ServiceExam(service: .broker, address: .session, standing: standing, unit: unit)
            return self.lines(exam.remarks[0].mend)
        }
        #expect(mend(nil) == ["kill -KILL 7"])
        // systemd kills what does not end.
        #expect(
            mend(UnitExam(name: "jostle-brokerd.service", isUsers: true, load: "loaded", state: "active"))
                == ["systemctl --user restart jostle-brokerd.service"])
    }

    @Test func eachWayToBeAwayIsTold() {
        func text(_ standing: ServiceExam.Standing) -> String {
            let exam = ServiceExam(
                service: .broker, address: .system, standing: standing, program: "/opt/jostle-brokerd",
                unit: UnitExam(name: "jostle-brokerd.service", isUsers: false, load: "loaded", state: "failed"))
            #expect(self.states(exam.remarks) == [.wrong])
            let remark = exam.remarks[0]
            return ([remark.text] + self.lines(remark.mend) + self.lines(remark.look)).joined(separator: " | ")
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
        #expect(unit("masked", "inactive")[0].mend == [.run("systemctl", "--user", "unmask", "jostle-brokerd.service")])
        #expect(self.lines(unit("loaded", "failed")[0].mend) == ["systemctl --user restart jostle-brokerd.service"])
        #expect(self.lines(unit("loaded", "failed")[0].look) == ["journalctl --user -u jostle-brokerd.service -n 50"])
        #expect(unit("loaded", "failed").first?.text == "the user's jostle-brokerd.service has failed (watchdog)")
        #expect(self.states(unit("loaded", "active")) == [.good])
        #expect(self.states(unit("loaded", "active", 3)) == [.note])
        #expect(self.states(unit("bad-setting", "inactive")) == [.wrong])
    }

    @Test func whoMayNotReadADeviceIsToldWhatIsMissing() {
        let closed = DeviceExam.Access(user: 0, group: 0, mode: 0o100600)
        var exam = DeviceExam(devices: [DeviceExam.Device(node: "iio:device0", name: "bmc150", access: closed)])
        // Without a reader nobody is there who might read it.
        #expect(self.states(exam.remarks) == [.good])
        exam.reader = DeviceExam.Reader(user: 900, groups: [901, 44])
        #expect(exam.remarks.last?.text.hasPrefix("udev has no 60-jostle.rules") == true)
        exam.rules = "/usr/lib/udev/rules.d/60-jostle.rules"
        #expect(exam.remarks.last?.text.contains("may not read /dev/iio:device0") == true)
        // A group besides its own counts, too.
        exam.devices[0].access = DeviceExam.Access(user: 0, group: 44, mode: 0o100640)
        #expect(self.states(exam.remarks) == [.good])
        // Without a buffer there is nothing to read but attributes, which all may.
        exam.devices[0].access = nil
        #expect(self.states(exam.remarks) == [.good])
        exam.hasRival = true
        #expect(exam.remarks.last?.mend == [.run("systemctl", "mask", "--now", "iio-sensor-proxy")])
        #expect(DeviceExam.Reader.groups(in: Array("Uid:\t1\nGid:\t5\t5\t5\t6\nGroups:\t7 8 \n".utf8)) == [6, 7, 8])
    }

    @Test func noIIODeviceIsToldOnlyToWhoHasNoSensor() {
        #expect(self.states(DeviceExam().remarks) == [.note])
        #expect(DeviceExam(hasSensors: true).remarks.isEmpty)
    }

    @Test func rightsAreWrongUnlessTheyAreGiven() {
        #expect(RightsExam(standing: .isRoot).remarks.isEmpty)
        #expect(self.states(RightsExam(standing: .allowed).remarks) == [.good])
        for standing in [RightsExam.Standing.noPolkit, .unknownAction, .silent("x")] {
            #expect(self.states(RightsExam(standing: standing).remarks) == [.wrong])
        }
        // That is said of `jostle doctor`, and not of the broker.
        for isChallenge in [true, false] {
            let remarks = RightsExam(standing: .refused(challenge: isChallenge)).remarks
            #expect(self.states(remarks) == [.note])
            #expect(remarks[0].text.contains("password") == isChallenge)
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
        #expect(self.states(SensorExam(ofReader: nil, isSilenced: true).remarks) == [.wrong])
        let empty = SensorExam(ofReader: [], isSilenced: true)
        #expect(empty.remarks.map(\.text) == ["the reader stopped answering while it was asked for sensors"])
    }

    @Test(arguments: [
        ("stuck", Remark.State.wrong), ("broken", .wrong), ("refused", .wrong), ("stalled", .wrong), ("what", .wrong),
        ("absent", .note), ("saturated", .note),
    ])
    func aStateIsJudgedAlikeWhoeverSaysIt(_ name: String, _ state: Remark.State) {
        let sensor = SensorExam.Sensor(name: "accelerometer", state: name, detail: "")
        #expect(self.states(SensorExam(ofReader: [sensor], missing: nil).remarks) == [state])
        #expect(self.states(SensorExam(ofReader: nil, missing: [sensor]).remarks) == [state])
    }

    @Test func whatTheBrokerSaysOfItselfIsJudged() {
        var exam = BrokerExam(isForegroundTold: true, foreground: "org.example.A", durability: "ok")
        #expect(self.states(exam.remarks(now: 5)) == [.good, .good])
        #expect(exam.remarks(now: 5).first?.text == "in front is org.example.A")
        let row = FocusRow(
            source: "x11::0", process: 7, front: ["org.example.A", "org.example.B"],
            first: ["org.example.A", "org.example.B"], visible: [], hidden: [], playing: [], frozen: [], windows: 2,
            isLeaving: false)
        let gone = FocusRow(
            source: "", process: 8, front: ["org.example.B"], first: [], visible: [], hidden: [], playing: [],
            frozen: [],
            windows: 1, isLeaving: true)
        exam.sources = [row, gone]
        #expect(
            exam.remarks(now: 5).first?.text
                == "in front is org.example.A (x11::0), org.example.B (x11::0 and process 8, which has left)")
        (exam.sources, exam.isForegroundTold) = ([], false)
        #expect(exam.remarks(now: 5).first?.text.contains("every app counts as in the foreground") == true)
        (exam.isPaused, exam.mutedUntil) = (true, 10_000_005)
        for now: Int64 in [5, 66_913, 1_000_004] {
            let last = exam.remarks(now: now).prefix(2).map(\.text).last
            #expect(last == "motion is silenced, and is heard again in 10s")
        }
        #expect(exam.remarks(now: 5)[1].mend.isEmpty)
        #expect(exam.remarks(now: 10_000_005).count == exam.remarks(now: 5).count - 1)
        (exam.durability, exam.directory) = ("degraded", "/home/a b/jostle")
        #expect(exam.remarks(now: 5).last?.state == .wrong)
        // Of a directory that may not be written the room on the disk says nothing.
        #expect(exam.remarks(now: 5).last?.look == [.run("df", "-h"), .run("ls", "-la", "/home/a b/jostle")])
        exam.durability = "off"
        let off = exam.remarks(now: 5).last
        #expect(off?.state == .note && off?.text.contains("--no-journal") == true)
        // A broker that does not know the property says nothing of its disk.
        exam.durability = ""
        #expect(!exam.remarks(now: 5).contains { $0.area == .storage })
    }

    @Test func theLockAndTheForegroundAreOneRemark() {
        func told(_ isLocked: Bool, _ isTold: Bool) -> [Remark] {
            BrokerExam(isLocked: isLocked, isForegroundTold: isTold, foreground: isTold ? "org.example.A" : "")
                .remarks(now: 5)
        }
        #expect(self.states(told(false, true)) == [.good])
        #expect(told(false, false).map(\.mend) == [[.jostle("foreground", "APP", to: .broker)]])
        for isTold in [false, true] {
            let remarks = told(true, isTold)
            #expect(remarks.map(\.mend) == [[.jostle("unlock", to: .broker)]])
            #expect(remarks[0].text.contains("behind the lock") && !remarks[0].text.contains("in the foreground"))
        }
    }

    @Test func filesAreCheckedByTheCommandThatLooksAtThem() {
        func finding(_ check: Check, _ file: String) -> Finding {
            Finding(check, at: Place(file: file, line: 2), "it is wrong", advice: "mend it")
        }
        #expect(self.states(PolicyExam().remarks) == [.good])
        var exam = PolicyExam(findings: [finding(.unreadable, "/etc/jostle/policy.d/1.conf")])
        #expect(exam.remarks.map { self.lines($0.look, .system) } == [["jostle policy check"]])
        exam.isElsewhere = true
        exam.unread = ["/x: gone"]
        #expect(
            exam.remarks.map { self.lines($0.look, .system) } == [["jostle policy check --apps --bus system"], []])
        #expect(exam.remarks.last == .note(.policy, "/x: gone"))
        let apps = PolicyExam(
            ofApps: (1...7).map { finding(.unreadable, "/usr/share/jostle/apps.d/org.example.A\($0).conf") })
        #expect(apps.remarks.count == 6 && apps.remarks.allSatisfy { $0.area == .apps })
        #expect(self.lines(apps.remarks[5].look) == ["jostle policy check --app-files /usr/share/jostle/apps.d"])
        let changed = PolicyExam(files: ["/a", "/b"], inForce: ["/a"], address: .address("unix:path=/x;y"))
        #expect(self.lines(changed.remarks[0].mend)[0].hasPrefix("busctl '--address=unix:path=/x;y' call "))
        #expect(self.lines(changed.remarks[0].mend)[0].hasSuffix(" Reload 'a{sv}' 0"))
    }

    @Test func clocksThatAreOffAreWrong() {
        let year = Int64(366 * 86_400) * 1_000_000
        #expect(self.states(ClockExam(wallClock: 60 * year, offset: 0).remarks) == [.good])
        #expect(self.states(ClockExam(wallClock: 30 * year, offset: -5).remarks) == [.wrong, .wrong])
        #expect(self.states(ClockExam(wallClock: 129 * year, offset: 0).remarks) == [.wrong])
        #expect(
            ClockExam.boottimeOffset(in: Array("monotonic 1 0\nboottime        -86400         0\n".utf8)) == -86_400)
        #expect(ClockExam.boottimeOffset(in: []) == 0)
    }
}
