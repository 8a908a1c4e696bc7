#!/usr/bin/python3
"""Refreshes itself while nobody looks: refresh.py APPID [MINUTES]

Its app file must name the task ("Tasks=refresh", "Modes=fetch"), and policy must grant the mode ("Grants=fetch"). Needs Debian's
python3-dbus-fast and nothing of ours.
"""

import asyncio
import sys
import time

from dbus_fast import DBusError, Message, MessageType, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, method

BROKER = "org.jostle.Broker1"
TASK = "refresh"


async def call(bus, path, interface, member, signature="", *body):
    reply = await bus.call(Message(BROKER, path, interface, member, signature=signature, body=list(body)))
    if reply.message_type is MessageType.ERROR:
        raise RuntimeError(f"{BROKER}: {reply.body[0] if reply.body else reply.error_name}")
    return reply


class Receiver(ServiceInterface):
    """What the broker calls. It wants to hear at once that we have it; the work comes after the answer."""

    def __init__(self, begun):
        super().__init__("org.jostle.Receiver1")
        self.begun = begun

    @method()
    def RunTask(self, identifier: "s", deadline: "t", options: "a{sv}"):
        if identifier != TASK:
            raise DBusError("org.freedesktop.DBus.Error.InvalidArgs", f"there is no task {identifier}")
        self.begun.put_nowait(options["attempt"].value)


async def main(app_id, minutes="15"):
    bus = await MessageBus().connect()
    begun, expiring = asyncio.Queue(), asyncio.Event()
    bus.export("/org/jostle/Receiver1", Receiver(begun))
    await bus.request_name(app_id)
    registered = await call(bus, "/org/jostle/Broker1", BROKER, "Register", "sa{sv}", app_id, {})
    app, broker = registered.body[0], registered.sender

    def received(message):
        # Anybody can send us a signal or call us; only the broker counts.
        if message.member == "TaskExpiring" and message.sender == broker and message.path == app:
            expiring.set()
        if message.member == "RunTask" and message.sender != broker:
            return Message.new_error(message, "org.freedesktop.DBus.Error.AccessDenied", "only the broker runs tasks")
        return None

    bus.add_message_handler(received)

    async def submit():
        earliest = int((time.time() + 60 * float(minutes)) * 1_000_000)
        options = {"earliest-begin": Variant("t", earliest)}
        await call(bus, app, f"{BROKER}.App", "SubmitTask", "ssa{sv}", TASK, "refresh", options)
        print("submitted", flush=True)

    await submit()
    while True:
        attempt = await begun.get()
        expiring.clear()
        print(f"begun: attempt {attempt}", flush=True)
        # First thing, so that there is a next one whatever becomes of this one.
        await submit()
        # The work stands here; half a second of it, broken off when our time ends.
        try:
            await asyncio.wait_for(expiring.wait(), 0.5)
        except asyncio.TimeoutError:
            pass
        await call(bus, app, f"{BROKER}.App", "TaskDone", "b", not expiring.is_set())
        print("broken off" if expiring.is_set() else "done", flush=True)


try:
    asyncio.run(main(*sys.argv[1:]))
except KeyboardInterrupt:
    pass
except (RuntimeError, OSError) as error:
    sys.exit(f"refresh.py: {error}")
