#!/usr/bin/python3
"""A media player as MPRIS has them: player.py ADDRESS NAME ENTRY STATUS.

Says that it is the app of the desktop file ENTRY. `Become` changes its status.
"""

import asyncio
import sys

from dbus_fast import PropertyAccess
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_property, method


class Player(ServiceInterface):
    def __init__(self, status):
        super().__init__("org.mpris.MediaPlayer2.Player")
        self.status = status

    @dbus_property(access=PropertyAccess.READ)
    def PlaybackStatus(self) -> "s":
        return self.status

    @dbus_property(access=PropertyAccess.READ)
    def Metadata(self) -> "a{sv}":
        return {}


class Application(ServiceInterface):
    def __init__(self, entry):
        super().__init__("org.mpris.MediaPlayer2")
        self.entry = entry

    @dbus_property(access=PropertyAccess.READ)
    def DesktopEntry(self) -> "s":
        return self.entry


class Remote(ServiceInterface):
    def __init__(self, player):
        super().__init__("org.example.Player")
        self.player = player

    @method()
    def Become(self, status: "s"):
        self.player.status = status
        self.player.emit_properties_changed({"PlaybackStatus": status})


async def main():
    address, name, entry, status = sys.argv[1:]
    bus = await MessageBus(bus_address=address).connect()
    player = Player(status)
    for interface in (player, Application(entry), Remote(player)):
        bus.export("/org/mpris/MediaPlayer2", interface)
    await bus.request_name("org.mpris.MediaPlayer2." + name)
    print("ready", flush=True)
    await bus.wait_for_disconnect()


asyncio.run(main())
