#!/usr/bin/python3
"""Plays polkit on a bus, as a test wants it; or somebody who pretends to be it.

    polkit.py own ADDRESS              owns the name, prints "ready", and answers by user what it was told last: no, unless told otherwise
    polkit.py forge ADDRESS TO N       answers yes, as a stranger, to the calls 1 to N of the connection TO; prints "forged"

Told by calls of org.example.Double on its object: Set(u user, s answer) with yes, no, silence or error; Changed(u) sends so many
Changed; Asked(u user) returns how often it was asked about that user.
"""

import asyncio
import collections
import sys

from dbus_fast import Message, MessageFlag, MessageType, RequestNameReply
from dbus_fast.aio import MessageBus

NAME = "org.freedesktop.PolicyKit1"
PATH = "/org/freedesktop/PolicyKit1/Authority"
VERDICT = "(bba{ss})"
ACTIONS = "org.jostle.sensors.claim", "net.hadess.SensorProxy.claim-sensor"


class Double:
    def __init__(self, bus):
        self.bus = bus
        self.answers, self.asked, self.users = {}, collections.Counter(), {}
        bus.add_message_handler(self.arrived)

    def arrived(self, message):
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if message.interface == "org.example.Double":
            return self.told(message)
        if message.member == "CheckAuthorization":
            asyncio.ensure_future(self.check(message))
            return True
        return None

    def told(self, message):
        if message.member == "Set":
            self.answers[message.body[0]] = message.body[1]
        elif message.member == "Changed":
            for _ in range(message.body[0]):
                self.bus.send(Message.new_signal(PATH, f"{NAME}.Authority", "Changed"))
        elif message.member == "Asked":
            return Message.new_method_return(message, "u", [self.asked[message.body[0]]])
        return Message.new_method_return(message)

    async def check(self, message):
        (kind, details), action, _, flags, _ = message.body
        assert kind == "system-bus-name" and action in ACTIONS and flags == 0, message.body
        name = details["name"].value
        if name not in self.users:
            reply = await self.bus.call(
                Message("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetConnectionUnixUser", signature="s", body=[name]))
            self.users[name] = reply.body[0] if reply.message_type is MessageType.METHOD_RETURN else None
        user = self.users[name]
        self.asked[user] += 1
        answer = self.answers.get(user, "no")
        if answer == "error":
            await self.bus.send(Message.new_error(message, f"{NAME}.Error.Failed", "no such subject"))
        elif answer != "silence":
            await self.bus.send(Message.new_method_return(message, VERDICT, [[answer == "yes", answer != "yes", {}]]))


async def main():
    mode, address = sys.argv[1:3]
    bus = await MessageBus(bus_address=address).connect()
    if mode == "own":
        Double(bus)
        assert await bus.request_name(NAME) is RequestNameReply.PRIMARY_OWNER
        print("ready", flush=True)
        await bus.wait_for_disconnect()
        return
    for serial in range(1, int(sys.argv[4]) + 1):
        await bus.send(
            Message(sys.argv[3], message_type=MessageType.METHOD_RETURN, flags=MessageFlag.NO_REPLY_EXPECTED,
                    reply_serial=serial, signature=VERDICT, body=[[True, False, {}]]))
        if serial % 50 == 0:  # no more than the socket takes
            await bus.call(Message("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
    await bus.call(Message("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
    print("forged", flush=True)


asyncio.run(main())
