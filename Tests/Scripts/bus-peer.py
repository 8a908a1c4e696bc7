#!/usr/bin/python3
"""A plain peer on a bus, for tests of who may send what to whom.

    bus-peer.py own ADDRESS NAME...      own the names, answer every call, print a line for each message that arrives
    bus-peer.py send ADDRESS MESSAGE...  send messages in this order over one connection, print what came back
    bus-peer.py plain ADDRESS MESSAGE... the same over a connection that takes no descriptors

A message is TYPE,DESTINATION,PATH,INTERFACE,MEMBER with TYPE call, signal, broadcast, call+fd; its outcome is "ok", the
name of an error, or "silence" for a signal that nobody refused.
"""

import asyncio
import sys

from dbus_fast import Message, MessageFlag, MessageType, RequestNameReply
from dbus_fast.aio import MessageBus


async def own(bus, names):
    given = None

    def arrived(message):
        nonlocal given
        if message.sender == "org.freedesktop.DBus" or message.reply_serial:
            # As the daemons do.
            if given and message.error_name == "org.freedesktop.DBus.Error.NotSupported":
                bus.send(Message.new_error(given, message.error_name, "no descriptor"))
            return None
        print(message.message_type.name.lower(), f"{message.interface}.{message.member}", flush=True)
        if message.message_type is not MessageType.METHOD_CALL:
            return None
        # They are answered with a descriptor, as the real ones are.
        if message.member in ("OpenStream", "BeginAssertion"):
            given = message
            return Message.new_method_return(message, "h", [0], unix_fds=[sys.stdout.fileno()])
        return Message.new_method_return(message)

    bus.add_message_handler(arrived)
    for interface in ("org.jostle.Sensors1.Sensor", "org.freedesktop.DBus.Properties"):
        await bus.call(
            Message("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "AddMatch", signature="s",
                    body=[f"type='signal',interface='{interface}'"]))
    for name in names:
        assert await bus.request_name(name) is RequestNameReply.PRIMARY_OWNER
    print("unique", bus.unique_name, flush=True)
    await bus.wait_for_disconnect()


async def send(bus, messages):
    refused = {}

    def arrived(message):
        # dbus-daemon refuses a signal with an error, which answers no call of ours.
        if message.message_type is MessageType.ERROR:
            refused[message.reply_serial] = message.error_name

    bus.add_message_handler(arrived)
    for text in messages:
        kind, destination, path, interface, member = text.split(",")
        if kind.startswith("call"):
            fds = {"signature": "h", "body": [0], "unix_fds": [sys.stdout.fileno()]} if kind == "call+fd" else {}
            reply = await asyncio.wait_for(bus.call(Message(destination, path, interface, member, **fds)), 20)
            error = reply.message_type is MessageType.ERROR
            print(reply.error_name if error else "ok", *["fd"] * len(reply.unix_fds))
        else:
            serial = bus.next_serial()
            await bus.send(
                Message(None if kind == "broadcast" else destination, path, interface, member,
                        message_type=MessageType.SIGNAL, flags=MessageFlag.NO_AUTOSTART, serial=serial))
            # The bus works in order: with this answer, the signal has been delivered or refused.
            await bus.call(Message("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
            print(refused.get(serial, "silence"))


async def main():
    bus = await MessageBus(bus_address=sys.argv[2], negotiate_unix_fd=sys.argv[1] != "plain").connect()
    await {"own": own, "send": send, "plain": send}[sys.argv[1]](bus, sys.argv[3:])


asyncio.run(main())
