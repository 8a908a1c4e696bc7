"""One connection to a bus, on which only those who were asked are believed.

dbus-fast hands the first reply with a fitting number to whoever waits, whoever sent it. On a session bus anybody may send one, so
calls are answered here: by whom they were sent to, or, when that one is gone, by the bus. It takes a socket that is full for the
end of the connection, so what we send waits here until there is room. And that of Debian 12 makes messages of what is none, for which
the bus ends the connection, so what we send is looked at here.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import select
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Any

from dbus_fast import Message, MessageFlag, MessageType, Variant
from dbus_fast.aio import MessageBus

from ._errors import DISCONNECTED, INVALID, NO_REPLY, NO_SERVER, JostleError, error_of, error_of_bus
from ._names import BUS, BUS_PATH, INVALID_ARGS, UNKNOWN_METHOD
from ._own import keep_from_children

Reply = Callable[[Message], None]
"""Run with a reply as it comes, before whatever else the sender sends."""

CALL_TIMEOUT = 25.0
_FLUSH_TIMEOUT = 1.0
_PING = ("org.freedesktop.DBus.Peer", "Ping")
_DO_NOT_QUEUE = 4
_OWNED = (1, 4)
_MICRO = 1_000_000
_LARGEST = 2**64 - 1


def time_of(what: str, seconds: float) -> Variant:
    """A time as it travels."""
    try:
        microseconds = round(seconds * _MICRO)
    except (OverflowError, ValueError):
        # What is no number is no time, nor is what becomes more than there is.
        microseconds = -1
    if not 0 <= microseconds <= _LARGEST:
        raise JostleError(INVALID, f"{what}={seconds} is no time: give seconds, 0 or more")
    return Variant("t", microseconds)


def plain(value: Any) -> Any:
    """A value without its wrappings."""
    if isinstance(value, Variant):
        return plain(value.value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):  # what a struct is depends on the version of dbus-fast
        return [plain(item) for item in value]
    return value


class _Counted(str):
    """A text whose length is that of its bytes."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self.encode())


def _counts_characters() -> bool:
    """Whether a text's length is written in characters, as Debian 12's dbus-fast does it, where D-Bus wants bytes."""
    try:
        from dbus_fast._private.marshaller import Marshaller
    except ImportError:  # a later one, which has it elsewhere
        return False
    return bytes(Marshaller("s", ["\u00e9"]).marshall())[0] == 1


_COUNTS_CHARACTERS = _counts_characters()


def _sendable(value: Any) -> Any:
    """A value as dbus-fast, whichever it is, can send it. A text that no message can have is a ``ValueError``."""
    if isinstance(value, str):
        data = value.encode()
        if 0 in data:
            raise ValueError(f"{value!a} has a NUL in it")
        return _Counted(data, "utf-8") if _COUNTS_CHARACTERS and not value.isascii() else value
    if isinstance(value, Variant):
        return Variant(value.signature, _sendable(value.value))
    if isinstance(value, dict):
        return {_sendable(key): _sendable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):  # older versions of dbus-fast take a list only
        return [_sendable(item) for item in value]
    return value


def close_descriptors(message: Message, keep: int | None = None) -> None:
    """Closes what came with a message and nobody wants. Anybody can send us descriptors."""
    for descriptor in message.unix_fds:
        if descriptor != keep:
            os.close(descriptor)


def take_descriptor(message: Message, index: int) -> int:
    """The descriptor that a reply hands over."""
    try:
        descriptor = message.unix_fds[index]
    except IndexError:
        close_descriptors(message)
        raise JostleError(DISCONNECTED, "the reply has no descriptor") from None
    close_descriptors(message, keep=descriptor)
    # What came with a message is inherited, by every program that is started without closing what it does not know, as by
    # os.system.
    os.set_inheritable(descriptor, False)
    return int(descriptor)


def _address_of(bus: str) -> str:
    """Where a bus is, as all programs of ours find it. dbus-fast knows of the user's bus only what an X11 session says."""
    if bus == "system":
        return os.environ.get("DBUS_SYSTEM_BUS_ADDRESS") or "unix:path=/var/run/dbus/system_bus_socket"
    if bus != "session":
        return bus
    if address := os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return address
    if directory := os.environ.get("XDG_RUNTIME_DIR"):
        # dbus-fast takes no "~" in an address.
        return f"unix:path={urllib.parse.quote(os.fsencode(directory)).replace('~', '%7E')}/bus"
    raise JostleError(
        NO_SERVER, "no session bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set"
    )


class _Waiting:
    """A call that has no reply yet."""

    def __init__(self, destination: str, service: str, then: Reply | None) -> None:
        self.destination, self.service, self.then = destination, service, then
        self.reply: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    def believes(self, message: Message) -> bool:
        """Whether a reply is from whom we asked. Nobody but the bus has the bus's name."""
        return message.sender == self.destination or (
            message.message_type is MessageType.ERROR and message.sender == BUS
        )

    def take(self, message: Message) -> None:
        if self.reply.done():
            return close_descriptors(message)
        if message.message_type is MessageType.ERROR:
            close_descriptors(message)
            text = message.body[0] if message.body and isinstance(message.body[0], str) else ""
            is_in_place = message.sender == BUS and self.destination.startswith(":")
            error = (error_of_bus if is_in_place else error_of)(message.error_name or "", text, self.service)
            return self.reply.set_exception(error)
        try:
            if self.then:
                self.then(message)
        except JostleError as error:
            return self.reply.set_exception(error)
        self.reply.set_result(message)

    def forsake(self) -> None:
        """Nobody waits any more. A reply that came in the same moment takes its descriptors along."""
        if self.reply.done() and not self.reply.cancelled() and self.reply.exception() is None:
            close_descriptors(self.reply.result())

    def fail(self, error: JostleError) -> None:
        if not self.reply.done():
            self.reply.set_exception(error)


def _hang_up(bus: MessageBus) -> None:
    """Closes the socket of a connection that ended, or that never came to be one."""
    with contextlib.suppress(Exception):
        # Where it is closed already, its number may be another's by now.
        if bus._sock and (descriptor := bus._sock.fileno()) >= 0:
            asyncio.get_running_loop().remove_reader(descriptor)
            asyncio.get_running_loop().remove_writer(descriptor)
    for end in ("_stream", "_sock"):
        with contextlib.suppress(Exception):
            getattr(bus, end).close()


class Wire:
    """A connection to a bus. It lives once: whoever wants another one makes it."""

    def __init__(self, address: str, received: Callable[[Message], bool | Message | None] | None = None) -> None:
        """``received`` is told of signals and calls; true means that it took a call, and will answer."""
        self._address, self._told = address, received
        self._bus: MessageBus | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._outbox: asyncio.Queue[tuple[Message, _Waiting | None]] = asyncio.Queue()
        self._sender: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self.lost = asyncio.Event()
        """The bus is gone."""
        self.refused = 0
        """Replies of others than were asked."""

    @property
    def unique_name(self) -> str:
        """Our name on the bus; empty until it has greeted us."""
        return (self._bus.unique_name or "") if self._bus else ""

    async def open(self) -> None:
        """Connects to the bus."""
        address = _address_of(self._address)
        bus: MessageBus | None = None
        try:
            bus = MessageBus(bus_address=address, negotiate_unix_fd=True)
            async with asyncio.timeout(CALL_TIMEOUT):
                await bus.connect()
        except BaseException as error:  # dbus-fast raises what it met on the way, of any kind
            if bus is not None:
                _hang_up(bus)
            if not isinstance(error, Exception):
                raise
            silence = "it does not answer" if isinstance(error, TimeoutError) else type(error).__name__
            raise JostleError(NO_SERVER, f"no bus at '{self._address}': {str(error) or silence}") from error
        self._bus = bus
        for end in ("_stream", "_sock"):
            with contextlib.suppress(Exception):
                keep_from_children(getattr(bus, end))
        bus.add_message_handler(self._received)
        self._sender = asyncio.create_task(self._send(bus))
        self._watcher = asyncio.create_task(self._watch(bus))

    async def close(self) -> None:
        """Leaves the bus when it has taken what was sent."""
        if self._bus is None:
            return
        if not self.lost.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._outbox.join(), _FLUSH_TIMEOUT)
        if not self.lost.is_set():
            self._bus.disconnect()
        if self._watcher:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._watcher, _FLUSH_TIMEOUT)

    async def _watch(self, bus: MessageBus) -> None:
        """Waits for the end, and tells everybody who waits for something."""
        try:
            await bus.wait_for_disconnect()  # type: ignore[no-untyped-call, unused-ignore]
        except asyncio.CancelledError:
            raise
        except Exception:  # how it ended is no matter
            pass
        self.lost.set()
        if self._sender:
            self._sender.cancel()
        _hang_up(bus)  # older versions of dbus-fast do not
        waiting, self._waiting = self._waiting, {}
        for call in waiting.values():
            call.fail(JostleError(DISCONNECTED, "the bus is gone"))

    async def _send(self, bus: MessageBus) -> None:
        """Sends one message after the other. Older versions of dbus-fast turn the order of what has to wait."""
        while True:
            message, call = await self._outbox.get()
            try:
                failure = await self._write(bus, message)
            finally:
                self._outbox.task_done()
            if failure and call:
                call.fail(failure)

    async def _write(self, bus: MessageBus, message: Message) -> JostleError | None:
        """Sends a message, or returns why it could not: not raised here, where whoever clears its frames would end us."""
        gone = JostleError(DISCONNECTED, "the bus is gone")
        try:
            message.body = [_sendable(value) for value in message.body]
            # Its marshaller leaves out what does not fit, and sends the rest.
            message.signature_tree.verify(message.body)
            await self._has_room(bus)
            written = bus.send(message)  # makes bytes of it at once, and writes them when it can
        except OSError:
            return gone
        except Exception as error:
            return JostleError(INVALID_ARGS, f"{message.member}: {error}")
        try:
            await written
        except Exception:
            return gone
        return None

    async def _has_room(self, bus: MessageBus) -> None:
        """Returns when the socket takes something."""
        if (descriptor := bus._fd) is None:
            return
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        if poll.poll(0):
            return
        loop, room = asyncio.get_running_loop(), asyncio.Event()
        # dbus-fast watches the descriptor itself: of each only one may be watched.
        twin = keep_from_children(io.FileIO(os.dup(descriptor)))
        loop.add_writer(twin, room.set)
        try:
            await room.wait()
        finally:
            loop.remove_writer(twin)
            twin.close()

    # What we send.

    async def call(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Iterable[Any] = (),
        *,
        service: str = "",
        then: Reply | None = None,
        timeout: float = CALL_TIMEOUT,
    ) -> Message:
        """Calls a method, and waits for the answer of whom it was sent to.

        ``destination`` is a unique name, or the bus. ``then`` is run with the answer before anything that the same one sends
        after it is looked at.
        """
        if self._bus is None or self.lost.is_set():
            raise JostleError(DISCONNECTED, "the bus is gone")
        waiting = _Waiting(destination, service or destination, then)
        serial = self._bus.next_serial()
        message = Message(
            destination=destination, path=path, interface=interface, member=member, signature=signature,
            body=list(body), serial=serial,
        )  # fmt: skip
        self._waiting[serial] = waiting
        self._outbox.put_nowait((message, waiting))
        try:
            async with asyncio.timeout(timeout):
                return await waiting.reply
        except asyncio.CancelledError:
            waiting.forsake()
            raise
        except TimeoutError:
            waiting.forsake()
            raise JostleError(NO_REPLY, f"{service or destination} did not answer {member} in {timeout:g} s") from None
        finally:
            self._waiting.pop(serial, None)

    async def ask_bus(self, member: str, signature: str = "", *body: Any, service: str = "") -> Any:
        """Calls a method of the bus itself, and returns the one thing that it answers."""
        reply = await self.call(BUS, BUS_PATH, BUS, member, signature, body, service=service)
        return reply.body[0] if reply.body else None

    async def request_name(self, name: str) -> None:
        """Owns a name, or raises when another one does."""
        if await self.ask_bus("RequestName", "su", name, _DO_NOT_QUEUE) not in _OWNED:
            raise JostleError("org.freedesktop.DBus.Error.Failed", f"the name {name} has another owner on the bus")

    async def owner_of(self, name: str) -> str | None:
        """The unique name of whoever has a name."""
        try:
            return str(await self.ask_bus("GetNameOwner", "s", name))
        except JostleError as error:
            if error.name == "org.freedesktop.DBus.Error.NameHasNoOwner":
                return None
            raise

    async def start_service(self, name: str) -> str | None:
        """The unique name of whoever has a name, which the bus starts if need be and if it can."""
        if (owner := await self.owner_of(name)) is None:
            await self.ask_bus("StartServiceByName", "su", name, 0, service=name)
            owner = await self.owner_of(name)
        return owner

    def tell(
        self, destination: str, path: str, interface: str, member: str, signature: str, body: Iterable[Any]
    ) -> None:
        """Calls a method, and wants no answer."""
        if self._bus is None or self.lost.is_set():
            return
        message = Message(
            destination=destination, path=path, interface=interface, member=member, signature=signature,
            body=list(body), flags=MessageFlag.NO_REPLY_EXPECTED, serial=self._bus.next_serial(),
        )  # fmt: skip
        self._outbox.put_nowait((message, None))

    def send(self, message: Message) -> None:
        """Sends a reply or a signal."""
        if self._bus is None or self.lost.is_set():
            return
        message.serial = self._bus.next_serial()
        self._outbox.put_nowait((message, None))

    # What comes.

    def _received(self, message: Message) -> bool | Message | None:
        if message.message_type in (MessageType.METHOD_RETURN, MessageType.ERROR):
            call = self._waiting.get(message.reply_serial)
            if call is not None and call.believes(message):
                del self._waiting[message.reply_serial]
                call.take(message)
            else:
                # A late answer of somebody whom we gave up on counts here too: no harm is done.
                self.refused += 1
                close_descriptors(message)
            return True
        answer = self._told(message) if self._told else None
        close_descriptors(message)
        if message.message_type is MessageType.METHOD_CALL and not answer:
            if MessageFlag.NO_REPLY_EXPECTED not in message.flags:
                # As all that we send, it waits until there is room: what dbus-fast answers by itself would end the connection.
                self.send(self._plain_reply(message))
            return True
        return answer

    @staticmethod
    def _plain_reply(message: Message) -> Message:
        """The answer to a call that nobody takes."""
        if (message.interface, message.member) == _PING:  # by which the broker learns that we read
            return Message.new_method_return(message)
        unknown: Any = UNKNOWN_METHOD
        return Message.new_error(message, unknown, f"there is no {message.member} at {message.path}")
