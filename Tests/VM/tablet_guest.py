#!/usr/bin/python3
"""Runs in the guest, as root: the reader makes a tablet switch, and libinput follows it.

    tablet_guest.py PROGRAMS

PROGRAMS is the directory of the programs. The laptop is a trace of two accelerometers, folded round and back; the reader runs as a user
who may write to /dev/uinput by the rule of docs/sensors.md, and may do nothing else.
"""

import math
import os
import pathlib
import re
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import guest  # noqa: E402
from guest import ADDRESS, ENVIRONMENT, USER, Program, check, until  # noqa: E402

TRACE = "/run/jostle/laptop.csv"
RATE = 50


def angle(now):
    """Open at 100 degrees for 5 s, folded round in 2 s, a tablet for 5 s, and back."""
    folded = min(max((now - 5) / 2, 0), 1) - min(max((now - 12) / 2, 0), 1)
    return 100 + 220 * folded


def write_trace():
    names = ["accelerometer", "accelerometer-base"]
    with open(TRACE, "w") as file:
        file.write("# jostle trace 1\n")
        file.write("t," + ",".join(f"{name}.{axis}" for name in names for axis in "xyz") + "\n")
        for index in range(20 * RATE):
            turn = math.radians(angle(index / RATE))
            noise = 0.004 if index % 2 else -0.004
            row = [noise, math.sin(turn), -math.cos(turn), noise, 0, 1]
            file.write(f"{index * 1_000_000 // RATE}," + ",".join(f"{value:.5f}" for value in row) + "\n")


class Libinput:
    """libinput's own program that shows events, as root; its lines are kept as they come."""

    def __init__(self):
        self.lines = []
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", "libinput", "debug-events"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def toggled(self, state):
        shape = re.compile(rf"SWITCH_TOGGLE.*tablet-mode state {state}")
        until(f"libinput sees the switch at {state}: {self.lines}", lambda: any(map(shape.search, self.lines)))


def main(programs):
    guest.MODULES[:] = ["evdev", "uinput"]
    guest.set_up(programs)
    rules = pathlib.Path("/run/udev/rules.d/61-tablet-switch.rules")
    rules.write_text(f'KERNEL=="uinput", GROUP="{USER}", MODE="0660", OPTIONS+="static_node=uinput"\n')
    subprocess.run(["udevadm", "control", "--reload"], check=True)
    subprocess.run(["udevadm", "trigger", "--settle", "/dev/uinput"], check=True)
    write_trace()
    bus = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={ADDRESS}"], user=USER, group=USER,
        extra_groups=[], env=ENVIRONMENT, stdin=subprocess.DEVNULL)
    until("the bus is there", lambda: os.path.exists("/run/jostle/bus"))
    libinput = Libinput()
    reader = Program("jostle-sensord", "--source", f"trace:{TRACE}", "--tablet-switch", "--log-level", "info")
    reader.line("the reader serves", lambda line: "serving" in line)
    until(f"libinput finds the switch: {libinput.lines}",
          lambda: any("DEVICE_ADDED" in line and "Jostle tablet mode" in line for line in libinput.lines))
    check(True, "libinput finds the switch")
    reader.line("the laptop is a tablet", lambda line: "the laptop is a tablet" in line)
    libinput.toggled(1)
    check(True, "folded round, it is a tablet to libinput")
    reader.line("the laptop is one", lambda line: "no tablet any more" in line)
    libinput.toggled(0)
    check(True, "folded back, it is a laptop to libinput")
    check(sum("SWITCH_TOGGLE" in line for line in libinput.lines) == 2, "no switch came besides")
    check(reader.end() == 0, "the reader ends when asked to")
    until("the switch goes with the reader", lambda: any("DEVICE_REMOVED" in line for line in libinput.lines))
    check(True, "the switch goes with the reader")
    libinput.process.terminate()
    bus.terminate()
    print("all is well")


if __name__ == "__main__":
    main(sys.argv[1])
