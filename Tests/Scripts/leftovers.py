#!/usr/bin/python3
"""Runs a command and tells what it leaves behind: leftovers.py COMMAND [ARGUMENT...]

SIGINT and SIGTERM are passed on to the command. At its end, each process that still runs in the environment the command was
given is a line on standard error, and "left N" the last one. Exits as the command did.
"""

import os
import pathlib
import signal
import subprocess
import sys

MARK = f"JOSTLE_TEST_MARK={os.getpid()}"


def marked():
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (entry / "environ").read_bytes().split(b"\0"):
                yield (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        except OSError:
            # It has ended meanwhile.
            continue


command = subprocess.Popen(sys.argv[1:], env=dict(os.environ, JOSTLE_TEST_MARK=str(os.getpid())))
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: command.send_signal(number))
status = command.wait()
left = list(marked())
for line in left:
    print(line, file=sys.stderr)
print("left", len(left), file=sys.stderr)
sys.exit(status if status >= 0 else 128 - status)
