#!/usr/bin/env python3
"""Passes lines on, and says beside them how far a test in a machine is: progress.py TITLE STEPS

A line that begins with a time, as the guest's do, is a step, of which there are about so many. It is said on a terminal only, once a second
is over; the line goes with the last of the input. What is left is guessed from what is done.
"""
import os
import re
import select
import sys
import time

STEP = re.compile(rb" *\d+\.\d  ")


def left(seconds):
    """As precise as a guess is."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{-(-seconds // 60):.0f} min"


def main(title, steps):
    steps = max(1, steps)
    seen = os.isatty(2) and os.environ.get("TERM") != "dumb"
    began, done, rest, stands = time.monotonic(), 0, b"", False

    def say():
        nonlocal stands
        passed, share = time.monotonic() - began, min(1, done / steps)
        if not seen or passed < 1:
            return
        text = f"{title}: {share * 100:.0f} %"
        if done and share < 1:
            text += f", about {left(passed / share * (1 - share))} left"
        os.write(2, f"\r{text}\x1b[K".encode())
        stands = True

    while True:
        if select.select([0], [], [], 1)[0]:
            piece = os.read(0, 65_536)
            *lines, rest = (rest + piece).split(b"\n")
            if stands and (lines or not piece):
                os.write(2, b"\r\x1b[K")
                stands = False
            for line in lines:
                done += bool(STEP.match(line))
                os.write(1, line + b"\n")
            if not piece:
                os.write(1, rest)
                return
        say()


main(sys.argv[1], int(sys.argv[2]))
