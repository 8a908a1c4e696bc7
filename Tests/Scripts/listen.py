#!/usr/bin/python3
"""Connects to a bus so many times and counts what arrives: listen.py ADDRESS COUNT

Prints the unique names, and after that the number of signals and bytes of the first connection whenever they have changed,
and at the end of standard input's wait nothing: it is ended by a signal.
"""

import asyncio
import sys

from dbus_fast import MessageType
from dbus_fast.aio import MessageBus


async def main():
    buses = await asyncio.gather(*[MessageBus(bus_address=sys.argv[1]).connect() for _ in range(int(sys.argv[2]))])
    seen = [0, 0]

    def count(message):
        if message.message_type == MessageType.SIGNAL and message.interface == "org.example.Flow":
            seen[0] += 1
            seen[1] = message.body[0]

    buses[0].add_message_handler(count)
    print(*[bus.unique_name for bus in buses], flush=True)
    last = None
    while True:
        await asyncio.sleep(0.02)
        if last != seen:
            last = list(seen)
            print(*last, flush=True)


asyncio.run(main())
