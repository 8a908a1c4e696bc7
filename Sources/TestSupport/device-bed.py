#!/usr/bin/python3
"""A bed of devices for one test: a /sys and /dev of its own, made with umockdev, and changed as the test says.

    umockdev-wrapper device-bed.py COMMANDS

COMMANDS is a fifo; each line is a command, and "done" or "failed: …" answers it on standard output. The first line printed is
"bed DIRECTORY": programs that have it as UMOCKDEV_DIR, and umockdev preloaded, see these devices and no others.

    add FILE [NAME=VALUE …]       adds what a device description holds, with each @NAME@ replaced, and tells udev's listeners
    remove DEVICE                 removes a device, and tells them
    set DEVICE ATTRIBUTE TEXT     replaces an attribute in one step, as a reader sees it
    bytes DEVICE ATTRIBUTE HEX    the same with bytes that are no text
    lose DEVICE ATTRIBUTE         removes an attribute
    spoil DEVICE ATTRIBUTE        makes each reading of an attribute fail as on a bus that stumbles: EIO, from the kernel itself
    heal DEVICE ATTRIBUTE TEXT    makes it readable again
    say DEVICE NAME TEXT          has udev say something else of a device, to those who ask
    event DEVICE ACTION           tells udev's listeners of something
    pipe NODE                     turns a node into a pipe, which "write NODE HEX" fills and "close NODE" ends; or makes it, for a
                                  device that is added later: whoever hears of that finds the pipe
    refuse NODE                   has nobody open a node, as when another program has it
    count NODE                    looks from now on who opens and closes a node, which somebody has open
    single NODE                   fails where it was open twice at a time since then, which the kernel does not do
    ioctl FILE                    answers ioctls as a record says
    input NODE HOW [AXIS=LEAST,MOST,RESOLUTION …]   answers what an input device is asked: its axes at 0, its switches open. HOW
                                  is "asked" for one that tells its state and nothing else of itself, or "followed"
    axis NODE AXIS VALUE          moves an axis, of which the device says nothing: it is asked
    switch NODE BITS              sets all switches, given in hexadecimal, and tells readers of the node that something happened
    maker NODE                    makes NODE what makes input devices, as /dev/uinput does: the one that is made there has one switch
    told NODE VALUE               fails where that device has not said last that its switch has this value
    move DEVICE PEAK SECONDS      lies flat for so long, with a shake of 1.2 s along x first when PEAK (in mg) is not 0; through the
                                  attributes, or as scans of a buffer where "move" is given NODE for DEVICE
    turn NODE REST SECONDS PEAK   lies flat for REST, turns a quarter about x in SECONDS and is shaken for 1.2 s along x, as scans of a
                                  buffer with a gyroscope

DEVICE is a path as descriptions have it: /devices/platform/accel/iio:device0.
"""

import ctypes
import errno
import math
import os
import shlex
import shutil
import signal
import stat
import struct
import sys
import time

import gi

gi.require_version("UMockdev", "1.0")
from gi.repository import UMockdev  # noqa: E402


# What inotify tells: IN_OPEN; IN_CLOSE_WRITE and IN_CLOSE_NOWRITE.
OPENED, CLOSED = 0x20, 0x18


class Input(UMockdev.IoctlBase):
    """An input device as the kernel answers for it."""

    def __init__(self, is_followed, axes):
        super().__init__()
        self.is_followed = is_followed
        self.axes = {axis: [0, least, most, 0, 0, resolution] for axis, (least, most, resolution) in axes.items()}
        self.switches = 0

    def do_handle_ioctl(self, client):
        request = client.get_request()
        size, kind, number = request >> 16 & 0x3FFF, request >> 8 & 0xFF, request & 0xFF
        data = None
        if kind == ord("E") and 0x40 <= number < 0x80:
            data = struct.pack("6i", *self.axes.get(number - 0x40, [0] * 6))
        elif kind == ord("E") and number == 0x1B:
            data = struct.pack("Q", self.switches)[:size]
        elif kind == ord("E") and self.is_followed and request >> 30 == 2:
            # Events of switches, and all switches there are; nothing of anything else.
            data = struct.pack("Q", {0x20: 1 << 5, 0x25: 0x1FFFF}.get(number, 0))[:size].ljust(size, b"\0")
        if data is None:
            client.complete(-1, errno.EINVAL)
        else:
            client.get_arg().resolve(0, size).update(0, data)
            client.complete(len(data), 0)
        return True


class Maker(UMockdev.IoctlBase):
    """/dev/uinput as the kernel answers for it: what is made there is the device input99, which the bed has."""

    def __init__(self):
        super().__init__()
        self.value = None

    def do_handle_ioctl(self, client):
        request = client.get_request()
        size, number = request >> 16 & 0x3FFF, request & 0xFF
        # The name of what was made, and which version of this the kernel has.
        answer = {44: b"input99", 45: struct.pack("I", 5)}.get(number)
        if answer is not None:
            client.get_arg().resolve(0, size).update(0, answer.ljust(size, b"\0"))
        client.complete(0, 0)
        return True


class Bed:
    def __init__(self):
        self.testbed = UMockdev.Testbed.new()
        self.root = self.testbed.get_root_dir()
        self.pipes = {}
        self.inputs = {}
        self.counts = {}

    def attribute(self, device, name):
        return f"{self.root}/sys{device}/{name}"

    def add(self, file, *values):
        with open(file) as source:
            text = source.read()
        for value in values:
            name, _, content = value.partition("=")
            text = text.replace(f"@{name}@", content)
        # What is a pipe already is left as it is.
        lines = text.splitlines(keepends=True)
        text = "".join(line for line in lines if not (line.startswith("N: ") and "/dev/" + line[3:].partition("=")[0] in self.pipes))
        # An addition of several devices is told as such: the description is whole before anybody hears of it.
        self.testbed.add_from_string(text)

    def remove(self, device):
        self.testbed.uevent(f"/sys{device}", "remove")
        self.testbed.remove_device(f"/sys{device}")

    def set(self, device, name, text):
        self.bytes(device, name, (text + "\n").encode().hex())

    def bytes(self, device, name, data):
        path = self.attribute(device, name)
        with open(path + ".new", "wb") as file:
            file.write(bytes.fromhex(data))
        os.replace(path + ".new", path)

    def lose(self, device, name):
        os.unlink(self.attribute(device, name))

    def spoil(self, device, name):
        self.lose(device, name)
        # A process has no memory at address 0, and cannot read what it has not.
        os.symlink("/proc/self/mem", self.attribute(device, name))

    def heal(self, device, name, text):
        self.lose(device, name)
        self.set(device, name, text)

    def say(self, device, name, text):
        self.testbed.set_property(f"/sys{device}", name, text)

    def event(self, device, action):
        self.testbed.uevent(f"/sys{device}", action)

    def pipe(self, node):
        path = self.root + node
        if os.path.exists(path):
            os.unlink(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mkfifo(path)
        # Opened for both, so that neither side ever waits for the other.
        self.pipes[node] = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def write(self, node, text):
        data = bytes.fromhex(text)
        if os.write(self.pipes[node], data) != len(data):
            raise OSError("the pipe is full")

    def close(self, node):
        os.close(self.pipes.pop(node))

    def refuse(self, node):
        os.unlink(self.root + node)
        os.mknod(self.root + node, stat.S_IFSOCK | 0o600)

    def count(self, node):
        libc = ctypes.CDLL(None, use_errno=True)
        self.counts[node] = libc.inotify_init1(os.O_NONBLOCK)
        if libc.inotify_add_watch(self.counts[node], (self.root + node).encode(), OPENED | CLOSED) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def single(self, node):
        data, at, holders = os.read(self.counts[node], 65_536), 0, 1
        while at < len(data):
            _, what, _, length = struct.unpack_from("iIII", data, at)
            at += 16 + length
            holders += 1 if what & OPENED else -1
            if holders > 1:
                raise OSError("it was open twice")

    def move(self, target, peak, seconds):
        """Moves in real time; how well we keep up is no matter, because what is written is always the motion of just now."""
        start = time.clock_gettime(time.CLOCK_BOOTTIME)
        passed = 0.0
        while passed < float(seconds):
            x = float(peak) * math.sin(2 * math.pi * 3 * passed) if passed < 1.2 else 0.0
            if target.startswith("/dev/"):
                stamp = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
                self.write(target, (struct.pack("<hh", round(x), 0) + struct.pack(">hxx", 1_000) + struct.pack("<q", stamp)).hex())
            else:
                self.set(target, "in_accel_x_raw", str(round(x)))
            time.sleep(0.01)
            passed = time.clock_gettime(time.CLOCK_BOOTTIME) - start

    def turn(self, node, rest, seconds, peak):
        """Turns in real time; each scan holds the attitude and the turning of just now."""
        rest, seconds = float(rest), float(seconds)
        start = time.clock_gettime(time.CLOCK_BOOTTIME)
        passed = 0.0
        while passed < rest + seconds + 1.2:
            share = min(max((passed - rest) / seconds, 0), 1)
            angle, rate = share * math.pi / 2, math.pi / 2 / seconds if 0 < share < 1 else 0
            shaken = passed - rest - seconds
            x = round(float(peak) * math.sin(2 * math.pi * 3 * shaken)) if shaken > 0 else 0
            stamp = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            up = (round(1_000 * math.sin(angle)), round(1_000 * math.cos(angle)))
            self.write(node, (struct.pack("<hh", x, up[0]) + struct.pack(">h", up[1]) + struct.pack("<hhhxxxxq", round(1_000 * rate), 0, 0, stamp)).hex())
            time.sleep(0.005)
            passed = time.clock_gettime(time.CLOCK_BOOTTIME) - start

    def ioctl(self, file):
        self.testbed.load_ioctl(None, file)

    def input(self, node, how, *axes):
        values = (axis.split("=") for axis in axes)
        reaches = {int(axis): [int(number) for number in reach.split(",")] for axis, reach in values}
        self.inputs[node] = Input(how == "followed", reaches)
        self.testbed.attach_ioctl(node, self.inputs[node])

    def maker(self, node):
        self.testbed.add_from_string(
            "P: /devices/virtual/input/input99\nE: SUBSYSTEM=input\n\n"
            "P: /devices/virtual/input/input99/event99\nN: input/event99=00\nE: DEVNAME=input/event99\nE: SUBSYSTEM=input\n")
        self.pipe(node)
        self.inputs[node] = Maker()
        self.testbed.attach_ioctl(node, self.inputs[node])

    def told(self, node, value):
        try:
            data = os.read(self.pipes[node], 65_536)
        except BlockingIOError:
            data = b""
        for _, _, kind, _, state in struct.iter_unpack("qqHHi", data):
            if kind == 5:
                self.inputs[node].value = state
        if self.inputs[node].value != int(value):
            raise OSError(f"the switch is at {self.inputs[node].value}")

    def axis(self, node, axis, value):
        self.inputs[node].axes[int(axis)][0] = int(value)

    def switch(self, node, bits):
        before, self.inputs[node].switches = self.inputs[node].switches, int(bits, 16)
        if node in self.pipes:
            for number in range(32):
                if (before ^ self.inputs[node].switches) >> number & 1:
                    event = struct.pack("qqHHi", 0, 0, 5, number, self.inputs[node].switches >> number & 1)
                    self.write(node, (event + struct.pack("qqHHi", 0, 0, 0, 0, 0)).hex())


def main():
    bed = Bed()
    # Whoever is asked to end leaves nothing behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        print("bed", bed.root, flush=True)
        serve(bed, sys.argv[1])
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        shutil.rmtree(bed.root, ignore_errors=True)


def serve(bed, fifo):
    # Opened for both, so that the end of one writer is not the end of commands.
    with os.fdopen(os.open(fifo, os.O_RDWR)) as commands:
        for line in commands:
            words = shlex.split(line)
            try:
                getattr(bed, words[0])(*words[1:])
                print("done", flush=True)
            except Exception as problem:  # Whatever it was, the test must hear of it.
                print(f"failed: {problem!r}", flush=True)


main()
