"""A broker that does what a test says."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import socket
import struct
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from dbus_fast import Message, MessageFlag, MessageType, Variant

from .._errors import INVALID, NOT_FOUND, JostleError
from .._names import (
    ACCESS_DENIED,
    APP,
    BROKER,
    BROKER_PATH,
    BUS,
    BUS_PATH,
    EVENT,
    INVALID_ARGS,
    PROPERTIES,
    READER,
    READER_PATH,
    RECEIVER,
    RECEIVER_PATH,
    SENSOR,
)
from .._wire import Wire, plain
from ._bus import PrivateBus

_LEFT = f"type='signal',sender='{BUS}',path='{BUS_PATH}',interface='{BUS}',member='NameOwnerChanged'"
_FOREVER = 2**64 - 1
_MICRO = 1_000_000
_WAIT = 10.0
# What methods take, all objects of ours together: no two have the same name.
_SIGNATURES = {
    "Register": "sa{sv}", "AddDetectors": "a(sa{sv})", "AddDetector": "sa{sv}", "RemoveDetectors": "asa{sv}",
    "Subscribe": "a{sv}", "Ack": "ttsa{sv}", "BeginAssertion": "sa{sv}", "BeginActivity": "sa{sv}",
    "SubmitTask": "ssa{sv}", "CancelTask": "sa{sv}", "TaskDone": "sa{sv}", "Get": "ss", "GetAll": "s", "Set": "ssv",
    "ListSensors": "a{sv}", "OpenStream": "a{sv}",
}  # fmt: skip


def _now() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def _escaped(name: str) -> str:
    """A name as the last part of a path: each byte outside of letters and digits as _xx."""
    safe = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join(chr(byte) if byte in safe else f"_{byte:02x}" for byte in name.encode())


def _wrap(value: Any) -> Variant:
    """A detail as it travels; whole numbers are times or counts there."""
    if isinstance(value, Variant):
        return value
    for kind, letter in ((bool, "b"), (int, "t"), (float, "d"), (str, "s")):
        if isinstance(value, kind):
            return Variant(letter, value)
    raise TypeError(f"{value!r} is no detail: give a number, a text, or true or false")


@dataclasses.dataclass(frozen=True)
class _Held:
    """What an app holds by a descriptor."""

    kind: str
    name: str
    number: int
    end: socket.socket


@dataclasses.dataclass
class AppDouble:
    """An app that registered, as this broker sees it."""

    app_id: str
    """Its id; empty for one without a name."""
    unique_name: str
    path: str
    durable: bool = False
    detectors: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    """The options that it asked for, by the bus's words, of each of its detectors."""
    subscriptions: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """What it said in ``Subscribe``, each time."""
    answers: list[tuple[int, int, str]] = dataclasses.field(default_factory=list)
    """The number, epoch and word of each ``Ack``."""
    assertions: list[str] = dataclasses.field(default_factory=list)
    """The names of those that it holds."""
    activities: list[str] = dataclasses.field(default_factory=list)
    """The modes in which it is at work."""
    tasks: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    """The tasks that wait: kind and options."""
    outcomes: list[tuple[str, bool]] = dataclasses.field(default_factory=list)
    """The tasks that ended, and whether they were done."""
    properties: dict[str, Variant] = dataclasses.field(default_factory=dict)
    """What its properties say, for a test to change."""
    sequence: int = 0
    """The number of its last event."""
    running: str | None = None
    """The task that is under way."""
    _held: list[_Held] = dataclasses.field(default_factory=list)
    _last_number: int = 0


@dataclasses.dataclass
class _Sensor:
    name: str
    channels: list[str]
    unit: str
    streams: list[socket.socket] = dataclasses.field(default_factory=list)
    sent: int = 0

    @property
    def path(self) -> str:
        return f"{READER_PATH}/{_escaped(self.name)}"


class _Refusal(Exception):
    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, message)
        self.name, self.message = name, message


class Broker:
    """A broker, and a reader, that do what a test says.

    It is there as long as its body; ``leave`` and ``come_back``, ``bus.stop`` and ``bus.start`` try what an app does without it.
    """

    def __init__(self, *, activated: bool = True) -> None:
        """
        :param activated: false: it is not there before ``come_back``
        """
        self.bus = PrivateBus()
        """Its bus."""
        self.apps: list[AppDouble] = []
        """The apps that are registered, in the order in which they came."""
        self.calls: list[str] = []
        """The methods that were called, in order, refused ones among them."""
        self.sensors: dict[str, _Sensor] = {}
        self.epoch = 0
        """The epoch of the last event."""
        self._comes = activated
        self._refusals: dict[str, _Refusal] = {}
        self._wire: Wire | None = None
        self._happened = asyncio.Event()
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._server: asyncio.Task[None] | None = None

    # Life.

    async def __aenter__(self) -> Self:
        await self.bus.__aenter__()
        try:
            if self._comes:
                await self.come_back()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.leave()
        await self.bus.__aexit__(kind, error, traceback)

    async def come_back(self) -> None:
        """Takes the broker's name on the bus. Nobody is registered."""
        self._wire = Wire(self.bus.address, self._received)
        await self._wire.open()
        self._server = asyncio.create_task(self._serve())
        await self._wire.ask_bus("AddMatch", "s", _LEFT)
        await self._wire.request_name(READER)
        await self._wire.request_name(BROKER)

    async def leave(self) -> None:
        """Leaves the bus: whatever apps hold is over."""
        if self._server:
            self._server.cancel()
            self._inbox = asyncio.Queue()
        for app in self.apps:
            self._let_go(app)
        self.apps.clear()
        for sensor in self.sensors.values():
            for end in sensor.streams:
                end.close()
            sensor.streams.clear()
        if self._wire:
            await self._wire.close()
            self._wire = None

    async def until(self, condition: Callable[[], object], timeout: float = _WAIT) -> None:
        """Waits until something is so. Looked at whenever an app did something."""
        async with asyncio.timeout(timeout):
            while not condition():
                self._happened.clear()
                await self._happened.wait()

    # What a test looks at.

    def app(self, app_id: str | None = None) -> AppDouble:
        """The app of this id; without one the first."""
        for app in self.apps:
            if app_id is None or app.app_id == app_id:
                return app
        raise LookupError(f"no app {app_id or ''} is registered")

    @property
    def detectors(self) -> dict[str, dict[str, Any]]:
        """The options of the detectors of all apps, by name."""
        return {name: options for app in self.apps for name, options in app.detectors.items()}

    # What a test says.

    def refuse(self, member: str, name: str = ACCESS_DENIED, message: str = "the test says so") -> None:
        """From now on a method, such as ``AddDetectors``, answers with an error."""
        self._refusals[member] = _Refusal(name, message)

    def allow(self, member: str) -> None:
        """A method does again what it does."""
        self._refusals.pop(member, None)

    async def event(
        self, detector: str, peak: float = 1.0, *, ack: bool = False, app: AppDouble | None = None, **details: Any
    ) -> int:
        """Sends an event of a detector to an app, which must have it, and returns its number.

        :param ack: the app is to answer
        :param details: the rest of the event, such as ``simulated=True``; ``answer_by`` is the bus's ``answer-by``
        """
        target = app or next((app for app in self.apps if detector in app.detectors), None)
        if target is None:
            raise LookupError(f"no app has a detector '{detector}'")
        target.sequence += 1
        self._signal(target, "Event", EVENT, [self._row(target.sequence, detector, peak, ack, details)])
        return target.sequence

    async def again(self, sequence: int, detector: str, peak: float = 1.0, *, app: AppDouble | None = None) -> None:
        """Sends the last event that was sent once more, as a broker does that had no answer."""
        row = self._row(sequence, detector, peak, True, {"redelivered": True}, self.epoch)
        self._signal(app or self.app(), "Event", EVENT, [row])

    def _row(
        self, sequence: int, detector: str, peak: float, ack: bool, details: dict[str, Any], epoch: int | None = None
    ) -> list[Any]:
        if epoch is None:
            self.epoch += 1
        words = {key.replace("_", "-"): _wrap(value) for key, value in details.items()}
        if ack:
            words["ack"] = Variant("b", True)
        return [sequence, self.epoch if epoch is None else epoch, _now(), detector, float(peak), words]

    async def gap(self, count: int = 1, reason: str = "dropped", *, app: AppDouble | None = None) -> None:
        """Tells an app that it does not get its next events."""
        target = app or self.app()
        first = target.sequence + 1
        target.sequence += count
        self._signal(target, "Gap", "(tta{sv})", [[first, target.sequence, {reason: Variant("t", count)}]])

    async def caught_up(self, *, app: AppDouble | None = None) -> None:
        """Tells an app that all that was kept has come."""
        target = app or self.app()
        self._signal(target, "CaughtUp", "(ta{sv})", [[target.sequence, {}]])

    async def launch(
        self, reason: str = "shake", detectors: Iterable[str] = (), *, app_id: str | None = None, missing: int = 0
    ) -> str:
        """Launches an app by its name with an event of each of these detectors, and returns its answer."""
        rows = [self._row(index, name, 1.0, False, {}) for index, name in enumerate(detectors, 1)]
        options = {"missing": Variant("t", missing)} if missing else {}
        body = [reason, rows, options]
        reply = await self._receiver(app_id or self.app().app_id, "Deliver", f"sa{EVENT}a{{sv}}", body)
        return str(reply.body[0])

    async def run_task(
        self, identifier: str, *, seconds: float = 30, attempt: int = 1, app: AppDouble | None = None
    ) -> None:
        """Begins a task, which need not wait."""
        target = app or self.app()
        kind = target.tasks.pop(identifier, {}).get("kind", "refresh")
        target.running = identifier
        options = {
            "attempt": Variant("u", attempt), "kind": Variant("s", kind), "time": Variant("t", round(seconds * _MICRO)),
        }  # fmt: skip
        body = [identifier, _now() + round(seconds * _MICRO), options]
        await self._receiver(target.unique_name, "RunTask", "sta{sv}", body)

    async def expire_task(self, remaining: float = 1, *, app: AppDouble | None = None) -> None:
        """Tells an app that the time of its task ends soon."""
        target = app or self.app()
        self._signal(target, "TaskExpiring", "sa{sv}", [target.running or "", self._left_of(remaining)])

    async def expire(self, assertion: str, remaining: float = 1, *, app: AppDouble | None = None) -> None:
        """Tells an app that an assertion ends soon, the first of that name."""
        target = app or self.app()
        held = (entry.number for entry in target._held if (entry.kind, entry.name) == ("assertion", assertion))
        details = {"number": Variant("t", next(held, 0)), **self._left_of(remaining)}
        self._signal(target, "AssertionExpiring", "sa{sv}", [assertion, details])

    @staticmethod
    def _left_of(remaining: float) -> dict[str, Variant]:
        return {"remaining": Variant("t", round(remaining * _MICRO))}

    async def end(self, name: str, *, app: AppDouble | None = None) -> None:
        """Ends an assertion, or an activity by its mode, as when its time is over or the app is suspended."""
        target = app or self.app()
        for held in [held for held in target._held if held.name == name]:
            self._ended(target, held)

    async def session(
        self,
        name: str,
        change: str,
        *,
        number: int = 1,
        resume: bool | None = None,
        share: float | None = None,
        app: AppDouble | None = None,
    ) -> None:
        """Tells an app how its session stands from now on."""
        words = {"number": number, "resume": resume, "share": share}
        details = {key: _wrap(value) for key, value in words.items() if value is not None}
        self._signal(app or self.app(), "SessionChanged", "ssa{sv}", [name, change, details])

    # Sensors.

    def sensor(self, name: str, channels: Sequence[str] = ("x", "y", "z"), unit: str = "g") -> None:
        """From now on there is a sensor."""
        self.sensors[name] = _Sensor(name, list(channels), unit)

    async def samples(self, sensor: str, rows: Sequence[Sequence[float]], *, missing: int = 0) -> None:
        """Sends samples to whoever reads a sensor: the time in seconds, and a value for each channel, in each row."""
        target = self.sensors[sensor]
        if missing:
            self._packet(target, 2, missing, b"")
            target.sent += missing
        row = struct.Struct(f"=Q{len(target.channels)}d")
        self._packet(
            target, 1, len(rows), b"".join(row.pack(round(time * _MICRO), *values) for time, *values in rows)
        )
        target.sent += len(rows)

    def _packet(self, sensor: _Sensor, kind: int, count: int, rows: bytes) -> None:
        packet = struct.pack("=IIQ", kind, count, sensor.sent) + rows
        for end in list(sensor.streams):
            try:
                end.send(packet)
            except OSError:
                sensor.streams.remove(end)
                end.close()

    # How it travels.

    @property
    def _there(self) -> Wire:
        if self._wire is None:
            raise RuntimeError("the broker is not on the bus")
        return self._wire

    def _signal(self, app: AppDouble, member: str, signature: str, body: list[Any]) -> None:
        message = Message.new_signal(app.path, APP, member, signature, body)
        message.destination = app.unique_name
        self._there.send(message)

    async def _receiver(self, destination: str, member: str, signature: str, body: list[Any]) -> Message:
        owner = destination if destination.startswith(":") else await self._there.start_service(destination)
        if owner is None:
            raise JostleError(NOT_FOUND, f"nobody has the name {destination}")
        return await self._there.call(owner, RECEIVER_PATH, RECEIVER, member, signature, body)

    def _received(self, message: Message) -> bool:
        is_departure = message.message_type is MessageType.SIGNAL and message.sender == BUS
        if not is_departure and message.interface not in (BROKER, APP, PROPERTIES, READER, SENSOR):
            return message.message_type is MessageType.SIGNAL
        self._inbox.put_nowait(message)
        return True

    async def _serve(self) -> None:
        """Does one thing after the other, as they came: an app's last answer comes before its end."""
        while True:
            message = await self._inbox.get()
            if message.message_type is MessageType.METHOD_CALL:
                await self._reply(message)
            elif message.member == "NameOwnerChanged" and not message.body[2]:
                self._left(message.body[0])
            self._happened.set()

    async def _reply(self, message: Message) -> None:
        self.calls.append(message.member or "")
        try:
            if refusal := self._refusals.get(message.member or ""):
                raise refusal
            reply = await self._answer(message)
        except _Refusal as refusal:
            error: Any = refusal.name
            reply = Message.new_error(message, error, refusal.message)
        except JostleError as failure:
            error = failure.name
            reply = Message.new_error(message, error, failure.message)
        if self._wire and MessageFlag.NO_REPLY_EXPECTED not in message.flags:
            self._wire.send(reply)
            # Once the bus has them, our copies of what we hand out are done with.
            if reply.unix_fds:
                with contextlib.suppress(JostleError):
                    await self._wire.ask_bus("GetId")
                for descriptor in reply.unix_fds:
                    os.close(descriptor)

    async def _answer(self, message: Message) -> Message:
        wanted = _SIGNATURES.get(message.member or "", message.signature)
        if message.signature != wanted:
            raise _Refusal(INVALID_ARGS, f"{message.member} takes '{wanted}', not '{message.signature}'")
        if message.path == BROKER_PATH and message.interface == BROKER and message.member == "Register":
            return await self._register(message)
        if (message.path or "").startswith(READER_PATH):
            return self._read(message)
        app = next((app for app in self.apps if app.path == message.path), None)
        if app is None or app.unique_name != message.sender:
            raise _Refusal(ACCESS_DENIED, "this object is another app's, or nobody's")
        if message.interface == PROPERTIES:
            return self._property(app, message)
        method = getattr(self, f"_do_{message.member}", None)
        if method is None:
            raise _Refusal("org.freedesktop.DBus.Error.UnknownMethod", f"the double has no {message.member}")
        result: Message | Awaitable[Message] = method(app, message)
        return result if isinstance(result, Message) else await result

    async def _register(self, message: Message) -> Message:
        app_id, options = message.body
        sender = message.sender or ""
        if app_id and await self._there.owner_of(app_id) != sender:
            raise _Refusal("org.jostle.Error.IdentityMismatch", f"the caller does not own the name '{app_id}'")
        app = next((app for app in self.apps if app.unique_name == sender), None)
        if app is None:
            app = AppDouble(app_id, sender, f"{BROKER_PATH}/apps/{_escaped(app_id or sender)}")
            app.properties = {
                "AppId": Variant("s", app_id), "State": Variant("s", "foreground"),
                "BackgroundTimeRemaining": Variant("t", _FOREVER), "TaskIdentifiers": Variant("as", []),
            }  # fmt: skip
            self.apps.append(app)
        elif app.app_id != app_id:
            raise _Refusal(INVALID, f"the caller registered as '{app.app_id}'")
        app.durable = plain(options).get("durable") is True
        results = {"identity": Variant("s", "name" if app_id else "uid"), "durable": Variant("b", app.durable)}
        return Message.new_method_return(message, "oa{sv}", [app.path, results])

    def _property(self, app: AppDouble, message: Message) -> Message:
        if message.member == "GetAll":
            return Message.new_method_return(message, "a{sv}", [app.properties])
        if message.member not in ("Get", "Set"):
            raise _Refusal("org.freedesktop.DBus.Error.UnknownMethod", f"the double has no {message.member}")
        name = message.body[1]
        if name not in app.properties:
            raise _Refusal("org.freedesktop.DBus.Error.UnknownProperty", f"the double has no property {name}")
        if message.member == "Set":
            raise _Refusal("org.freedesktop.DBus.Error.PropertyReadOnly", f"{name} is not for apps to set")
        return Message.new_method_return(message, "v", [app.properties[name]])

    def _do_AddDetectors(self, app: AppDouble, message: Message) -> Message:
        return Message.new_method_return(message, "a(sa{sv})", [self._take(app, message.body[0])])

    def _do_AddDetector(self, app: AppDouble, message: Message) -> Message:
        ((_, effective),) = self._take(app, [message.body])
        return Message.new_method_return(message, "a{sv}", [effective])

    def _take(self, app: AppDouble, rows: list[Any]) -> list[Any]:
        """Adds detectors, all of them or none, and returns what is in force: what was asked for."""
        for name, options in rows:
            if len({"preset", "when"} & options.keys()) != 1:
                raise _Refusal(INVALID, f"detector '{name}': give a preset or a condition")
        for name, options in rows:
            app.detectors[name] = plain(options)
        return [[name, {**options, "available": Variant("b", True)}] for name, options in rows]

    def _do_RemoveDetectors(self, app: AppDouble, message: Message) -> Message:
        for name in message.body[0]:
            if name not in app.detectors:
                raise _Refusal(NOT_FOUND, f"there is no detector '{name}'")
        for name in message.body[0]:
            del app.detectors[name]
        return Message.new_method_return(message)

    def _do_Subscribe(self, app: AppDouble, message: Message) -> Message:
        options = plain(message.body[0])
        app.subscriptions.append(options)
        # Numbers may begin anew, epochs never do: what comes is later than what the app is done with.
        self.epoch = max(self.epoch, options.get("since", (0, 0))[1])
        return Message.new_method_return(message, "a{sv}", [{"kept": Variant("t", 0)}])

    def _do_Ack(self, app: AppDouble, message: Message) -> Message:
        sequence, epoch, answer, _ = message.body
        app.answers.append((sequence, epoch, answer))
        return Message.new_method_return(message)

    def _do_BeginAssertion(self, app: AppDouble, message: Message) -> Message:
        name = message.body[0]
        number, end = self._hold(app, "assertion", name)
        in_force = {
            "name": Variant("s", name), "number": Variant("t", number),
            "background-time-remaining": Variant("t", _FOREVER),
        }  # fmt: skip
        return Message.new_method_return(message, "ha{sv}", [0, in_force], [end])

    def _do_BeginActivity(self, app: AppDouble, message: Message) -> Message:
        number, end = self._hold(app, "activity", message.body[0])
        in_force = {"number": Variant("t", number), "keeps-going": Variant("b", True)}
        return Message.new_method_return(message, "ha{sv}", [0, in_force], [end])

    def _do_SubmitTask(self, app: AppDouble, message: Message) -> Message:
        identifier, kind, wrapped = message.body
        options = plain(wrapped)
        app.tasks[identifier] = {"kind": kind, **options}
        earliest = options.get("earliest-begin", time.time_ns() // 1000 + options.get("earliest-in", 0))
        in_force = {"earliest-begin": Variant("t", earliest), "durable": Variant("b", True)}
        return Message.new_method_return(message, "a{sv}", [in_force])

    def _do_CancelTask(self, app: AppDouble, message: Message) -> Message:
        if app.tasks.pop(message.body[0], None) is None:
            raise _Refusal(NOT_FOUND, f"no task '{message.body[0]}' waits")
        return Message.new_method_return(message)

    def _do_TaskDone(self, app: AppDouble, message: Message) -> Message:
        if app.running is None or plain(message.body[1]).get("task", app.running) != app.running:
            raise _Refusal(NOT_FOUND, "no task is under way")
        if message.body[0] not in ("done", "cancelled"):
            raise _Refusal(INVALID, f"there is no result '{message.body[0]}'")
        app.outcomes.append((app.running, message.body[0] == "done"))
        app.running = None
        return Message.new_method_return(message)

    # What lasts as long as a descriptor.

    def _hold(self, app: AppDouble, kind: str, name: str) -> tuple[int, int]:
        """The number of what is held, and the app's end."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        app._last_number += 1
        held = _Held(kind, name, app._last_number, ours)
        app._held.append(held)
        (app.assertions if kind == "assertion" else app.activities).append(name)
        asyncio.get_running_loop().add_reader(ours, self._ended, app, held)
        return held.number, theirs.detach()

    def _ended(self, app: AppDouble, held: _Held) -> None:
        if held not in app._held:
            return
        app._held.remove(held)
        (app.assertions if held.kind == "assertion" else app.activities).remove(held.name)
        asyncio.get_running_loop().remove_reader(held.end)
        held.end.close()
        self._happened.set()

    def _let_go(self, app: AppDouble) -> None:
        for held in list(app._held):
            self._ended(app, held)

    def _left(self, unique_name: str) -> None:
        for app in [app for app in self.apps if app.unique_name == unique_name]:
            self._let_go(app)
            self.apps.remove(app)
        self._happened.set()

    # The reader.

    def _read(self, message: Message) -> Message:
        if message.member == "ListSensors":
            rows = [
                [sensor.path, {
                    "name": Variant("s", sensor.name), "channels": Variant("as", sensor.channels),
                    "unit": Variant("s", sensor.unit), "available": Variant("b", True),
                    "simulated": Variant("b", True),
                }]
                for sensor in self.sensors.values()
            ]  # fmt: skip
            return Message.new_method_return(message, "a(oa{sv})", [rows])
        sensor = next((sensor for sensor in self.sensors.values() if sensor.path == message.path), None)
        if sensor is None or message.member != "OpenStream":
            raise _Refusal("org.freedesktop.DBus.Error.UnknownMethod", f"the double has no {message.member}")
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        sensor.streams.append(ours)
        in_force = {**message.body[0], "running": Variant("b", True), "stream": Variant("t", len(sensor.streams))}
        return Message.new_method_return(message, "ha{sv}", [0, in_force], [theirs.detach()])
