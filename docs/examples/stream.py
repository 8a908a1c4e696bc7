#!/usr/bin/python3
"""Reads a sensor as a stream: stream.py [SENSOR] [RATE] [SAMPLES]

Prints a line for each sample: its time in seconds, and its values. Made for hundreds of samples a second and more, which would
cost the bus much; at few, signals do as well. Needs Debian's python3-dbus-fast and nothing of ours.
"""

import asyncio
import socket
import struct
import sys

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

READER = "org.jostle.Sensors1"
SAMPLES, GAP, CAUGHT_UP = 1, 2, 3
PACKET_BYTES = 65536  # no packet is larger


async def call(bus, path, interface, member, signature="", *body):
    reply = await bus.call(Message(READER, path, interface, member, signature=signature, body=list(body)))
    if reply.message_type is MessageType.ERROR:
        raise RuntimeError(f"{READER}: {reply.body[0] if reply.body else reply.error_name}")
    return reply


async def open_stream(bus, sensor, rate):
    """The stream, and how many channels it has."""
    path = f"/org/jostle/Sensors1/{sensor}"
    channels = await call(bus, path, "org.freedesktop.DBus.Properties", "Get", "ss", f"{READER}.Sensor", "Channels")
    options = {"rate": Variant("d", float(rate))}
    reply = await call(bus, path, f"{READER}.Sensor", "OpenStream", "a{sv}", options)
    stream = socket.socket(fileno=reply.unix_fds[reply.body[0]])
    return stream, len(channels.body[0].value)


def rows(packet, channels):
    """The number of the first row of a packet, its rows, and how many numbers it says are missing."""
    kind, count, sequence = struct.unpack_from("=IIQ", packet)
    if kind == GAP:
        return sequence, [], count
    row = struct.Struct(f"=Q{channels}d")
    return sequence, list(row.iter_unpack(packet[16:])) if kind == SAMPLES else [], 0


async def main(sensor="accelerometer", rate="400", samples="0"):
    bus = await MessageBus(negotiate_unix_fd=True).connect()
    stream, channels = await open_stream(bus, sensor, rate)
    left = int(samples)
    with stream:
        stream.setblocking(False)
        loop = asyncio.get_running_loop()
        while packet := await loop.sock_recv(stream, PACKET_BYTES):
            sequence, values, missing = rows(packet, channels)
            if missing:
                print(f"{missing} samples from {sequence} on are missing", flush=True)
            for time, *row in values:
                print(f"{time / 1e6:.6f}", *(f"{value:.4f}" for value in row), flush=True)
                left -= 1
                if left == 0:
                    return
    raise RuntimeError("the reader is gone")


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    except (RuntimeError, OSError) as error:
        sys.exit(f"stream.py: {error}")
