#!/usr/bin/python3
"""Takes what a broker is told of windows, players and frozen apps, in its place:
window-broker.py ADDRESS [refuse | busy | failing | endless] [APP=PID...].

Prints a line for each call: the time of CLOCK_MONOTONIC in µs, the source, and "forget" or the apps in front, those seen and those
hidden, as `front|visible|hidden`; or which play or are frozen, after "playing" or "frozen". An app whose id is empty is `?`. "refuse"
lets nobody say anything, "busy" has no room for the first of each call, "failing" fails then, and "endless" lists the same behind
all that it listed. Each APP is listed as one that this process registered, until SIGUSR1: then none is, and whoever watches is told
only that it missed something.
"""

import asyncio
import signal
import sys
import time

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

KNOWN = {"state": "s", "window": "s", "pid": "u"}
FIRST = {"busy": "org.freedesktop.DBus.Error.LimitsExceeded", "failing": "org.freedesktop.DBus.Error.Failed"}


def text(rows):
    for app, details in rows:
        assert {key: value.signature for key, value in details.items()}.items() <= KNOWN.items(), details
        assert len(details["window"].value.encode()) <= 64, details
    apps = [app for app, _ in rows]
    assert len(apps) == len(set(apps)) and len(apps) <= 1024, apps

    def those(state):
        return " ".join(sorted(app or "?" for app, details in rows if details["state"].value == state))

    return "|".join(map(those, ("front", "visible", "hidden")))


async def main():
    bus = await MessageBus(bus_address=sys.argv[1]).connect()
    apps = [app.split("=") for app in sys.argv[2:] if "=" in app]
    refuses = "refuse" in sys.argv[2:]
    endless = "endless" in sys.argv[2:]
    first = next((error for fault, error in FIRST.items() if fault in sys.argv[2:]), None)
    heard = set()
    rows = [
        [f"/org/jostle/Broker1/apps/{number}",
         {"app": Variant("s", app), "process": Variant("u", int(process)), "state": Variant("s", "foreground")}]
        for number, (app, process) in enumerate(apps)
    ]

    watchers = set()

    def leave():
        rows.clear()
        for name in watchers:
            bus.send(Message(name, "/org/jostle/Broker1", "org.jostle.Broker1", "AppsChanged", message_type=MessageType.SIGNAL,
                             signature="a(oa{sv})aoa{sv}", body=[[], [], {"missed": Variant("b", True)}]))

    def answer(message):
        if message.message_type is not MessageType.METHOD_CALL or message.interface != "org.jostle.Broker1":
            return None
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        if refuses:
            return Message.new_error(message, "org.freedesktop.DBus.Error.AccessDenied", "not you")
        if first and message.member not in heard:
            heard.add(message.member)
            return Message.new_error(message, first, "not now")
        if (message.member, message.signature) == ("SetWindows", "a(sa{sv})a{sv}"):
            print(now, message.body[1]["source"].value, text(message.body[0]), flush=True)
        elif (message.member, message.signature) == ("ForgetWindows", "a{sv}"):
            print(now, message.body[0]["source"].value, "forget", flush=True)
        elif (message.member, message.signature) in (("SetPlaying", "asa{sv}"), ("SetFrozen", "asa{sv}")):
            names, options = message.body
            print(now, options["source"].value, message.member[3:].lower(), *names, flush=True)
        elif (message.member, message.signature) == ("ListApps", "a{sv}"):
            return Message.new_method_return(message, "a(oa{sv})", [[] if message.body[0] and not endless else rows])
        elif message.member == "Watch":
            watchers.add(message.sender)
        else:
            return None
        return Message.new_method_return(message)

    bus.add_message_handler(answer)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, leave)
    await bus.request_name("org.jostle.Broker1")
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main())
