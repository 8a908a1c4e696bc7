#!/usr/bin/python3
"""Plays beside other apps, as policy has it: session.py APPID CLASS [SECONDS]

Its app file must ask for the mode ("Modes=audio"), and policy must grant it and have the class. Needs Debian's python3-dbus-fast and
nothing of ours.
"""

import asyncio
import os
import sys

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

BROKER = "org.jostle.Broker1"


async def call(bus, path, interface, member, signature, *body):
    reply = await bus.call(Message(BROKER, path, interface, member, signature=signature, body=list(body)))
    if reply.message_type is MessageType.ERROR:
        raise RuntimeError(f"{BROKER}: {reply.body[0] if reply.body else reply.error_name}")
    return reply


async def main(app_id, name, seconds="60"):
    bus = await MessageBus(negotiate_unix_fd=True).connect()
    await bus.request_name(app_id)
    registered = await call(bus, "/org/jostle/Broker1", BROKER, "Register", "sa{sv}", app_id, {})
    app, broker = registered.body[0], registered.sender

    def received(message):
        # Anybody can send us a signal; only the broker's, about our own object, counts.
        if message.member == "SessionChanged" and message.sender == broker and message.path == app:
            _, change, details = message.body
            # A player stops at "interrupted", goes on at "resumed" when it is to, and is softer at "ducked".
            hint = [f"{key} {details[key].value}" for key in ("resume", "share") if key in details]
            print(" ".join([change] + hint), flush=True)

    bus.add_message_handler(received)
    # The descriptor is the session: closing it ends it.
    reply = await call(bus, app, f"{BROKER}.App", "BeginActivity", "sa{sv}", "audio", {"class": Variant("s", name)})
    await asyncio.sleep(float(seconds))
    os.close(reply.unix_fds[0])


try:
    asyncio.run(main(*sys.argv[1:]))
except KeyboardInterrupt:
    pass
except (RuntimeError, OSError) as error:
    sys.exit(f"session.py: {error}")
