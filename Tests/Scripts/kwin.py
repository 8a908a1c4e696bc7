#!/usr/bin/python3
"""Plays the part of KWin that runs scripts: kwin.py ADDRESS

Owns its name, prints "ready", takes every script, and prints the name of each method that is called.
"""

import asyncio
import sys

from dbus_fast import Message, MessageType, RequestNameReply
from dbus_fast.aio import MessageBus

ANSWERS = {"unloadScript": ("b", [True]), "loadScript": ("i", [7]), "run": ("", [])}


async def main():
    bus = await MessageBus(bus_address=sys.argv[1]).connect()

    def arrived(message):
        if message.message_type is not MessageType.METHOD_CALL or message.member not in ANSWERS:
            return None
        print(message.member, flush=True)
        return Message.new_method_return(message, *ANSWERS[message.member])

    bus.add_message_handler(arrived)
    assert await bus.request_name("org.kde.KWin") is RequestNameReply.PRIMARY_OWNER
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main())
