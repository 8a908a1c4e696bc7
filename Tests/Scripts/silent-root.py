#!/usr/bin/python3
"""Asks the broker for something out of a root that does not answer, and prints what comes of it: silent-root.py ADDRESS DIRECTORY

The root is a file system of FUSE on the directory, in a name space of its own; the program behind it stands still from the call on. Needs
root.
"""

import asyncio
import ctypes
import os
import signal
import struct
import sys

from dbus_fast import Message
from dbus_fast.aio import MessageBus

BROKER = "org.jostle.Broker1"
# Of Linux' headers.
CLONE_NEWNS, MS_REC, MS_PRIVATE, PR_SET_PDEATHSIG = 0x20000, 0x4000, 0x40000, 1
FUSE_FORGET, FUSE_GETATTR, FUSE_INIT, FUSE_INTERRUPT, FUSE_BATCH_FORGET, ENOSYS = 2, 3, 26, 36, 42, 38

libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def serve(device):
    """Answers what is asked of a file system that is an empty directory."""
    checked(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
    attributes = struct.pack("<QQQQQQIIIIIIIIII", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
    while True:
        _, operation, number = struct.unpack_from("<IIQ", os.read(device, 1 << 17))
        error, body = 0, b""
        if operation == FUSE_INIT:
            body = struct.pack("<IIIIHHII32x", 7, 31, 0, 0, 12, 10, 4096, 1)
        elif operation == FUSE_GETATTR:
            body = struct.pack("<QII", 0, 0, 0) + attributes
        elif operation in (FUSE_FORGET, FUSE_INTERRUPT, FUSE_BATCH_FORGET):
            continue
        else:
            error = -ENOSYS
        os.write(device, struct.pack("<IiQ", 16 + len(body), error, number) + body)


async def main(address, directory):
    checked(libc.unshare(CLONE_NEWNS))
    checked(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    checked(libc.mount(b"silent", directory.encode(), b"fuse", 0, options.encode()))
    server = os.fork()
    if server == 0:
        serve(device)
    os.close(device)
    bus = await MessageBus(bus_address=address).connect()
    os.chroot(directory)
    os.kill(server, signal.SIGSTOP)
    call = Message(BROKER, "/org/jostle/Broker1", BROKER, "Pause", signature="a{sv}", body=[{}])
    print((await bus.call(call)).error_name, flush=True)


asyncio.run(main(*sys.argv[1:]))
