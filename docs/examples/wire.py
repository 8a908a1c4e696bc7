#!/usr/bin/python3
"""Prints motion events, with a D-Bus library alone: wire.py [PRESET [KEY=VALUE...]]

All that an app has to know is on the bus: what the package jostle does for watch.py is here to be seen. Needs Debian's
python3-dbus-fast and nothing of ours. Ends at Ctrl-C.
"""

import asyncio
import sys

from dbus_fast import Message, MessageFlag, MessageType, Variant
from dbus_fast.aio import MessageBus

BUS = "org.freedesktop.DBus"
BROKER = "org.jostle.Broker1"
MATCH = f"type='signal',sender='{BUS}',member='NameOwnerChanged',arg0='{BROKER}'"


class Watch:
    def __init__(self, bus, preset, options):
        self.bus, self.failed = bus, asyncio.get_running_loop().create_future()
        # A value may be a text with a unit: threshold=2.3g. Programs can give numbers in the parameter's unit instead.
        self.options = {key: Variant("s", value) for key, value in {"preset": preset, **options}.items()}
        self.broker = None  # the unique name of whoever is the broker now
        self.app = None  # our object there
        self.changing = None  # what is done about a broker that comes or goes
        bus.add_message_handler(self.received)

    async def call(self, destination, path, interface, member, signature="", *body):
        reply = await self.bus.call(
            Message(destination, path, interface, member, signature=signature, body=list(body)))
        # The library takes the first reply with the right number, and anybody can send one: only whom we asked may answer, or
        # the bus, that there is nobody. Of what a mere name answers nothing is believed.
        if destination != BROKER and reply.sender != destination and not (
                reply.message_type is MessageType.ERROR and reply.sender == BUS):
            raise RuntimeError(f"{destination}: {reply.sender} answers in its place")
        if reply.message_type is MessageType.ERROR:
            raise RuntimeError(f"{destination}: {reply.body[0] if reply.body else reply.error_name}")
        return reply.body

    async def start(self):
        # First ask to be told of changes, then look: so that none falls in between.
        await self.call(BUS, "/", BUS, "AddMatch", "s", MATCH)
        # Any call to the name starts the broker, if it does not run and the bus knows how to start it.
        await self.call(BROKER, "/org/jostle/Broker1", "org.freedesktop.DBus.Peer", "Ping")
        self.broker = (await self.call(BUS, "/", BUS, "GetNameOwner", "s", BROKER))[0]
        for key, value in sorted((await self.register()).items()):
            print(f"  {key} = {value.value}")
        print("watching", flush=True)

    async def register(self):
        """Registers without a name, adds one detector, and returns what is in force for it.

        An app with a bus name of its own requests that name first and gives it to Register.
        """
        self.app = (await self.call(
            self.broker, "/org/jostle/Broker1", BROKER, "Register", "sa{sv}", "", {}))[0]
        return await self.listen()

    async def listen(self):
        ((_, effective),) = (await self.call(
            self.broker, self.app, f"{BROKER}.App", "AddDetectors", "a(sa{sv})", [["watch", self.options]]))[0]
        return effective

    def received(self, message):
        # Anybody can send us a signal: only the bus speaks of owners, and only the broker of events.
        if message.member == "NameOwnerChanged" and message.sender == BUS and message.body[0] == BROKER:
            self.changing = asyncio.ensure_future(self.changed(message.body[2]))
        elif message.interface == f"{BROKER}.App" and message.path == self.app and message.sender == self.broker:
            handler = self.HANDLERS.get((message.member, message.signature))
            if handler:
                getattr(self, handler)(*message.body[0])

    HANDLERS = {("Event", "(tttsda{sv})"): "event", ("Gap", "(tta{sv})"): "gap", ("CaughtUp", "(ta{sv})"): "caught_up"}

    def event(self, sequence, epoch, _, detector, peak, details):
        again = ", sent again" if "redelivered" in details else ""
        print(f"event {sequence}: {detector}, peak {peak:.2f}{again}", flush=True)
        self.answer("consume", sequence, epoch, details)

    def answer(self, answer, sequence, epoch, details):
        """Until we say that we have it, the broker sends the event again."""
        if "ack" in details or "answer-by" in details:
            self.bus.send(Message(
                self.broker, self.app, f"{BROKER}.App", "Ack", signature="ttsa{sv}", body=[sequence, epoch, answer, {}],
                flags=MessageFlag.NO_REPLY_EXPECTED))

    def gap(self, first, last, reasons):
        why = ", ".join(f"{count.value} {reason}" for reason, count in sorted(reasons.items()))
        print(f"events {first} to {last} are missing: {why}", flush=True)

    def caught_up(self, last, _):
        print("nothing more is kept", flush=True)

    async def changed(self, owner):
        """A broker that comes back knows nothing of us."""
        if owner == self.broker:
            return
        self.broker, self.app = owner or None, None
        if not owner:
            return print("the broker is gone", flush=True)
        try:
            await self.register()
            print("the broker is back", flush=True)
        except RuntimeError as error:
            if self.broker == owner and not self.failed.done():
                self.failed.set_exception(error)


async def run(watch):
    await watch.start()
    await asyncio.wait([watch.failed, asyncio.ensure_future(watch.bus.wait_for_disconnect())],
                       return_when=asyncio.FIRST_COMPLETED)
    raise watch.failed.exception() if watch.failed.done() else RuntimeError("the bus is gone")


async def main(preset="shake", *options):
    await run(Watch(await MessageBus().connect(), preset, dict(option.split("=", 1) for option in options)))


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        pass
    except (RuntimeError, OSError) as error:
        sys.exit(f"wire.py: {error}")
