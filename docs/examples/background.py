#!/usr/bin/python3
"""Goes on working after the user has left: background.py APPID [SECONDS]

Holds an assertion for its work, and stops in time when the broker says that it ends. Needs Debian's python3-dbus-fast and nothing
of ours.
"""

import asyncio
import contextlib
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


@contextlib.asynccontextmanager
async def assertion(bus, app, name):
    """Keeps the app going while its body runs. The descriptor is the assertion: closing it ends it."""
    reply = await call(bus, app, f"{BROKER}.App", "BeginAssertion", "sa{sv}", name, {"warning": Variant("t", 1_000_000)})
    try:
        yield
    finally:
        os.close(reply.unix_fds[0])


async def main(app_id, seconds="60"):
    bus = await MessageBus(negotiate_unix_fd=True).connect()
    await bus.request_name(app_id)
    registered = await call(bus, "/org/jostle/Broker1", BROKER, "Register", "sa{sv}", app_id, {})
    app, broker = registered.body[0], registered.sender
    expiring = asyncio.Event()

    def received(message):
        # Anybody can send us a signal; only the broker's, about our own object, counts.
        if message.member == "AssertionExpiring" and message.sender == broker and message.path == app:
            expiring.set()

    bus.add_message_handler(received)
    async with assertion(bus, app, "example"):
        print("working", flush=True)
        try:
            await asyncio.wait_for(expiring.wait(), float(seconds))
            print("stopped in time", flush=True)
        except asyncio.TimeoutError:
            print("done", flush=True)


try:
    asyncio.run(main(*sys.argv[1:]))
except KeyboardInterrupt:
    pass
except (RuntimeError, OSError) as error:
    sys.exit(f"background.py: {error}")
