#!/usr/bin/python3
"""Runs in the guest, as root, at each of its boots: installs the packages, and looks whether Jostle works as installed.

/opt/test holds this file, the packages (`old/` and `new/`, of which the second are a later version) and what else is
needed. What is to be done after a reboot stands in a file.
"""

import contextlib
import json
import os
import pathlib
import pwd
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hand import Hand, boottime  # noqa: E402
from uhid_accelerometer import Accelerometer  # noqa: E402

HERE = pathlib.Path("/opt/test")
STAGE = pathlib.Path("/var/lib/test-stage")
# What was kept when the machine was started anew.
LEDGER = pathlib.Path("/var/lib/test-ledger")
# How much longer things may take where qemu translates every instruction.
SLOWNESS = int((HERE / "slowness").read_text()) if (HERE / "slowness").exists() else 1
EXAMPLES = "/usr/share/doc/jostle/docs/examples"
PLAYER = "org.example.Player"
# An app that outlives its process: it registers once, and the rest is the broker's to keep.
REGISTER = f"""
import asyncio, jostle
async def main():
    async with jostle.App("{PLAYER}", durable=True) as app:
        await app.add("skip", preset="shake")
asyncio.run(main())
"""
POLICY = pathlib.Path("/etc/jostle/policy.d/60-own.conf")
# What the app missed waits for it on the disk.
KEEP = f"""[Rule player]
Priority=200
WhenApp={PLAYER}
Then=allow
Deliver=store
Reliability=ack
Durability=persistent
Lifespan=2h
"""
# By LogEvent.swift.
REFUSED_POLICY = "c3d3e3c8320549a5b5f19b9a6dab2106"
# A name on the system bus is its owner's by that bus's policy.
APPLIANCE = "org.example.Appliance"
APPLIANCE_MAY = f"""<busconfig><policy user="root"><allow own="{APPLIANCE}"/></policy></busconfig>"""


def say(text):
    print(f"{boottime():7.1f}  {text}", flush=True)


def check(holds, what):
    if not holds:
        raise AssertionError(what)
    say(what)


def until(what, holds, patience=60):
    """Looks until it holds; what has to do with processors that do not exist takes its time."""
    patience *= SLOWNESS
    deadline = time.monotonic() + patience
    while not (answer := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience} s: {what}")
        time.sleep(0.1)
    return answer


def run(*command, fails=False, timeout=300):
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
    if done.returncode != 0 and not fails:
        raise AssertionError(f"{command} ended with {done.returncode}: {done.stdout}")
    return done.stdout


class Person:
    """Somebody who is logged in on a console, and runs programs there."""

    def __init__(self, name, console):
        self.name, self.console = name, console
        self.user = pwd.getpwnam(name).pw_uid
        runtime = f"/run/user/{self.user}"
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": f"/home/{name}", "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": runtime,
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus",
        }
        self.bus = f"{runtime}/bus"

    def log_in(self):
        run("systemctl", "start", f"getty@tty{self.console}.service")
        until(f"{self.name} has a bus", lambda: os.path.exists(self.bus))
        session = until(f"{self.name} has a session", self.session)
        self.environment["XDG_SESSION_ID"] = session
        scope = run("loginctl", "show-session", session, "-P", "Scope").strip()
        self.group = "/sys/fs/cgroup" + run("systemctl", "show", "-P", "ControlGroup", scope).strip()

    def start(self, *command):
        """Starts what somebody types at the console: a program of the session, not of this test."""
        return subprocess.Popen(
            ["/bin/sh", "-c", 'echo 0 > "$1/cgroup.procs" && shift && exec "$@"', "sh", self.group, "/usr/bin/setpriv",
             f"--reuid={self.user}", f"--regid={self.user}", "--init-groups", *command],
            env=self.environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def session(self):
        for line in run("loginctl", "list-sessions", "--no-legend").splitlines():
            words = line.split()
            if words[2] == self.name and run("loginctl", "show-session", words[0], "-p", "Class").strip() == "Class=user":
                return words[0]
        return None

    def is_in_front(self):
        return "Active=yes" in run("loginctl", "show-session", self.session(), "-p", "Active")

    def come_to_front(self):
        run("chvt", str(self.console))
        until(f"{self.name} is in front", self.is_in_front)

    def __call__(self, *command, fails=False, timeout=120):
        process = self.start(*command)
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"{self.name}: {command} does not end: {process.communicate()[0]}") from None
        if process.returncode != 0 and not fails:
            raise AssertionError(f"{self.name}: {command} ended with {process.returncode}: {said}")
        return said

    def as_app(self, app, *command):
        """Starts a program in a unit that is the app's, as desktops do."""
        unit = f"app-{app}@1.service"
        program = Program(self.start(
            "systemd-run", "--user", "--quiet", "--pipe", "--wait", "--collect", f"--unit={unit}", *command))
        program.stop = lambda: self("systemctl", "--user", "stop", unit)
        return program

    def broker(self):
        """The process of the broker, or None."""
        return int(self("systemctl", "--user", "show", "-P", "MainPID", "jostle-brokerd.service")) or None

    def owed(self):
        """The epochs of the events that the broker's disk holds for apps."""
        file = f"file:/home/{self.name}/.local/state/jostle/state.db?mode=ro"
        with contextlib.closing(sqlite3.connect(file, uri=True)) as database:
            return {epoch for (epoch,) in database.execute("SELECT epoch FROM due")}

    def sensor(self):
        """What the broker says of the accelerometer."""
        lines = [json.loads(line) for line in self("jostle", "status", "--json").splitlines()]
        return next((line for line in lines if line.get("sensor") == "accelerometer"), None)


class Administrator:
    """Root, who is not logged in."""

    def start(self, *command):
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Program:
    """A program that somebody has running; its lines are kept as they come."""

    def __init__(self, process):
        self.lines, self.process = [], process
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def has(self, beginning):
        if self.process.poll() not in (None, 0):
            raise AssertionError(f"{self.process.args} ended with {self.process.returncode}: {self.lines}")
        return any(line.startswith(beginning) for line in self.lines)

    def end(self):
        self.process.terminate()
        self.process.wait(60)


class Watch(Program):
    """`jostle watch` of somebody."""

    def __init__(self, person, *arguments):
        super().__init__(person.start("jostle", "watch", "--json", *arguments))

    @property
    def events(self):
        return [line for line in self.lines if line.startswith('{"detector":')]

    def is_in_force(self):
        return self.has('{"watching":')


class Example(Program):
    """One of the examples that the documentation's package brings."""

    def __init__(self, person, name, *arguments):
        super().__init__(person.start("/usr/bin/python3", f"{EXAMPLES}/{name}", *arguments))

    @property
    def events(self):
        return [line for line in self.lines if line.startswith("event ")]

    def is_in_force(self):
        return self.has("watching")


class Tablet:
    """The machine: a device, and two people."""

    def __init__(self):
        for module in ["uhid", "hid-sensor-hub", "hid-sensor-trigger", "hid-sensor-accel-3d"]:
            run("modprobe", module)
        # So little is counted that no step of it is a motion.
        self.hand = Hand(peak=4_000, length=2, cycle=100)
        self.device = Accelerometer(self.hand)
        until("the kernel made a device", lambda: os.path.exists("/dev/iio:device0"))
        self.alice, self.bob = Person("alice", 1), Person("bob", 2)
        self.alice.log_in()
        until("alice is in front", self.alice.is_in_front)

    def felt(self, what, *watches, patience=90):
        """Shakes until each of the watches has an event of it."""
        known, again = [len(watch.events) for watch in watches], 0

        def is_there():
            nonlocal again
            for watch in watches:
                watch.is_in_force()
            if boottime() > again:
                self.hand.shake()
                again = boottime() + 6
            return all(len(watch.events) > count for watch, count in zip(watches, known))

        until(what, is_there, patience)
        say(what)

    def unfelt(self, what, watch, other):
        """Nothing comes of a shake; how long that is to be looked at says the watch of somebody else, who has an event of it."""
        known = len(watch.events)
        self.felt("a shake is heard", other)
        check(len(watch.events) == known, what)


def first(tablet):
    """From a machine without Jostle to one that works, and all that can happen to it before it is started anew."""
    alice, bob = tablet.alice, tablet.bob
    began = boottime()
    packages = sorted(str(path) for path in (HERE / "old").glob("*.deb") if "sensor-proxy" not in path.name)
    run("apt-get", "install", "-y", "--no-install-recommends", *packages, timeout=900)
    installed = boottime()
    say(f"apt installed {len(packages)} packages in {installed - began:.0f} s")

    watch = Watch(alice, "shake")
    tablet.felt("alice hears a shake, with nothing set up", watch)
    check(boottime() - installed < 60 * SLOWNESS, f"the first event came {boottime() - installed:.1f} s after apt install")
    state = json.loads(run("busctl", "--json=short", "get-property", "org.jostle.Sensors1",
                           "/org/jostle/Sensors1/accelerometer", "org.jostle.Sensors1.Sensor", "Method"))
    check(state["data"] == "buffered", "the reader reads through the device's buffer: udev's rules hold for a device that was there")
    say(alice("jostle", "doctor", fails=True))
    check(alice("jostle", "doctor", "--json", fails=True).count('"wrong"') == 0, "jostle doctor finds nothing wrong")
    check("jostle-watch" in alice("man", "--path", "jostle-watch"), "man knows jostle-watch")

    programs(tablet)
    appliance(tablet)
    bridges(tablet)
    two_people(tablet, watch)

    for locked in [True, False]:
        run("busctl", "call", "org.freedesktop.login1", f"/org/freedesktop/login1/session/{escaped(alice.session())}",
            "org.freedesktop.login1.Session", "SetLockedHint", "b", str(locked).lower())
        until("the broker knows", lambda: ("the screen is locked" in alice("jostle", "status")) == locked)
        say("the screen is locked" if locked else "and unlocked")

    run("systemctl", "kill", "-s", "KILL", "jostle-sensord.service")
    tablet.felt("the reader was killed, and alice hears a shake", watch)
    alice("systemctl", "--user", "kill", "-s", "KILL", "jostle-brokerd.service")
    tablet.felt("the broker was killed, and alice hears a shake", watch)

    pathlib.Path("/sys/power/mem_sleep").write_text("deep")
    # Later than it takes to fall asleep, or nobody would wake it.
    pathlib.Path("/sys/class/rtc/rtc0/wakealarm").write_text(f"+{12 * SLOWNESS}")
    slept = time.clock_gettime(time.CLOCK_MONOTONIC), boottime()
    run("systemctl", "suspend")
    until("it slept", lambda: (boottime() - slept[1]) - (time.clock_gettime(time.CLOCK_MONOTONIC) - slept[0]) > 2)
    tablet.felt("the machine slept, and alice hears a shake", watch)
    watch.end()

    quiet(alice, bob)
    durable(tablet)
    return "second"


def programs(tablet):
    """Programs of other kinds than `jostle watch`: the examples, a recording, and what reads policy."""
    alice = tablet.alice
    listeners = [Example(alice, "watch.py"), Example(alice, "wire.py"),
                 Example(alice, "careful.py", "org.example.Careful", "/home/alice/careful")]
    for listener in listeners:
        until("the example listens", listener.is_in_force)
    tablet.felt("three examples hear a shake", *listeners)
    for listener in listeners:
        listener.end()
    rows = [line for line in alice("jostle", "record", "--rate", "100", "--for", "1s", "-").splitlines() if line[:1].isdigit()]
    check(len(rows) > 50, f"alice records {len(rows)} samples herself")
    explained = alice("jostle", "explain", "--app", "org.example.Careful")
    check("org.example.Careful" in explained, f"jostle explain knows of it: {explained}")

    app = alice.as_app(PLAYER, "jostle", "watch", "--app", PLAYER, "shake")
    until("the app is there", lambda: PLAYER in alice("jostle", "apps"))
    shown = alice("jostle", "app", PLAYER)
    check("proven by its unit" in shown, f"a unit proves its app: {shown}")
    app.stop()

    POLICY.write_text("[Rule player]\nThen=perhaps\n")
    told = alice("systemctl", "--user", "reload", "jostle-brokerd.service", fails=True)
    told += run("journalctl", "-x", "--no-pager", f"MESSAGE_ID={REFUSED_POLICY}")
    check("The policy files were refused" in told and str(POLICY) in told, "a policy with a mistake is refused, and the journal says why")
    POLICY.write_text(KEEP)
    alice("systemctl", "--user", "reload", "jostle-brokerd.service")
    check("player" in alice("jostle", "policy", "show"), "and one without is in force")


def appliance(tablet):
    """The broker of the system bus, for machines without sessions: started by hand, and proving apps from where its unit puts it."""
    conf = pathlib.Path("/etc/dbus-1/system.d/appliance.conf")
    conf.write_text(APPLIANCE_MAY)
    run("systemctl", "reload", "dbus.service")
    run("systemctl", "start", "jostle-brokerd.service")
    run("systemd-run", "--quiet", f"--unit={APPLIANCE}.service", "jostle", "--bus", "system", "watch", "--app", APPLIANCE, "shake")
    until("the appliance's app is there", lambda: APPLIANCE in run("jostle", "--bus", "system", "apps"))
    shown = run("jostle", "--bus", "system", "app", APPLIANCE)
    check("proven by its unit" in shown, f"a unit proves an app to the broker of the system: {shown}")
    watch = Watch(Administrator(), "--bus", "system", "shake")
    tablet.felt("an app on the system bus hears a shake", watch)
    watch.end()
    run("systemctl", "stop", f"{APPLIANCE}.service")
    run("systemctl", "stop", "jostle-brokerd.service")
    conf.unlink()
    run("systemctl", "reload", "dbus.service")


class Server:
    """The server that the page on fleets sets up, with its configuration and its list of rights, and a port for who has a password."""

    def __init__(self):
        self.directory = pathlib.Path("/etc/mosquitto")
        page = pathlib.Path("/usr/share/doc/jostle/docs/fleet.md").read_text()

        def block(mark):
            return page.split(f"`{mark}`", 1)[1].split("```\n", 2)[1]

        with open("/etc/hosts", "a") as hosts:
            hosts.write("127.0.0.1 mqtt.example.org\n")
        self.make("authority", None)
        for name, host in [("server", "mqtt.example.org"), ("kiosk-17", "kiosk-17"), ("archive", "archive"),
                           ("operator", "operator")]:
            self.make(name, host)
        (self.directory / "jostle.acl").write_text(block("/etc/mosquitto/jostle.acl"))
        passwords = self.directory / "jostle.passwords"
        run("mosquitto_passwd", "-b", "-c", str(passwords), "tablet.alice", "quite-secret-4711")
        (self.directory / "jostle.conf").write_text(
            f"per_listener_settings true\npersistence_location /var/lib/mosquitto/\n{block('/etc/mosquitto/conf.d/jostle.conf')}"
            f"listener 8884\ncertfile {self.directory}/server.crt\nkeyfile {self.directory}/server.key\n"
            f"password_file {passwords}\nacl_file {self.directory}/jostle.acl\n")
        run("sh", "-c", f"chown mosquitto {self.directory}/*.key {self.directory}/jostle.*")
        run("systemd-run", "--quiet", "--unit=test-server", "/usr/sbin/mosquitto", "-c", str(self.directory / "jostle.conf"))
        until("there is a server", self.answers)

    def answers(self):
        with contextlib.closing(socket.socket()) as connection:
            return connection.connect_ex(("127.0.0.1", 8883)) == 0

    def make(self, name, host):
        """A key and its certificate; without a host that of the authority."""
        run("sh", "-ec", f"cd {self.directory}; openssl ecparam -name prime256v1 -genkey -noout -out {name}.key; " + (
            f"openssl req -new -key {name}.key -subj /CN={name} -out {name}.csr; printf 'subjectAltName=DNS:{host}' > {name}.ext; "
            f"openssl x509 -req -in {name}.csr -CA authority.crt -CAkey authority.key -CAcreateserial -days 30 -extfile {name}.ext "
            f"-out {name}.crt; rm {name}.csr {name}.ext" if host else
            f"openssl req -x509 -new -key {name}.key -days 30 -subj /CN={name} -out {name}.crt"))

    def client(self, program, name, *arguments):
        at = str(self.directory)
        return (program, "-V", "5", "-h", "mqtt.example.org", "-p", "8883", "--cafile", f"{at}/authority.crt", "--cert",
                f"{at}/{name}.crt", "--key", f"{at}/{name}.key", "-q", "1", *arguments)

    def listen(self):
        """Whoever is told all: each line is a topic and what was said there."""
        return Program(Administrator().start(*self.client("mosquitto_sub", "archive", "-t", "jostle/#", "-F", "%t %p")))

    def want(self, device, state):
        run(*self.client("mosquitto_pub", "operator", "-r", "-t", f"jostle/1/{device}/desired", "-m", json.dumps(state)))

    def end(self):
        run("systemctl", "stop", "test-server.service")
        run("sh", "-c", f"rm -f {self.directory}/jostle.* {self.directory}/*.key {self.directory}/*.crt")


def bridges(tablet):
    """A bridge beside the system's broker, and one beside a user's, by their units: what they are told in secret, what they tell."""
    server = Server()
    archive = server.listen()
    etc = pathlib.Path("/etc/jostle")
    for name in ["authority.crt", "kiosk-17.crt"]:
        run("install", "-m", "644", f"/etc/mosquitto/{name}", str(etc / name))
    # Nobody but root may read the key: the unit hands it over.
    run("install", "-m", "600", "/etc/mosquitto/kiosk-17.key", str(etc / "kiosk-17.key"))
    (etc / "bridge.conf").write_text(
        f"[Server]\nHost=mqtt.example.org\nAuthorities={etc}/authority.crt\nCertificate={etc}/kiosk-17.crt\nKey=credential:key\n"
        "[Bridge]\nDevice=kiosk-17\n[Detector knock]\npreset=shake\n[Allow]\nDesired=policy pause\nConfirmWithin=30s\n")
    own = pathlib.Path("/etc/systemd/system/jostle-bridge.service.d/own.conf")
    own.parent.mkdir()
    own.write_text(f"[Service]\nLoadCredential=key:{etc}/kiosk-17.key\n")
    run("systemctl", "daemon-reload")
    say(f"jostle bridge check: {run('jostle', 'bridge', 'check', str(etc / 'bridge.conf'))}")
    run("systemctl", "start", "jostle-brokerd.service")
    run("systemctl", "enable", "--now", "jostle-bridge.service")
    until("the bridge is there", lambda: archive.has('jostle/1/kiosk-17/presence {"online":true'))
    said = run("systemd-analyze", "security", "--no-pager", "jostle-bridge.service").splitlines()[-1]
    exposed = float(said.split(":")[1].split()[0])
    check(exposed <= 2.5, f"the bridge's unit is exposed by {exposed}")
    process = int(run("systemctl", "show", "-P", "MainPID", "jostle-bridge.service"))
    check(pathlib.Path(f"/proc/{process}").owner() == "jostle", "it runs as the broker's user")

    class Told:
        """What came to the server of a device's own detector."""

        def __init__(self, device):
            self.beginning = f"jostle/1/{device}/event/knock "

        @property
        def events(self):
            return [line for line in archive.lines if line.startswith(self.beginning)]

        def is_in_force(self):
            return True

    tablet.felt("the server hears of a shake", Told("kiosk-17"))
    # What is wanted from outside is applied by the broker of the system, which reads it where the bridge of the system keeps it.
    server.want("kiosk-17", {"version": 1, "policy": {"50-fleet.conf": "[App org.example.Kiosk]\nQuota=3/1min\n"}})
    until("what is wanted is applied", lambda: archive.has('jostle/1/kiosk-17/reported {"version":1,"state":"applied"'))
    files = run("busctl", "get-property", "org.jostle.Broker1", "/org/jostle/Broker1", "org.jostle.Broker1", "PolicyFiles")
    check("/var/lib/jostle-bridge/desired/current/policy.d/50-fleet.conf" in files, "the broker goes by it")
    run("systemctl", "kill", "-s", "KILL", "jostle-bridge.service")
    until("systemd starts it anew", lambda: int(run("systemctl", "show", "-P", "MainPID", "jostle-bridge.service")) not in (0, process))
    tablet.felt("it was killed, and the server hears of a shake", Told("kiosk-17"))
    log = run("journalctl", "--no-pager", "-u", "jostle-bridge.service")
    check("PRIVATE" not in log and "connected to mqtt.example.org" in log, "its journal says where it is connected, and nothing secret")

    alice = tablet.alice
    alice("sh", "-c", "mkdir -p ~/.config/jostle ~/.config/systemd/user/jostle-bridge.service.d && umask 077 && "
          "echo quite-secret-4711 > ~/.config/jostle/bridge.password && "
          "printf '[Service]\\nLoadCredential=password:%%E/jostle/bridge.password\\n' > ~/.config/systemd/user/jostle-bridge.service.d/own.conf && "
          "printf '[Server]\\nHost=mqtt.example.org\\nPort=8884\\nAuthorities=/etc/jostle/authority.crt\\nUser=tablet.alice\\n"
          "Password=credential:password\\n[Detector knock]\\npreset=shake\\n' > ~/.config/jostle/bridge.conf")
    alice("systemctl", "--user", "daemon-reload")
    alice("systemctl", "--user", "start", "jostle-bridge.service")
    until("alice's bridge is there", lambda: archive.has('jostle/1/tablet.alice/presence {"online":true'))
    tablet.felt("the server hears of a shake of alice's", Told("tablet.alice"))
    theirs = int(alice("systemctl", "--user", "show", "-P", "MainPID", "jostle-bridge.service"))
    for place in ["environ", "cmdline"]:
        check(b"quite-secret" not in pathlib.Path(f"/proc/{theirs}/{place}").read_bytes(), f"her password stands in no {place}")
    said = [line for line in archive.lines if "quite-secret" in line]
    check(not said and "quite-secret" not in alice("journalctl", "--user", "--no-pager", fails=True), "nor in a topic or a log")
    alice("systemctl", "--user", "stop", "jostle-bridge.service")
    until("she said good-bye", lambda: archive.has('jostle/1/tablet.alice/presence {"online":false}'))
    alice("sh", "-c", "rm -r ~/.config/jostle/bridge.* ~/.config/systemd/user/jostle-bridge.service.d")
    alice("systemctl", "--user", "daemon-reload")

    run("systemctl", "disable", "--now", "jostle-bridge.service")
    until("the bridge said good-bye", lambda: archive.has('jostle/1/kiosk-17/presence {"online":false}'))
    run("systemctl", "stop", "jostle-brokerd.service")
    archive.end()
    server.end()
    for path in [own, etc / "bridge.conf", etc / "authority.crt", etc / "kiosk-17.crt", etc / "kiosk-17.key"]:
        path.unlink()
    own.parent.rmdir()
    run("systemctl", "daemon-reload")


def two_people(tablet, watch):
    alice, bob = tablet.alice, tablet.bob
    bob.log_in()
    bob.come_to_front()
    theirs = Watch(bob, "shake")
    until("bob's detector is in force", theirs.is_in_force)
    tablet.felt("bob, who is in front now, hears a shake", theirs)
    tablet.unfelt("alice, who is not, hears nothing", watch, theirs)
    check(not alice.sensor()["available"], f"and is told why: {alice.sensor()['detail']}")
    alice.come_to_front()
    tablet.felt("back in front, alice hears a shake", watch)
    tablet.unfelt("bob hears nothing any more", theirs, watch)
    theirs.end()


def quiet(alice, bob):
    """With nothing registered the daemons wake up to say that they live, and for nothing else; who does not say so is started anew."""
    daemons = int(run("systemctl", "show", "-P", "MainPID", "jostle-sensord.service")), alice.broker()

    def count():
        return {thread: times for process in daemons for thread, times in pauses(process).items()}

    def rest():
        before = count()
        time.sleep(3)
        return before == count()

    until("the daemons come to rest", rest)
    frozen = bob.broker()
    os.kill(frozen, signal.SIGSTOP)
    began, before = boottime(), count()
    passed, woken = 0, {}

    def is_over():
        nonlocal passed, woken
        now = {thread: times - before.get(thread, 0) for thread, times in count().items()}
        if not os.path.exists(f"/proc/{frozen}"):
            return True
        passed, woken = boottime() - began, now
        return False

    until("systemd ends who stands still", is_over, 120)
    say(f"bob's broker stood still, and was ended after {passed:.0f} s")
    # One ping in half of the watchdog's minute.
    check(max(woken.values()) <= passed / 30 + 1, f"the idle daemons only said that they live: {woken}")
    until("bob's broker is started anew", lambda: bob.broker() not in (None, frozen))


def pauses(process):
    """How often each of its threads has waited for something."""
    threads = {}
    for status in pathlib.Path(f"/proc/{process}/task").glob("*/status"):
        keys = dict(line.split(":", 1) for line in status.read_text().splitlines())
        threads[f"{keys['Name'].strip()} {keys['Pid'].strip()}"] = int(keys["voluntary_ctxt_switches"])
    return threads


def durable(tablet):
    """An app registers for good, and leaves; what it misses is kept."""
    alice = tablet.alice
    # Only an app that says what it wants motion for may outlive its process.
    alice("sh", "-c", f"mkdir -p ~/.local/share/jostle/apps.d && "
          f"printf '[App]\\nUsage=Skips songs\\n' > ~/.local/share/jostle/apps.d/{PLAYER}.conf")
    register = alice.as_app(PLAYER, "/usr/bin/python3", "-c", REGISTER)
    check(register.process.wait(120) == 0, f"an app registers for good: {register.lines}")
    check(PLAYER in alice("jostle", "apps"), "a durable app is registered")
    watch = Watch(alice, "shake")
    tablet.felt("alice hears a shake", watch)
    until("it is kept for the app", alice.owed)
    watch.end()
    LEDGER.write_text(json.dumps(sorted(alice.owed())))


def second(tablet):
    """After a reboot: what is durable is there; then an upgrade, a removal, a purge."""
    alice = tablet.alice
    check(PLAYER in alice("jostle", "apps"), "the durable app is there after a reboot")
    watch = Watch(alice, "shake")
    tablet.felt("alice hears a shake after the reboot", watch)
    missed = set(json.loads(LEDGER.read_text()))
    until("more is kept", lambda: len(alice.owed()) > len(missed))
    check(missed < alice.owed(), "what the durable app missed before is kept")

    upgrade(tablet, watch)
    facade(tablet)
    watch.end()
    leave()


def upgrade(tablet, watch):
    alice = tablet.alice
    own = POLICY.read_text()
    owed = alice.owed()
    reader = run("systemctl", "show", "-P", "MainPID", "jostle-sensord.service")
    broker = alice.broker()
    packages = sorted(str(path) for path in (HERE / "new").glob("*.deb") if "sensor-proxy" not in path.name)
    run("apt-get", "install", "-y", "--no-install-recommends", *packages, timeout=900)
    check(run("systemctl", "show", "-P", "MainPID", "jostle-sensord.service") not in (reader, "0\n"), "the upgrade started the reader anew")
    until("the upgrade starts the broker anew", lambda: alice.broker() not in (None, broker))
    check(POLICY.read_text() == own and PLAYER in alice("jostle", "apps"), "policy and state are kept")
    tablet.felt("alice hears a shake after the upgrade", watch)
    check(owed <= alice.owed(), f"{len(owed)} events are still kept for the durable app")

    count = len(alice.owed())
    app = alice.as_app(PLAYER, "/usr/bin/python3", f"{EXAMPLES}/careful.py", PLAYER, "/home/alice/player")
    until("all that was kept has come", lambda: app.has("nothing more is kept"))
    # What was felt last may not have been on the disk yet when it was counted.
    came = [line for line in app.lines if line.startswith("event")]
    check(len(came) >= count and all(line.startswith(f"event {number}: ") for number, line in enumerate(came, 1)),
          f"the app comes back, and has each of {count}: {came}")
    app.stop()


def facade(tablet):
    """jostle-sensor-proxy in the place of iio-sensor-proxy."""
    run("apt-get", "install", "-y", "--no-install-recommends",
        *map(str, (HERE / "new").glob("jostle-sensor-proxy*.deb")), timeout=900)
    monitor = Program(tablet.alice.start(str(HERE / "monitor-sensor")))
    until("monitor-sensor finds the accelerometer", lambda: any("Has accelerometer" in line for line in monitor.lines))
    say("iio-sensor-proxy's monitor-sensor speaks to us: " + " | ".join(line.strip() for line in monitor.lines[:4]))
    monitor.end()


def leave():
    installed = ours()
    run("apt-get", "remove", "-y", *installed, timeout=900)
    check(not any("jostle" in line for line in run("ps", "-e", "-o", "comm").splitlines()), "the removal ended the daemons")
    # apt does not know any more of a package of which removal left nothing.
    run("dpkg", "--purge", *installed, timeout=900)
    left = run("find", "/", "-xdev", "-iname", "*jostle*", "-not", "-path", "/home/*", "-not", "-path", "/opt/test/*",
               "-not", "-path", "/var/log/*", "-not", "-path", "/proc/*", "-not", "-path", "/var/cache/*").split()
    check(left == [], f"the purge left nothing: {left}")


def ours():
    return run("sh", "-c", "dpkg-query -W -f '${Package} ${db:Status-Status}\\n' '*jostle*' | sed -n 's/ installed$//p'").split()


def escaped(name):
    return "".join(c if c.isalnum() and (i or not c.isdigit()) else f"_{ord(c):02x}" for i, c in enumerate(name))


def main():
    stage = STAGE.read_text().strip() if STAGE.exists() else "first"
    say(f"the {stage} boot")
    try:
        following = {"first": first, "second": second}[stage](Tablet())
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        print(run("sh", "-c", "journalctl -b --no-pager -o short-monotonic | tail -n 150", fails=True), flush=True)
        print("ended: 1", flush=True)
        run("systemctl", "poweroff", "--force", fails=True)
        return
    if following is None:
        print("all is well\nended: 0", flush=True)
        run("systemctl", "poweroff")
    else:
        STAGE.write_text(following)
        print("to be continued", flush=True)
        run("systemctl", "reboot")


main()
