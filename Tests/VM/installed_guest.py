#!/usr/bin/python3
"""Runs in the guest, as root, at each of its boots: installs the packages, and looks whether Jostle works as installed.

/opt/test holds this file, the packages (`old/` and `new/`, of which the second are a later version) and what else is
needed. What is to be done after a reboot stands in a file.
"""

import json
import os
import pathlib
import pwd
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
PLAYER = "org.example.Player"
# An app that outlives its process: it registers once, and the rest is the broker's to keep.
REGISTER = f"""
import asyncio, jostle
async def main():
    async with jostle.App("{PLAYER}", durable=True) as app:
        await app.add("skip", preset="shake")
asyncio.run(main())
"""


def say(text):
    print(f"{boottime():7.1f}  {text}", flush=True)


def check(holds, what):
    if not holds:
        raise AssertionError(what)
    say(what)


def until(what, holds, patience=60):
    """Looks until it holds; what has to do with processors that do not exist takes its time."""
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

    @property
    def account(self):
        return {"user": self.name, "group": self.user, "extra_groups": [], "env": self.environment, "cwd": "/"}

    def log_in(self):
        run("systemctl", "start", f"getty@tty{self.console}.service")
        until(f"{self.name} has a bus", lambda: os.path.exists(self.bus))
        until(f"{self.name} has a session", self.session)

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
        done = subprocess.run(
            command, **self.account, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=timeout)
        if done.returncode != 0 and not fails:
            raise AssertionError(f"{self.name}: {command} ended with {done.returncode}: {done.stdout}")
        return done.stdout

    def sensor(self):
        """What the broker says of the accelerometer."""
        lines = [json.loads(line) for line in self("jostle", "status", "--json").splitlines()]
        return next((line for line in lines if line.get("sensor") == "accelerometer"), None)


class Watch:
    """`jostle watch` of somebody; its events are kept as they come."""

    def __init__(self, person, *arguments):
        self.person, self.lines = person, []
        self.process = subprocess.Popen(
            ["jostle", "watch", "--json", *arguments], **person.account, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def events(self):
        return [json.loads(line) for line in self.lines if line.startswith('{"detector":')]

    def is_in_force(self):
        if self.process.poll() is not None:
            raise AssertionError(f"jostle watch ended: {self.lines}")
        return any(line.startswith('{"watching":') for line in self.lines)

    def end(self):
        self.process.terminate()
        self.process.wait(60)


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

    def felt(self, watch, what, patience=90):
        """Shakes until somebody has an event of it; returns how long that took."""
        began, known = boottime(), len(watch.events)
        again = 0

        def is_there():
            nonlocal again
            if boottime() > again:
                self.hand.shake()
                again = boottime() + 6
            return len(watch.events) > known

        until(what, is_there, patience)
        say(what)
        return boottime() - began

    def unfelt(self, watch, other, what):
        """Nothing comes of a shake; how long that is to be looked at says the watch of somebody else, who has an event of it."""
        known = len(watch.events)
        self.felt(other, f"{other.person.name} hears a shake")
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
    tablet.felt(watch, "alice hears a shake, with nothing set up")
    check(boottime() - installed < 60 * SLOWNESS, f"the first event came {boottime() - installed:.1f} s after apt install")
    state = json.loads(run("busctl", "--json=short", "get-property", "org.jostle.Sensors1",
                           "/org/jostle/Sensors1/accelerometer", "org.jostle.Sensors1.Sensor", "Method"))
    check(state["data"] == "buffered", "the reader reads through the device's buffer: udev's rules hold for a device that was there")
    say(alice("jostle", "doctor", fails=True))
    check(alice("jostle", "doctor", "--json", fails=True).count('"wrong"') == 0, "jostle doctor finds nothing wrong")
    check("jostle-watch" in alice("man", "--path", "jostle-watch"), "man knows jostle-watch")

    bob.log_in()
    bob.come_to_front()
    theirs = Watch(bob, "shake")
    until("bob's detector is in force", theirs.is_in_force)
    tablet.felt(theirs, "bob, who is in front now, hears a shake")
    tablet.unfelt(watch, theirs, "alice, who is not, hears nothing")
    check(not alice.sensor()["available"], f"and is told why: {alice.sensor()['detail']}")
    alice.come_to_front()
    tablet.felt(watch, "back in front, alice hears a shake")
    tablet.unfelt(theirs, watch, "bob hears nothing any more")
    theirs.end()

    for locked in [True, False]:
        run("busctl", "call", "org.freedesktop.login1", f"/org/freedesktop/login1/session/{escaped(alice.session())}",
            "org.freedesktop.login1.Session", "SetLockedHint", "b", str(locked).lower())
        until("the broker knows", lambda: ("the screen is locked" in alice("jostle", "status")) == locked)
        say("the screen is locked" if locked else "and unlocked")

    run("systemctl", "kill", "-s", "KILL", "jostle-sensord.service")
    tablet.felt(watch, "the reader was killed, and alice hears a shake")
    alice("systemctl", "--user", "kill", "-s", "KILL", "jostle-brokerd.service")
    tablet.felt(watch, "the broker was killed, and alice hears a shake")

    pathlib.Path("/sys/power/mem_sleep").write_text("deep")
    # Later than it takes to fall asleep, or nobody would wake it.
    pathlib.Path("/sys/class/rtc/rtc0/wakealarm").write_text(f"+{12 * SLOWNESS}")
    slept = time.clock_gettime(time.CLOCK_MONOTONIC), boottime()
    run("systemctl", "suspend")
    until("it slept", lambda: (boottime() - slept[1]) - (time.clock_gettime(time.CLOCK_MONOTONIC) - slept[0]) > 2)
    tablet.felt(watch, "the machine slept, and alice hears a shake")
    watch.end()

    # Only an app that says what it wants motion for may outlive its process.
    alice("sh", "-c", f"mkdir -p ~/.local/share/jostle/apps.d && "
          f"printf '[App]\\nUsage=Skips songs\\n' > ~/.local/share/jostle/apps.d/{PLAYER}.conf")
    alice("/usr/bin/python3", "-c", REGISTER)
    check(PLAYER in alice("jostle", "apps"), "a durable app is registered")
    return "second"


def second(tablet):
    """After a reboot: what is durable is there; then an upgrade, a removal, a purge."""
    alice = tablet.alice
    check(PLAYER in alice("jostle", "apps"), "the durable app is there after a reboot")
    watch = Watch(alice, "shake")
    tablet.felt(watch, "alice hears a shake after the reboot")

    pathlib.Path("/etc/jostle/policy.d").mkdir(parents=True, exist_ok=True)
    own = pathlib.Path("/etc/jostle/policy.d/50-own.conf")
    own.write_text("[App org.example.Other]\nPriority=high\n")
    reader = run("systemctl", "show", "-P", "MainPID", "jostle-sensord.service")
    broker = alice("systemctl", "--user", "show", "-P", "MainPID", "jostle-brokerd.service")
    packages = sorted(str(path) for path in (HERE / "new").glob("*.deb") if "sensor-proxy" not in path.name)
    run("apt-get", "install", "-y", "--no-install-recommends", *packages, timeout=900)
    check(run("systemctl", "show", "-P", "MainPID", "jostle-sensord.service") != reader, "the upgrade started the reader anew")
    until("the upgrade starts the broker anew",
          lambda: alice("systemctl", "--user", "show", "-P", "MainPID", "jostle-brokerd.service") not in (broker, "0\n"))
    check(PLAYER in alice("jostle", "apps") and own.exists(), "policy and state are kept")
    tablet.felt(watch, "alice hears a shake after the upgrade")

    run("apt-get", "install", "-y", "--no-install-recommends",
        *map(str, (HERE / "new").glob("jostle-sensor-proxy*.deb")), timeout=900)
    monitor = subprocess.Popen([HERE / "monitor-sensor"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seen = []
    threading.Thread(target=lambda: seen.extend(monitor.stdout), daemon=True).start()
    until("monitor-sensor finds the accelerometer", lambda: any("Has accelerometer" in line for line in seen))
    monitor.terminate()
    say("iio-sensor-proxy's monitor-sensor speaks to us: " + " | ".join(line.strip() for line in seen[:4]))
    watch.end()

    run("apt-get", "remove", "-y", *ours(), timeout=900)
    check(not any("jostle" in line for line in run("ps", "-e", "-o", "comm").splitlines()), "the removal ended the daemons")
    run("apt-get", "purge", "-y", "jostle", "jostle-sensor-proxy", "jostle-doc", "python3-jostle", timeout=900, fails=True)
    left = run("find", "/", "-xdev", "-iname", "*jostle*", "-not", "-path", "/home/*", "-not", "-path", "/opt/test/*",
               "-not", "-path", "/var/log/*", "-not", "-path", "/proc/*", "-not", "-path", "/var/cache/*").split()
    check(left == [], f"the purge left nothing: {left}")
    return None


def ours():
    return run("sh", "-c", "dpkg-query -W -f '${Package} ${db:Status-Status}\\n' '*jostle*' | sed -n 's/ installed$//p'").split()


def escaped(name):
    return "".join(c if c.isalnum() and (i or not c.isdigit()) else f"_{ord(c):02x}" for i, c in enumerate(name))


# How much longer things may take where qemu translates every instruction.
SLOWNESS = int((HERE / "slowness").read_text()) if (HERE / "slowness").exists() else 1


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
        run("systemctl", "reboot")


main()
