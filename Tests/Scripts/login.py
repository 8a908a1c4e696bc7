#!/usr/bin/python3
"""Plays a logind that does not answer when it is first asked, and UPower: login.py ADDRESS USER

Owns both names, prints "ready", and answers the first question to each object with an error. Those after it are told of
one session, which is the user's, at a seat, and locked, and that the device runs on its battery, which is nearly empty. On
SIGTERM it says that there is a new session, and leaves when it is asked for a list, without an answer.
"""

import asyncio
import signal
import sys

from dbus_fast import Message, MessageType, RequestNameReply, Variant
from dbus_fast.aio import MessageBus

SESSION = "/org/freedesktop/login1/session/c1"
PROPERTIES = {
    SESSION: {"LockedHint": Variant("b", True)},
    "/org/freedesktop/UPower": {"OnBattery": Variant("b", True)},
    "/org/freedesktop/UPower/devices/DisplayDevice": {"IsPresent": Variant("b", True), "Percentage": Variant("d", 5.0)},
}


async def main():
    address, user = sys.argv[1], int(sys.argv[2])
    bus = await MessageBus(bus_address=address).connect()
    asked, is_leaving = set(), False

    def leave():
        nonlocal is_leaving
        is_leaving = True
        manager = ("/org/freedesktop/login1", "org.freedesktop.login1.Manager")
        bus.send(Message.new_signal(*manager, "SessionNew", "so", ["c1", SESSION]))

    def arrived(message):
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        if message.member in ("ListSessions", "GetAll"):
            if is_leaving and message.member == "ListSessions":
                bus.disconnect()
                return True
            if message.path not in asked:
                asked.add(message.path)
                return Message.new_error(message, "org.freedesktop.DBus.Error.Failed", "not now")
        if message.member == "ListSessions":
            return Message.new_method_return(message, "a(susso)", [[["c1", user, "me", "seat0", SESSION]]])
        if message.member == "GetAll" and message.path in PROPERTIES:
            return Message.new_method_return(message, "a{sv}", [PROPERTIES[message.path]])
        return None

    bus.add_message_handler(arrived)
    for name in ("org.freedesktop.login1", "org.freedesktop.UPower"):
        assert await bus.request_name(name) is RequestNameReply.PRIMARY_OWNER
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave)
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main())
