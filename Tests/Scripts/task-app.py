#!/usr/bin/python3
"""An app that takes its tasks and never says that they are done: task-app.py APPID [--quiet | --at TIME] [TASK]

It hands the task in first; --quiet: for when nobody uses the device and it does not run on its battery; --at: for that time of
the wall clock, in microseconds.

Prints "handed in: TASK", "begun: TASK, attempt N" and "expiring: TASK".
"""

import asyncio
import sys

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

BROKER = "org.jostle.Broker1"


async def call(bus, path, interface, member, signature, *body):
    reply = await bus.call(Message(BROKER, path, interface, member, signature=signature, body=list(body)))
    if reply.message_type is MessageType.ERROR:
        sys.exit(f"{reply.error_name}: {reply.body}")
    return reply.body


async def main(app_id, *tasks):
    bus = await MessageBus().connect()

    def received(message):
        if message.message_type is MessageType.METHOD_CALL and message.member == "RunTask":
            print(f"begun: {message.body[0]}, attempt {message.body[2]['attempt'].value}", flush=True)
            return Message.new_method_return(message)
        if message.member == "TaskExpiring":
            print(f"expiring: {message.body[0]}", flush=True)
        return None

    bus.add_message_handler(received)
    await bus.request_name(app_id)
    app, _ = await call(bus, "/org/jostle/Broker1", BROKER, "Register", "sa{sv}", app_id, {})
    conditions = {}
    if tasks[:1] == ("--quiet",):
        tasks = tasks[1:]
        conditions = {"idle": Variant("b", True), "external-power": Variant("b", True)}
    elif tasks[:1] == ("--at",):
        conditions = {"earliest-begin": Variant("t", int(tasks[1]))}
        tasks = tasks[2:]
    for task in tasks:
        await call(bus, app, f"{BROKER}.App", "SubmitTask", "ssa{sv}", task, "processing", conditions)
        print(f"handed in: {task}", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main(*sys.argv[1:]))
