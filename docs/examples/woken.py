#!/usr/bin/python3
"""Is started for its events, and told why: woken.py APPID LOG

The bus starts it by a service file (org.example.Woken.service stands beside it) when the broker calls it. What it is launched for is
written to LOG; after five quiet seconds it ends. Needs Debian's python3-dbus-fast and nothing of ours.
"""

import asyncio
import sys

from dbus_fast import Message, MessageType
from dbus_fast.aio import MessageBus

BROKER = "org.jostle.Broker1"
RECEIVER = "org.jostle.Receiver1"
DAEMON = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")


async def main(app_id, log):
    bus = await MessageBus().connect()
    called = asyncio.Event()

    async def answer(message):
        # Anybody can call us; only the broker launches us.
        owner = await bus.call(Message(*DAEMON, "GetNameOwner", signature="s", body=[BROKER]))
        if owner.body[0] != message.sender:
            await bus.send(Message.new_error(message, "org.freedesktop.DBus.Error.AccessDenied", "not the broker"))
            return
        reason, events, _ = message.body
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"launched for {reason}: {' '.join(event[3] for event in events)}\n")
        # The work comes before the answer, which acknowledges all the events.
        await bus.send(Message.new_method_return(message, "s", ["consume"]))
        called.set()

    def received(message):
        if message.message_type is MessageType.METHOD_CALL and (message.interface, message.member) == (
            RECEIVER, "Deliver"
        ):
            asyncio.ensure_future(answer(message))
            return True

    bus.add_message_handler(received)
    # Not before we can be called: the call that started us waits for the name.
    await bus.request_name(app_id)
    while True:
        called.clear()
        try:
            await asyncio.wait_for(called.wait(), 5)
        except asyncio.TimeoutError:
            return


asyncio.run(main(*sys.argv[1:]))
