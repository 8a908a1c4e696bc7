"""What moves the made-up device."""

import math
import time


def boottime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Hand:
    """It lies flat, and shakes along x when asked to, with `peak` mg for `length` seconds; the y axis counts the reports up to `cycle`,
    so that no two are the same, and one that is missing shows.

    As HID has it, which shows where gravity pulls: each axis is the opposite of ours.
    """

    def __init__(self, peak, length, cycle):
        self.peak, self.length, self.cycle = peak, length, cycle
        self.count, self.shaking = 0, None

    def __call__(self, now):
        self.count += 1
        x = 0
        if self.shaking is not None:
            passed = now - self.shaking
            x = self.peak * math.sin(2 * math.pi * 3 * passed) if 0 <= passed < self.length else 0
        return -round(x), -(self.count % self.cycle), -1_000

    def shake(self):
        self.shaking = boottime()
