#!/usr/bin/python3
"""Plays the sensor reader for a broker that does not read for a while: reader.py ADDRESS PID

Owns the reader's name and has an accelerometer, of which it gives streams with a few samples. When a claim or a stream is to take
the place of a stream, it stops the process PID, sends many samples over that stream, answers, and lets the process go on: all of
that is there for it to read then. Prints "sent N" after each change: how many samples went over streams by then.
"""

import asyncio
import os
import signal
import socket
import struct
import sys
import time

from dbus_fast import Message, MessageType, RequestNameReply, Variant
from dbus_fast.aio import MessageBus

READER = "org.jostle.Sensors1"
PATH = "/org/jostle/Sensors1/accelerometer"
DESCRIPTION = {
    "name": Variant("s", "accelerometer"), "channels": Variant("as", ["x", "y", "z"]), "unit": Variant("s", "g"),
    "rates": Variant("ad", []), "placement": Variant("s", "display"), "source": Variant("s", "double:"),
    "simulated": Variant("b", True), "available": Variant("b", True),
}
FEW, MANY = 5, 150  # packets; the socket holds more of one sample each


class Double:
    def __init__(self, bus, broker):
        self.bus, self.broker = bus, broker
        self.stream, self.streams, self.next, self.sent = None, 0, 0, 0
        bus.add_message_handler(self.arrived)

    def arrived(self, message):
        if message.message_type is not MessageType.METHOD_CALL or not (message.interface or "").startswith(READER):
            return None
        if message.member == "ListSensors":
            return Message.new_method_return(message, "a(oa{sv})", [[[PATH, DESCRIPTION]]])
        if message.member in ("Claim", "OpenStream"):
            asyncio.ensure_future(self.claim(message))
            return True
        return Message.new_method_return(message)

    def send(self, count):
        for _ in range(count):
            now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
            self.stream.send(struct.pack("=IIQQddd", 1, 1, self.next, now, 0, 0, 0))
            self.next += 1
            self.sent += 1

    async def stop(self):
        os.kill(self.broker, signal.SIGSTOP)
        while True:
            with open(f"/proc/{self.broker}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "T":
                    return
            await asyncio.sleep(0.001)

    async def claim(self, message):
        in_force = {
            "rate": message.body[0]["rate"], "batch-latency": Variant("t", 0), "running": Variant("b", True),
        }
        old = self.stream
        if old:
            await self.stop()
            self.send(MANY)
        if message.member == "Claim":
            self.stream = None
            await self.bus.send(Message.new_method_return(message, "a{sv}", [in_force]))
        else:
            self.streams += 1
            in_force["stream"] = Variant("t", self.streams)
            self.stream, given = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.next = 0
            self.send(FEW)
            await self.bus.send(
                Message.new_method_return(message, "ha{sv}", [0, in_force], unix_fds=[given.fileno()]))
            given.close()
        if old:
            # The bus works in order: with the second of these answers, ours has been delivered.
            for _ in range(2):
                await self.bus.call(Message("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
            os.kill(self.broker, signal.SIGCONT)
            print("sent", self.sent, flush=True)


async def main():
    bus = await MessageBus(bus_address=sys.argv[1], negotiate_unix_fd=True).connect()
    Double(bus, int(sys.argv[2]))
    assert await bus.request_name(READER) is RequestNameReply.PRIMARY_OWNER
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main())
