#!/usr/bin/python3
"""Prints in which state apps are whenever the broker says so: app-states.py ADDRESS

Each line is the time of CLOCK_MONOTONIC in µs, the app and its state.
"""

import asyncio
import sys
import time

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

BROKER = ("org.jostle.Broker1", "/org/jostle/Broker1", "org.jostle.Broker1")


async def main():
    bus = await MessageBus(bus_address=sys.argv[1]).connect()

    def told(message):
        if message.message_type is MessageType.SIGNAL and message.member == "AppsChanged":
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            for _, row in message.body[0]:
                print(now, row["app"].value, row["state"].value, flush=True)

    bus.add_message_handler(told)
    answer = await bus.call(Message(*BROKER, "Watch", signature="a{sv}", body=[{}]))
    assert answer.message_type is MessageType.METHOD_RETURN, answer.body
    print("watching", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main())
