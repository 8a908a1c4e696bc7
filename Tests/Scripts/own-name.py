#!/usr/bin/python3
"""Owns a bus name until the bus goes: own-name.py NAME [ADDRESS]; without an address, the bus that activated it."""

import asyncio
import os
import sys

from dbus_fast.aio import MessageBus


async def main():
    address = sys.argv[2] if len(sys.argv) > 2 else os.environ["DBUS_STARTER_ADDRESS"]
    bus = await MessageBus(bus_address=address).connect()
    await bus.request_name(sys.argv[1])
    await bus.wait_for_disconnect()


asyncio.run(main())
