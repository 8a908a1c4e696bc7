import Glibc
import TestSupport
import Testing

extension Senses {
    /// jostle-focus with media players and control groups; of windows there are none.
    @Suite(.serialized) struct Sleepers {
        private static let (alpha, beta) = ("org.example.Alpha", "org.example.Beta")

        @Test func whosePlayerPlaysIsSaid() throws {
            let scene = try DesktopScene()
            // One that was there before.
            let early = try scene.startPlayer("early", entry: Self.alpha, "Playing")
            try scene.startFocus("lomiri", [:])
            try scene.until("playing \(Self.alpha)")
            let late = try scene.startPlayer("late", entry: Self.beta, "Paused")
            try scene.setStatus(of: "late", "Playing")
            try scene.until("playing \(Self.alpha) \(Self.beta)")
            try scene.setStatus(of: "early", "Stopped")
            try scene.until("playing \(Self.beta)")
            // Who is no player does not say how one is.
            let forged = try scene.stage.busctl(
                "emit", "/org/mpris/MediaPlayer2", "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as",
                "org.mpris.MediaPlayer2.Player", "1", "PlaybackStatus", "s", "Stopped", "0")
            #expect(forged.status == 0, "\(forged.stderr)")
            // A broker that comes is told.
            try scene.endBroker()
            try scene.startBroker()
            try scene.until("playing \(Self.beta)")
            try scene.stage.kill(late)
            try scene.until("playing")
            _ = try early.terminate()
        }

        /// One connection may have more names than a message may have values.
        @Test func whoHasThousandsOfNamesHidesNoPlayer() throws {
            let scene = try DesktopScene()
            let player = try scene.startPlayer("one", entry: Self.alpha, "Playing")
            let crowd = scene.keep(
                try BackgroundProgram(
                    tool: [
                        "python3", Programs.source("Tests/Scripts/many-names.py"), scene.stage.address,
                        "org.mpris.MediaPlayer2.org.example.Crowd", "17000",
                    ]))
            try crowd.waitUntilSaid("ready", timeout: .seconds(120))
            try scene.startFocus("lomiri", [:])
            try scene.until("playing \(Self.alpha)")
            _ = try player.terminate()
        }

        /// What a player says of its app counts less than that its process is an app on the bus.
        @Test func aPlayerIsItsProcessApp() throws {
            let scene = try DesktopScene(broker: false)
            let player = try scene.startPlayer("one", entry: Self.beta, "Playing")
            try scene.startBroker("\(Self.alpha)=\(player.pid)")
            try scene.startFocus("lomiri", [:])
            try scene.until("playing \(Self.alpha)")
        }

        /// What a broker had no room for it is told again, though nothing else happens.
        @Test func aBrokerThatHadNoRoomIsToldAgain() throws {
            let scene = try DesktopScene(broker: false)
            let player = try scene.startPlayer("one", entry: Self.alpha, "Playing")
            try scene.startBroker("busy")
            try scene.startFocus("lomiri", [:])
            try scene.until("playing \(Self.alpha)")
            _ = try player.terminate()
        }

        /// What fails for the moment, as where the bus does not say who asks, is no refusal.
        @Test(arguments: ["busy", "failing"])
        func aBrokerThatFailedIsAskedAgainWhichAppsThereAre(_ fault: String) throws {
            let scene = try DesktopScene(broker: false)
            let player = try scene.startPlayer("one", entry: Self.beta, "Playing")
            try scene.startBroker(fault, "\(Self.alpha)=\(player.pid)")
            try scene.startFocus("lomiri", [:])
            try scene.until("playing \(Self.alpha)")
            _ = try player.terminate()
        }

        /// The broker hangs when jostle-focus comes, for longer than an answer is waited for.
        @Test func aBrokerThatDidNotSayWhichAppsThereAreIsAskedAgain() throws {
            let scene = try DesktopScene(broker: false)
            let player = try scene.startPlayer("one", entry: Self.beta, "Playing")
            try scene.startBroker("\(Self.alpha)=\(player.pid)")
            let broker = try scene.theBroker()
            try broker.stop()
            try scene.startFocus("lomiri", [:])
            let focus = try #require(scene.focus)
            _ = try focus.waitForLine(on: .errors, timeout: .seconds(60)) {
                $0.contains("does not say which apps there are")
            }
            try broker.signal(SIGCONT)
            try scene.until("playing \(Self.alpha)")
        }

        /// One that lists the same again and again is not asked for ever, and what it listed counts.
        @Test func aBrokerThatListsWithoutEndIsNotAskedForEver() throws {
            let scene = try DesktopScene(broker: false)
            let player = try scene.startPlayer("one", entry: Self.beta, "Playing")
            try scene.startBroker("endless", "\(Self.alpha)=\(player.pid)")
            try scene.startFocus("lomiri", [:])
            try scene.until("playing \(Self.alpha)")
            _ = try player.terminate()
        }

        /// It learns that there is something that it was not told of, and asks.
        @Test func anAppWhoseEndWasMissedIsForgotten() throws {
            let scene = try DesktopScene(broker: false)
            let player = try scene.startPlayer("one", entry: Self.beta, "Playing")
            try scene.startBroker("\(Self.alpha)=\(player.pid)")
            try scene.startFocus("lomiri", [:])
            try scene.until("playing \(Self.alpha)")
            try scene.theBroker().signal(SIGUSR1)
            try scene.until("playing \(Self.beta)")
        }

        @Test func anAppInAFrozenGroupIsSaidUntilItIsThawed() throws {
            let scene = try DesktopScene(broker: false)
            let groups = try Groups(in: scene.stage.bus.directory)
            let (one, two) = (try groups.make("one"), try groups.make("two"))
            let app = scene.keep(try BackgroundProgram(tool: ["sleep", "1000"]))
            let other = scene.keep(try BackgroundProgram(tool: ["sleep", "1000"]))
            try one.add(app.pid)
            try two.add(other.pid)
            // One that was frozen before.
            try two.freeze(true)
            try scene.startBroker("\(Self.alpha)=\(app.pid)", "\(Self.beta)=\(other.pid)")
            try scene.startFocus("lomiri", [:])
            try scene.until("frozen \(Self.beta)")
            try one.freeze(true)
            try scene.until("frozen \(Self.alpha) \(Self.beta)")
            try two.freeze(false)
            try scene.until("frozen \(Self.alpha)")
            // With what it is in, it is frozen too.
            try one.freeze(false)
            try scene.until("frozen")
            try groups.all.freeze(true)
            try scene.until("frozen \(Self.alpha) \(Self.beta)")
            try groups.all.freeze(false)
            try scene.until("frozen")
            // It goes elsewhere, and is followed, as nobody is where it was.
            try two.add(app.pid)
            try two.freeze(true)
            try scene.until("frozen \(Self.alpha) \(Self.beta)")
            try two.freeze(false)
            try scene.until("frozen")
        }

        /// A user may have no more watches than the kernel gives: then it is seen a little later that an app goes on.
        @Test func whoGoesOnIsSeenWhereNoWatchIsLeft() throws {
            let scene = try DesktopScene(broker: false)
            let groups = try Groups(in: scene.stage.bus.directory)
            let group = try groups.make("one")
            let app = scene.keep(try BackgroundProgram(tool: ["sleep", "1000"]))
            try group.add(app.pid)
            try group.freeze(true)
            let fault = "\(scene.stage.home)/fault"
            try #require(try Tool.run(["sh", "-c", "printf e > \"$0\"", fault]).status == 0)
            try scene.startBroker("\(Self.alpha)=\(app.pid)")
            try scene.startFocus(
                "lomiri", ["LD_PRELOAD": "\(Programs.directory)/libdisk-faults.so", "DISK_FAULTS": fault])
            try scene.until("frozen \(Self.alpha)")
            try group.freeze(false)
            try scene.until("frozen")
            try group.freeze(true)
            try scene.until("frozen \(Self.alpha)")
            try group.freeze(false)
        }
    }
}

/// Control groups of version 2, which a test mounts and makes, and removes with everything in them.
private final class Groups {
    private let point: String
    let all: Group
    private var made: [Group] = []

    struct Group {
        let path: String

        func add(_ process: Int32) throws { try self.write("cgroup.procs", "\(process)") }
        func freeze(_ isFrozen: Bool) throws { try self.write("cgroup.freeze", isFrozen ? "1" : "0") }

        private func write(_ file: String, _ text: String) throws {
            let result = try Tool.run(["sh", "-c", "echo \(text) > \(self.path)/\(file)"])
            try #require(result.status == 0, "\(result.stderr)")
        }
    }

    init(in directory: String) throws {
        self.point = "\(directory)/groups"
        let mounted = try Tool.run(["sh", "-ec", "mkdir \(self.point); mount -t cgroup2 none \(self.point)"])
        try #require(mounted.status == 0, "control groups are mounted by root: \(mounted.stderr)")
        self.all = Group(path: "\(self.point)/jostle-test-\(getpid())")
        try self.make(self.all)
    }

    func make(_ name: String) throws -> Group {
        let group = Group(path: "\(self.all.path)/\(name)")
        try self.make(group)
        return group
    }

    private func make(_ group: Group) throws {
        try #require(mkdir(group.path, 0o755) == 0)
        self.made.append(group)
    }

    deinit {
        for group in self.made.reversed() {
            // Those in it are killed, also while they are frozen; a group can be removed when they are gone.
            let end =
                "echo 1 > \(group.path)/cgroup.kill; n=0; until rmdir \(group.path) 2> /dev/null || [ $n = 200 ]; do n=$((n + 1)); sleep 0.05; done"
            _ = try? Tool.run(["sh", "-c", end])
        }
        _ = try? Tool.run(["umount", self.point])
    }
}

extension DesktopScene {
    private static let player = "/org/mpris/MediaPlayer2"

    /// Starts a media player, and waits for its name.
    func startPlayer(_ name: String, entry: String, _ status: String) throws -> BackgroundProgram {
        let program = self.keep(
            try BackgroundProgram(
                tool: [
                    "python3", Programs.source("Tests/Scripts/player.py"), self.stage.address, name, entry, status,
                ]))
        try program.waitUntilSaid("ready")
        return program
    }

    /// Has a player of this name play, or not.
    func setStatus(of name: String, _ status: String) throws {
        let told = try self.stage.busctl(
            "call", "org.mpris.MediaPlayer2.\(name)", Self.player, "org.example.Player", "Become", "s", status)
        try #require(told.status == 0, "\(told.stderr)")
    }
}
