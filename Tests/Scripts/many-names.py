#!/usr/bin/python3
"""Owns very many bus names until the bus goes: many-names.py ADDRESS PREFIX COUNT. Says when it has them."""

import asyncio
import sys

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

BUS = "org.freedesktop.DBus"
# dbus_fast fails where the socket has no room for more.
AT_ONCE = 16


async def main():
    address, prefix, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    bus = await MessageBus(bus_address=address).connect()

    def ask(number):
        return bus.call(
            Message(BUS, "/org/freedesktop/DBus", BUS, "RequestName", signature="su", body=[f"{prefix}.n{number}", 0]))

    for first in range(0, count, AT_ONCE):
        for answer in await asyncio.gather(*map(ask, range(first, min(first + AT_ONCE, count)))):
            assert answer.message_type is MessageType.METHOD_RETURN, answer.body
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main())
