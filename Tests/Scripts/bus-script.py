#!/usr/bin/python3
"""Says on a bus what a test wants said, and prints what comes back: bus-script.py ADDRESS STEP...

Each step is one argument. PEER is a connection with a name of the test's choosing, made when a step first names it.

    PEER call DESTINATION PATH INTERFACE MEMBER [SIGNATURE BODY]    prints "PEER ok BODY" or "PEER error NAME: MESSAGE"
    PEER send DESTINATION PATH INTERFACE MEMBER [SIGNATURE BODY]    sends a signal; returns when the bus has passed it on
    PEER own NAME       owns a name
    PEER name           prints "PEER name UNIQUE"
    PEER hear           prints "PEER heard SENDER MEMBER BODY" for each signal that is sent to it from now on
    PEER await N        returns when N more of them have arrived
    PEER leave          ends the connection
    stay                prints "staying" and goes on until the bus goes

BODY is a Python list, in which V(signature, value) is a variant, and nan and inf are what they are. Bodies are printed as
JSON. "-" as an interface is none.
"""

import asyncio
import json
import math
import sys

from dbus_fast import Message, MessageFlag, MessageType, RequestNameReply, Variant
from dbus_fast.aio import MessageBus

NAMES = {"V": Variant, "nan": math.nan, "inf": math.inf}


def printed(body):
    return json.dumps(body, default=lambda variant: variant.value)


def message(words, kind):
    destination, path, interface, member = words[:4]
    signature, body = (words[4], eval(words[5], NAMES)) if len(words) > 4 else ("", [])
    flags = MessageFlag.NONE if kind is MessageType.METHOD_CALL else MessageFlag.NO_AUTOSTART
    return Message(destination, path, None if interface == "-" else interface, member, message_type=kind, flags=flags,
                   signature=signature, body=body)


async def perform(peers, arrivals, address, step):
    name, verb, *words = step.split(" ", 7)
    if name not in peers:
        peers[name] = await MessageBus(bus_address=address).connect()
    bus = peers[name]
    if verb == "call":
        reply = await bus.call(message(words, MessageType.METHOD_CALL))
        if reply.message_type is MessageType.ERROR:
            print(name, "error", f"{reply.error_name}:", *reply.body, flush=True)
        else:
            print(name, "ok", printed(reply.body), flush=True)
    elif verb == "send":
        await bus.send(message(words, MessageType.SIGNAL))
        # The bus works in order: with this answer, the signal has been delivered.
        await bus.call(Message("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
    elif verb == "own":
        assert await bus.request_name(words[0]) is RequestNameReply.PRIMARY_OWNER
    elif verb == "name":
        print(name, "name", bus.unique_name, flush=True)
    elif verb == "hear":
        arrivals[name] = asyncio.Semaphore(0)

        def heard(arrived):
            if arrived.message_type is MessageType.SIGNAL and arrived.sender != "org.freedesktop.DBus":
                print(name, "heard", arrived.sender, arrived.member, printed(arrived.body), flush=True)
                arrivals[name].release()

        bus.add_message_handler(heard)
    elif verb == "await":
        for _ in range(int(words[0])):
            await arrivals[name].acquire()
    elif verb == "leave":
        peers.pop(name).disconnect()
        await bus.wait_for_disconnect()
    else:
        sys.exit(f"bus-script: what is '{verb}'?")


async def main():
    peers, arrivals = {}, {}
    for step in sys.argv[2:]:
        if step == "stay":
            print("staying", flush=True)
            await asyncio.gather(*[bus.wait_for_disconnect() for bus in peers.values()])
        else:
            await perform(peers, arrivals, sys.argv[1], step)


asyncio.run(main())
