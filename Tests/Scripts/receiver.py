#!/usr/bin/python3
"""An app that is started for its events, well or ill: receiver.py NAME LOG HOW

HOW is done (answers), exits (at once), hangs (before it has its name), leaves (once it has it), error (answers with one), nonsense
(answers what no app says), silent (has the name and never answers), dies (when it is called), replaced (gives the name away when it is
called, and who has it then answers), once (waits for LOG.gate with its first answer, and answers with errors then) or works (waits for
LOG.gate, registers, answers, does a task and ends). Each step is a line in LOG.
"""

import asyncio
import os
import sys
import time

NAME, LOG, HOW = sys.argv[1:]


def note(*words):
    # One write, so that lines of several apps do not mix.
    with open(LOG, "ab", buffering=0) as file:
        file.write((" ".join([NAME, *map(str, words), f"{time.monotonic():.6f}"]) + "\n").encode())


note("start")
if HOW == "exits":
    sys.exit(3)

from dbus_fast import Message, MessageType  # noqa: E402
from dbus_fast.aio import MessageBus  # noqa: E402


BROKER = "org.jostle.Broker1"


async def main():
    bus = await MessageBus(bus_address=os.environ["DBUS_STARTER_ADDRESS"]).connect()
    done = asyncio.Event()
    worked = asyncio.Event()
    under_way = []

    async def replace(call):
        await bus.release_name(NAME)
        other = await MessageBus(bus_address=os.environ["DBUS_STARTER_ADDRESS"]).connect()
        await other.request_name(NAME)
        note("forges")
        await other.send(Message.new_method_return(call, "s", ["consume"]))
        await other.wait_for_disconnect()

    async def answer(call):
        while not os.path.exists(LOG + ".gate"):
            await asyncio.sleep(0.01)
        note("answer")
        await bus.send(Message.new_method_return(call, "s", ["consume"]))

    def received(message):
        if message.message_type is not MessageType.METHOD_CALL or message.interface != "org.jostle.Receiver1":
            return None
        if message.member == "RunTask":
            note("task", message.body[0])
            worked.set()
            return Message.new_method_return(message)
        reason, events, options = message.body
        note("called", reason, ",".join(event[3] for event in events), ",".join(sorted(events[0][5])) if events else "-")
        if HOW == "dies":
            os._exit(1)
        if HOW == "replaced":
            under_way.append(asyncio.ensure_future(replace(message)))
        if HOW in ("leaves", "silent", "replaced"):
            return True
        if HOW == "once" and not under_way:
            under_way.append(asyncio.ensure_future(answer(message)))
            return True
        if HOW in ("error", "once"):
            return Message.new_error(message, "org.example.Error.No", "not today")
        note("answer")
        done.set()
        return Message.new_method_return(message, "s", ["maybe" if HOW == "nonsense" else "consume"])

    bus.add_message_handler(received)
    while HOW == "works" and not os.path.exists(LOG + ".gate"):
        await asyncio.sleep(0.01)
    if HOW != "hangs":
        await bus.request_name(NAME)
    if HOW == "leaves":
        return
    if HOW == "works":
        note("registers")
        register = Message(BROKER, "/org/jostle/Broker1", BROKER, "Register", signature="sa{sv}", body=[NAME, {}])
        path = (await bus.call(register)).body[0]
        await worked.wait()
        await bus.call(Message(BROKER, path, BROKER + ".App", "TaskDone", signature="sa{sv}", body=["done", {}]))
    if HOW in ("done", "works"):
        await done.wait()
        # What was answered goes out before the end.
        await bus.call(Message("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId"))
        return
    await bus.wait_for_disconnect()


try:
    asyncio.run(main())
except EOFError:
    pass
