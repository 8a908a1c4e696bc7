#!/usr/bin/python3
"""Registers and withdraws detectors for good until the broker dies: register-for-good.py ADDRESS APPID SEED NAME,NAME...

Before each change it prints "asks" and the names it would have then, and once the change was acknowledged "has" and the names. It
holds an assertion all the while. The names are those that it has from before.
"""

import asyncio
import random
import sys

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

BROKER = "org.jostle.Broker1"


async def main(address, app_id, seed, names):
    choose = random.Random(int(seed))
    has = set(filter(None, names.split(",")))
    bus = await MessageBus(bus_address=address, negotiate_unix_fd=True).connect()
    await bus.request_name(app_id)

    async def call(path, interface, member, signature, *body):
        reply = await bus.call(Message(BROKER, path, interface, member, signature=signature, body=list(body)))
        if reply.message_type is MessageType.ERROR:
            # The broker is dead. Anything else is a failure of the test.
            gone = ("org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown",
                    "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.Disconnected")
            sys.exit(0 if reply.error_name in gone else f"{member}: {reply.error_name}: {reply.body}")
        return reply

    (app, _) = (await call("/org/jostle/Broker1", BROKER, "Register", "sa{sv}", app_id,
                           {"durable": Variant("b", True)})).body
    await call(app, f"{BROKER}.App", "BeginAssertion", "sa{sv}", "work", {})
    while True:
        name = f"d{choose.randrange(30)}"
        wants = has ^ {name}
        print("asks", ",".join(sorted(wants)), flush=True)
        if name in has:
            await call(app, f"{BROKER}.App", "RemoveDetectors", "asa{sv}", [name], {})
        else:
            threshold = Variant("d", choose.choice([1.5, 2.0, 3.5]))
            options = {"preset": Variant("s", "shake.planar"), "threshold": threshold}
            await call(app, f"{BROKER}.App", "AddDetectors", "a(sa{sv})", [[name, options]])
        has = wants
        print("has", ",".join(sorted(has)), flush=True)


asyncio.run(main(*sys.argv[1:]))
