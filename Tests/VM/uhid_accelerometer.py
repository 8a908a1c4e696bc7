"""An accelerometer that the kernel takes for one behind a HID sensor hub, as in most laptops, made with uhid.

What it measures comes from a function; how often, and whether at all, is what the kernel asks of it in feature reports.
"""

import os
import select
import struct
import threading
import time

# Events of <linux/uhid.h>.
DESTROY, GET_REPORT, GET_REPORT_REPLY, CREATE2, INPUT2, SET_REPORT, SET_REPORT_REPLY = 1, 9, 10, 11, 12, 13, 14
EVENT_SIZE = 4_380
FEATURE, INPUT = 0, 2
REPORT = 1


def usage(number):
    return struct.pack("<BH", 0x0A, number)


def choice(property_usage, first, last, main):
    """A field of a byte that holds one of several named states."""
    states = b"".join(usage(number) for number in range(first, last + 1))
    count = last - first
    return (
        usage(property_usage)
        + bytes([0x15, 0, 0x25, count, 0x75, 8, 0x95, 1, 0xA1, 0x02])
        + states
        + bytes([main, 0x00, 0xC0])
    )


DESCRIPTOR = (
    # Usage page "sensors", an accelerometer of three axes, a physical collection, a report's number.
    bytes([0x05, 0x20, 0x09, 0x73, 0xA1, 0x00, 0x85, REPORT])
    # What can be asked: is anything to be reported, with how much power, and is the sensor ready.
    + choice(0x0316, 0x0840, 0x0845, 0xB1)
    + choice(0x0319, 0x0850, 0x0855, 0xB1)
    + choice(0x0201, 0x0800, 0x0806, 0xB1)
    # Milliseconds between reports.
    + usage(0x030E)
    + bytes([0x15, 0, 0x27, 0xFF, 0xFF, 0xFF, 0x7F, 0x75, 32, 0x95, 1, 0x55, 0, 0xB1, 0x02])
    # The least change that is reported, in mg.
    + usage(0x1452)
    + bytes([0x15, 0, 0x26, 0xFF, 0x7F, 0x75, 16, 0x95, 1, 0x55, 0x0D, 0xB1, 0x02])
    # What is reported: the state, and three axes in mg.
    + choice(0x0201, 0x0800, 0x0806, 0x81)
    + b"".join(
        usage(axis) + bytes([0x16, 0x00, 0x80, 0x26, 0xFF, 0x7F, 0x75, 16, 0x95, 1, 0x55, 0x0D, 0x81, 0x02])
        for axis in (0x0453, 0x0454, 0x0455)
    )
    + bytes([0xC0])
)


class Accelerometer:
    """`measure(time)` gives x, y and z in mg; it is asked from another thread."""

    def __init__(self, measure):
        self.measure = measure
        # Reporting state, power, sensor state, interval, sensitivity.
        self.features = bytearray(struct.pack("<BBBBIH", REPORT, 1, 6, 2, 100, 0))
        self.sent = 0
        self.late = 0
        self.file = os.open("/dev/uhid", os.O_RDWR | os.O_CLOEXEC)
        self.stopped = False
        text = struct.pack(
            "<I128s64s64sHHIIII", CREATE2, b"Jostle test accelerometer", b"", b"", len(DESCRIPTOR), 0x03, 0x1209, 1, 1, 0
        )
        self.write(text + DESCRIPTOR)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def write(self, event):
        os.write(self.file, event.ljust(EVENT_SIZE, b"\0"))

    @property
    def interval(self):
        return max(struct.unpack_from("<I", self.features, 4)[0], 1) / 1_000

    @property
    def reports(self):
        # All events, full power: the second of the states declared, as the kernel counts them.
        return self.features[1] == 2 and self.features[2] == 2

    def report(self, now):
        return struct.pack("<BBhhh", REPORT, 2, *self.measure(now))

    def run(self):
        # Hardware does not wait for a processor.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        due = None
        while not self.stopped:
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            if not self.reports:
                due = None
            elif due is None:
                due = now
            wait = 0.1 if due is None else max(0, min(due - now, 0.1))
            if select.select([self.file], [], [], wait)[0]:
                self.answer(os.read(self.file, EVENT_SIZE))
                continue
            if due is not None and time.clock_gettime(time.CLOCK_BOOTTIME) >= due:
                data = self.report(due)
                self.write(struct.pack("<IH", INPUT2, len(data)) + data)
                self.sent += 1
                due += self.interval
                behind = time.clock_gettime(time.CLOCK_BOOTTIME) - due
                # We are the device: what we could not make was not there to be lost.
                if behind > 1:
                    self.late += int(behind / self.interval)
                    due += behind

    def answer(self, event):
        (kind,) = struct.unpack_from("<I", event)
        if kind == GET_REPORT:
            number, _, kind = struct.unpack_from("<IBB", event, 4)
            data = bytes(self.features) if kind == FEATURE else self.report(time.clock_gettime(time.CLOCK_BOOTTIME))
            self.write(struct.pack("<IIHH", GET_REPORT_REPLY, number, 0, len(data)) + data)
        elif kind == SET_REPORT:
            number, _, kind, size = struct.unpack_from("<IBBH", event, 4)
            if kind == FEATURE:
                self.features[:size] = event[12 : 12 + size]
            self.write(struct.pack("<IIH", SET_REPORT_REPLY, number, 0))

    def unplug(self):
        self.stopped = True
        self.thread.join()
        self.write(struct.pack("<I", DESTROY))
        os.close(self.file)
