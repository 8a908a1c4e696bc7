"""The way to the broker: the connection to the bus, our name there, and whose the broker's name is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from dbus_fast import Message, MessageType

from ._errors import DISCONNECTED, JostleError
from ._names import BROKER, BUS, BUS_PATH
from ._wire import Reply, Wire

_MATCH = f"type='signal',sender='{BUS}',path='{BUS_PATH}',interface='{BUS}',member='NameOwnerChanged',arg0='{BROKER}'"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0


class Link:
    """Comes back by itself when the bus does, and follows the broker's name from ``open`` on."""

    def __init__(
        self,
        address: str,
        app_id: str,
        changed: Callable[[str | None], None],
        signal: Callable[[Message], bool],
        call: Callable[[Message], bool],
    ) -> None:
        """``changed`` is told of the broker's comings and goings, ``signal`` of what the broker says: false, when that is none of
        ours. ``call`` is told of calls of anybody: true when it answers."""
        self._address, self._app_id = address, app_id
        self._changed, self._signal, self._call = changed, signal, call
        self._wire: Wire | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._is_told = False
        self._refused = 0
        self.broker: str | None = None
        """The broker's unique name."""

    @property
    def refused(self) -> int:
        """What pretended to come from the broker, and replies of others than were asked."""
        return self._refused + (self._wire.refused if self._wire else 0)

    def count_forgery(self) -> None:
        """Takes note of something that pretended to come from the broker."""
        self._refused += 1

    @property
    def unique_name(self) -> str:
        """Our name on the bus now; empty while there is no bus."""
        return self._wire.unique_name if self._wire else ""

    async def open(self) -> None:
        """Connects to the bus, takes our name, and waits for the broker, which the bus starts if it can."""
        wire = await self._connect()
        try:
            if self.broker is None:
                self._is_told = False
                owner = await wire.start_service(BROKER)
                if not self._is_told:
                    self._believe(owner)
        except BaseException:
            await wire.close()
            raise
        self._keeper = asyncio.create_task(self._keep(wire))

    async def close(self) -> None:
        """Leaves the bus."""
        try:
            if self._keeper:
                self._keeper.cancel()
                # Not awaited itself: who cancels us would be taken for it.
                await asyncio.wait([self._keeper])
        finally:
            if self._wire:
                await self._wire.close()
            self.broker = None

    async def _connect(self) -> Wire:
        wire = Wire(self._address, self._received)
        await wire.open()
        if self._wire:
            self._refused += self._wire.refused
        self._wire = wire
        try:
            self._is_told = False
            await wire.ask_bus("AddMatch", "s", _MATCH)
            if self._app_id:
                await wire.request_name(self._app_id)
            owner = await wire.owner_of(BROKER)
            # Changes are told in order: one that came since we asked to be told says the same, or knows better.
            if not self._is_told:
                self._believe(owner)
        except BaseException:
            await wire.close()
            raise
        return wire

    async def _keep(self, wire: Wire) -> None:
        """Goes back to the bus whenever it is lost."""
        while True:
            await wire.lost.wait()
            self._believe(None)
            pause = _FIRST_PAUSE
            while True:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                try:
                    wire = await self._connect()
                    break
                except JostleError:
                    # No bus yet, or our name is still another's: it may be our own old connection's.
                    self._believe(None)

    def _believe(self, owner: str | None) -> None:
        if owner != self.broker:
            self.broker = owner
            self._changed(owner)

    # What we send.

    async def ask(
        self, path: str, interface: str, member: str, signature: str = "", *body: Any, then: Reply | None = None
    ) -> Message:
        """Calls a method of the broker that is there now."""
        if self._wire is None or self.broker is None:
            raise JostleError(DISCONNECTED, f"the broker ({BROKER}) is not running")
        return await self._wire.call(self.broker, path, interface, member, signature, body, service=BROKER, then=then)

    def tell(self, path: str, interface: str, member: str, signature: str, *body: Any) -> bool:
        """Calls a method of the broker that has no answer. False: there is no broker."""
        if self._wire is None or self.broker is None:
            return False
        self._wire.tell(self.broker, path, interface, member, signature, body)
        return True

    def send(self, message: Message) -> None:
        """Answers a call."""
        if self._wire:
            self._wire.send(message)

    # What comes.

    def _received(self, message: Message) -> bool:
        if message.message_type is MessageType.METHOD_CALL:
            return self._call(message)
        if (message.interface, message.member, message.signature) == (BUS, "NameOwnerChanged", "sss"):
            # Anybody can send us a signal: only the bus speaks of owners.
            if message.sender != BUS:
                self.count_forgery()
            elif message.body[0] == BROKER:
                self._is_told = True
                self._believe(message.body[2] or None)
        elif (message.interface or "").startswith(BROKER):
            if message.sender != self.broker or not self._signal(message):
                self.count_forgery()
        return True


