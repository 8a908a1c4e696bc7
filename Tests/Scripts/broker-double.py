#!/usr/bin/python3
"""Answers an app as the broker does, and sends it events: broker-double.py ADDRESS EVENTS [early | left | TEXT].

Prints each app id and each detector it is given, and "sent" when the bus has the events. "early" sends the first one ahead
of the answer. Whoever asks for tasks is shown one that says TEXT in each place; the list of apps has no end. With "left" it has one app,
which has left when it is asked about. For tests of programs that speak to the broker.
"""

import asyncio
import json
import sys
import time

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

PATH = "/org/jostle/Broker1/apps/one"


async def main():
    bus = await MessageBus(bus_address=sys.argv[1]).connect()
    wanted, early, left = int(sys.argv[2]), sys.argv[3:] == ["early"], sys.argv[3:] == ["left"]

    def event(app, sequence):
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        return Message(app, PATH, "org.jostle.Broker1.App", "Event", message_type=MessageType.SIGNAL,
                       signature="(tttsda{sv})", body=[[sequence, sequence, now, "shake", 3.0, {}]])

    async def send_events(app):
        for sequence in range(2 if early else 1, wanted + 2):
            if sequence != 2:
                await bus.send(event(app, sequence))
        print("sent", flush=True)

    def answer(message):
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if (message.interface, message.member, message.signature) == ("org.jostle.Broker1", "Register", "sa{sv}"):
            print(message.body[0], flush=True)
            return Message.new_method_return(message, "oa{sv}", [PATH, {"identity": Variant("s", "name")}])
        if (message.path, message.member, message.signature) == (PATH, "AddDetectors", "a(sa{sv})"):
            for name, options in message.body[0]:
                plain = {key: [value.signature, value.value] for key, value in options.items()}
                print(name, json.dumps(plain, sort_keys=True), flush=True)
            if early:
                bus.send(event(message.sender, 1))
            # One sequence number is left out, so that somebody must notice.
            bus.send(Message.new_method_return(message, "a(sa{sv})", message.body))
            asyncio.ensure_future(send_events(message.sender))
            return True
        if (message.interface, message.member) == ("org.jostle.Broker1", "ListTasks"):
            text = sys.argv[3]
            return Message.new_method_return(
                message, "a(ssssa{sv})", [[[text, text, text, text, {"waits-for": Variant("as", [text])}]]])
        if (message.interface, message.member) == ("org.jostle.Broker1", "ListApps"):
            rows = [] if left and "after" in message.body[0] else [[PATH, {"app": Variant("s", "one")}]]
            return Message.new_method_return(message, "a(oa{sv})", [rows])
        return None

    bus.add_message_handler(answer)
    await bus.request_name("org.jostle.Broker1")
    await bus.wait_for_disconnect()


asyncio.run(main())
