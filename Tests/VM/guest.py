#!/usr/bin/python3
"""Runs in the guest, as root: the reader and the broker with a true /dev/iio:device0, behind them a made-up sensor hub.

    guest.py PROGRAMS [SECONDS]

PROGRAMS is the directory of the programs; SECONDS is how long samples are counted (10). The reader runs as a user who may
do nothing by itself, so that what it needs comes from the udev rules that are installed with it.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hand import Hand, boottime  # noqa: E402
from uhid_accelerometer import Accelerometer  # noqa: E402

USER = "daemon"
MODULES = ["uhid", "hid-sensor-hub", "hid-sensor-trigger", "hid-sensor-accel-3d"]
RATE = 200
# What the y axis counts to.
CYCLE = 1_000
ADDRESS = "unix:path=/run/jostle/bus"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "DBUS_SESSION_BUS_ADDRESS": ADDRESS}


def check(holds, what):
    if not holds:
        raise AssertionError(what)
    print(f"{boottime():7.1f}  {what}", flush=True)


def until(what, holds, patience=60):
    """Looks until it holds; what has to do with processors that do not exist takes its time."""
    deadline = time.monotonic() + patience
    while not (answer := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience} s: {what}")
        time.sleep(0.05)
    return answer


def load(name, loaded=set()):
    """Loads a module and what it needs. The kernel's own way looks for modules where the machine has other ones, or none."""
    directory = os.environ["MODULES"]
    with open(f"{directory}/modules.dep") as file:
        table = dict(line.rstrip().split(":", 1) for line in file)
    target = next(path for path in table if os.path.basename(path) == f"{name}.ko")
    for path in [*reversed(table[target].split()), target]:
        if path not in loaded:
            loaded.add(path)
            subprocess.run(["busybox", "insmod", f"{directory}/{path}"], check=True)


class Program:
    """One of our programs, as the user; its lines are kept as they come."""

    def __init__(self, *arguments):
        self.lines = []
        self.process = subprocess.Popen(
            ["/run/jostle/programs/" + arguments[0], *arguments[1:]], user=USER, group=USER, extra_groups=[],
            env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def line(self, what, fits, after=0):
        def found():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.process.args} ended with {self.process.returncode}: {self.lines}")
            return next((line for line in self.lines[after:] if fits(line)), None)

        return until(what, found)

    def end(self):
        self.process.terminate()
        return self.process.wait(30)


def jostle(*arguments):
    return subprocess.run(
        ["/run/jostle/programs/jostle", *arguments], user=USER, group=USER, extra_groups=[], env=ENVIRONMENT,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True, timeout=60 + SECONDS).stdout


def sensor():
    lines = [json.loads(line) for line in jostle("sensors", "--json").splitlines()]
    return next((line for line in lines if line["sensor"] == "accelerometer"), None)


def event(program, after):
    def fits(line):
        return line.startswith('{"detector":') and json.loads(line)["t_us"] > after * 1e6

    return json.loads(program.line("an event", fits))


def set_up(programs):
    os.mkdir("/run/jostle")
    shutil.chown("/run/jostle", USER, USER)
    os.mkdir("/run/jostle/programs")
    for name in ["jostle", "jostle-sensord", "jostle-brokerd"]:
        shutil.copy(f"{programs}/{name}", "/run/jostle/programs")
    os.makedirs("/run/udev/rules.d")
    rules = pathlib.Path(__file__).parents[2] / "udev/60-jostle.rules.in"
    pathlib.Path("/run/udev/rules.d/60-jostle.rules").write_text(rules.read_text().replace("@user@", USER))
    subprocess.run(["/lib/systemd/systemd-udevd", "--daemon"], check=True)
    for name in MODULES:
        load(name)


def main(programs):
    set_up(programs)
    bus = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={ADDRESS}"], user=USER, group=USER,
        extra_groups=[], env=ENVIRONMENT, stdin=subprocess.DEVNULL)
    until("the bus is there", lambda: os.path.exists("/run/jostle/bus"))
    reader = Program("jostle-sensord")
    reader.line("the reader serves", lambda line: "serving" in line)
    broker = Program("jostle-brokerd")
    broker.line("the broker serves", lambda line: "serving" in line)
    check(sensor() is None, "without a device there is no sensor")

    hand = Hand(peak=2_800, length=1.2, cycle=CYCLE)
    device = Accelerometer(hand)
    until("the sensor is there", sensor)
    check(os.path.exists("/dev/iio:device0"), "the kernel made /dev/iio:device0")
    found = sensor()
    check(found["driver"] == "accel_3d" and found["state"] == "idle" and not device.reports,
          "the reader found it through udev, and lets it stand still")

    app = Program("jostle", "watch", "--json", "shake.planar,threshold=2.3g")
    app.line("the detector is in force", lambda line: line.startswith('{"watching":'))
    until("it runs", lambda: sensor()["state"] == "running")
    until("the device reports", lambda: device.reports)
    check(True, "a detector lets the device run")
    began = boottime()
    hand.shake()
    felt = event(app, began)
    check(2.3 < felt["peak"] < 2.9, f"a shake became an event: {felt['peak']:.2f} g")
    found = until("its values are shown", lambda: (line := sensor()) and line["values"] and line)
    check(found["method"] == "buffered" and abs(found["values"][2] - 1) < 0.01,
          f"it is read through its buffer, by a user who may do nothing else: {found['values']}")

    claims = found["claims"]
    device.unplug()
    until("the sensor is absent", lambda: sensor()["state"] == "absent")
    check(sensor()["claims"] == claims, "unplugged, its claim stays")
    device = Accelerometer(hand)
    back = boottime()
    until("it runs again", lambda: sensor()["state"] == "running")
    hand.shake()
    felt = event(app, back)
    check(True, f"plugged in again, it goes on: an event {felt['t_us'] / 1e6 - back:.2f} s later, most of it looking")
    app.end()

    count(device, SECONDS)
    for program in [broker, reader]:
        check(program.end() == 0, f"{program.process.args[0]} ends when asked to")
    bus.terminate()
    print("all is well")


def count(device, seconds):
    """With both processors busy, every report that the device made is in the recording."""
    loads = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    try:
        text = jostle("record", "--rate", str(RATE), "--for", f"{seconds}s", "-")
    finally:
        for load in loads:
            load.kill()
    rows = [line.split(",") for line in text.splitlines() if line[:1].isdigit()]
    numbers = [round(float(row[2]) * 1_000) for row in rows]
    times = [int(row[0]) for row in rows]
    steps = [(b - a) % CYCLE for a, b in zip(numbers, numbers[1:])]
    lost = sum(step - 1 for step in steps)
    check(times == sorted(set(times)), "times rise")
    check(lost == 0 and all(step == 1 for step in steps) and len(rows) > seconds * RATE / 2,
          f"{len(rows)} samples in {seconds} s with busy processors, {lost} lost, {device.late} never made")


SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 10
if __name__ == "__main__":
    main(sys.argv[1])
