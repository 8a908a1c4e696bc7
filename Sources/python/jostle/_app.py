"""An app: a connection to the broker, its detectors, its events, and what it is started for."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from dbus_fast import Message, Variant
from dbus_fast.validators import is_bus_name_valid

from ._desk import Answer, Desk
from ._detector import Detector, Effective, Option, batches, effective_of
from ._errors import DISCONNECTED, INVALID, NO_REPLY, NOT_FOUND, JostleError
from ._events import (
    Event,
    EventName,
    Gap,
    Launch,
    SessionChange,
    Submitted,
    Task,
    event_of,
    gap_of,
)
from ._lifeline import Activity, Assertion, Lifeline
from ._link import Link
from ._names import (
    ACCESS_DENIED,
    APP,
    BROKER,
    BROKER_PATH,
    EVENT,
    FAILED,
    INTROSPECTABLE,
    NOT_SUPPORTED,
    PROPERTIES,
    RECEIVER,
    RECEIVER_PATH,
    RECEIVER_XML,
)
from ._wire import plain, take_descriptor, time_of

_log = logging.getLogger("jostle")
_LARGEST = 2**64 - 1
_MICRO = 1_000_000
_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_MOST_EARLY = 32

_Answer = TypeVar("_Answer")
_Handler = TypeVar("_Handler", bound=Callable[..., Any])
_LaunchHandler = TypeVar("_LaunchHandler", bound=Callable[[Launch], Any])
_TaskHandler = TypeVar("_TaskHandler", bound=Callable[[Task], Any])


class App:
    """A connection to the broker as one app.

    >>> async with jostle.App("org.example.Player") as app:
    ...     await app.add("skip", "shake.planar", threshold=3.5)
    ...     async for event in app.events():
    ...         print(event.detector, event.peak)

    If the broker goes and comes back, or the bus does, the app registers again with all its detectors, and asks for the events
    since the last one that it is done with.

    An app without a name is anonymous and gets live events only. Use an app from one event loop.
    """

    def __init__(self, app_id: str = "", *, bus: str = "session", durable: bool = False) -> None:
        """
        :param app_id: the app id, a well-known bus name that the app will own; or nothing
        :param bus: ``session``, ``system`` or a bus's address
        :param durable: the detectors are to outlive the app and the broker. For apps whose app file says what they want motion for
        """
        self.app_id = app_id
        self._durable = durable
        self._link = Link(bus, app_id, self._broker_changed, self._signal, self._called)
        self._desk = Desk()
        self._object: str | None = None
        self._detectors: dict[str, Detector] = {}
        self._is_subscribed = False
        self._registering: asyncio.Task[None] | None = None
        # Nothing is being told to a broker that has come.
        self._settled = asyncio.Event()
        self._settled.set()
        # Handlers run one at a time, and in order: who waits for a lock has it in that order. The broker waits for the answer to
        # a launch, so that other handlers do not hold it up.
        self._turn, self._launch_turn = asyncio.Lock(), asyncio.Lock()
        self._connected = asyncio.Event()
        # As far as the app knows, the broker has all of it.
        self._is_taken = False
        self._is_open = False
        self._is_closed = False
        self._refusal: JostleError | None = None
        self._lifelines: set[Lifeline] = set()
        # Assertions that end soon and that nobody has yet: such a signal may come before the answer that brings the assertion.
        self._early: deque[int] = deque(maxlen=_MOST_EARLY)
        self._jobs: set[asyncio.Task[None]] = set()
        # Calls that go on although nobody waits: they end with the answer, or with the bus.
        self._asking: set[asyncio.Task[Any]] = set()
        self._running_task: asyncio.Task[Any] | None = None
        self._next_task: Task | None = None
        self._tell_gap: Callable[[Gap], object] = lambda gap: _log.warning(
            "%d events are missing: %d to %d", gap.count, gap.first, gap.last
        )
        self._tell_caught_up: Callable[[int], object] = lambda last: None
        self._tell_broker: Callable[[bool], object] = lambda is_there: None
        self._tell_session: Callable[[SessionChange], object] = lambda change: None
        self._tell_refusal: Callable[[JostleError], object] | None = None
        self._launch: Callable[[Launch], Any] | None = None
        self._task: Callable[[Task], Any] | None = None

    # Life.

    async def connect(self) -> None:
        """Connects to the bus and registers with the broker, which the bus starts if it can."""
        if self.app_id and (self.app_id.startswith(":") or not is_bus_name_valid(self.app_id)):
            # The broker would say the same, but the bus is asked for the name first, and each bus has its own words.
            raise JostleError(INVALID, f"'{self.app_id}' is no app id: give a well-known bus name, or nothing")
        if self._is_closed:
            raise RuntimeError("the app is closed: make another one")
        if self._is_open:
            raise RuntimeError("the app is connected already, or about to be")
        self._is_open = True
        try:
            await self._link.open()
            await self._register()
            if self._is_closed:
                raise JostleError(DISCONNECTED, "the app was closed while it connected")
        except BaseException:
            await self._leave()
            self._is_open = False
            raise
        self._is_taken = True
        self._connected.set()
        if self._object is None and (owner := self._link.broker):
            # Another broker came since the one that took us, and nobody was told yet.
            self._begin_registering(owner)

    async def close(self) -> None:
        """Leaves the broker and the bus. Events that were not answered are sent again when the app comes back."""
        self._is_closed = True
        await self._leave()
        self._desk.arrived.set()

    async def _leave(self) -> None:
        own = [*self._jobs, *([self._registering] if self._registering else [])]
        for job in own:
            if job is not asyncio.current_task():
                job.cancel()
        self._settled.set()
        for lifeline in list(self._lifelines):
            lifeline.end()
        await self._link.close()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Who leaves in peace is done with the last event; who fails is not, and gets it again.
        if kind is None:
            self._finish_given()
        await self.close()

    @property
    def refused_messages(self) -> int:
        """What pretended to come from the broker, and replies of others than were asked. None was heard."""
        return self._link.refused

    @property
    def unique_name(self) -> str:
        """The app's connection's own name on the bus; empty while there is no bus."""
        return self._link.unique_name

    # Who is to be told. Each takes a function and gives it back, so that it can stand as a decorator.

    def on_gap(self, handler: _Handler) -> _Handler:
        """Has a function told of a `Gap`, in its place between the events. Without one, the log says it."""
        self._tell_gap = handler
        return handler

    def on_caught_up(self, handler: _Handler) -> _Handler:
        """Has a function told, in its place between the events, when all has come that was kept: with the last number."""
        self._tell_caught_up = handler
        return handler

    def on_broker_change(self, handler: _Handler) -> _Handler:
        """Has a function told when the broker is there again, with all our detectors (true), and when it is gone (false)."""
        self._tell_broker = handler
        return handler

    def on_session(self, handler: _Handler) -> _Handler:
        """Has a function told of each `SessionChange`."""
        self._tell_session = handler
        return handler

    def on_refusal(self, handler: _Handler) -> _Handler:
        """Has a function told when a broker that came back does not take us. While the error is not ``is_final``, the broker is
        asked again, after a second at first and at most a minute later. Without a function, ``events`` raises a final one."""
        self._tell_refusal = handler
        return handler

    def on_launch(self, handler: _LaunchHandler) -> _LaunchHandler:
        """Has a function run when the broker started or resumed the app for something; say it before ``connect``.

        The broker is answered when it returns, and the events are acknowledged with that. It may be a coroutine function. It may
        return ``"pass"``, which in an ordered group leaves the events to the next app.
        """
        self._launch = handler
        return handler

    def on_task(self, handler: _TaskHandler) -> _TaskHandler:
        """Has a coroutine function run when a task of the app's begins; say it before ``connect``.

        The task is done when it returns, and broken off when it returns False or raises. It is cancelled when its time ends soon.
        """
        self._task = handler
        return handler

    # Detectors.

    async def add(
        self,
        name: str,
        preset: str | None = None,
        *,
        when: str | None = None,
        every: Option | None = None,
        rest: Option | None = None,
        rest_mode: str | None = None,
        decimation: str | None = None,
        sensor: str | None = None,
        **parameters: Option,
    ) -> Effective:
        """Adds a detector, or replaces the one of that name, and returns what is in force for it.

        Give a preset, or a condition (``when``). A number counts in the parameter's own unit (g, Hz, degrees), and in seconds for
        ``every`` and ``rest``; a text has its unit (``"2.3g"``, ``"100ms"``).
        """
        detector = Detector(
            name, preset, when=when, every=every, rest=rest, rest_mode=rest_mode, decimation=decimation, sensor=sensor,
            **parameters,
        )  # fmt: skip
        return (await self.add_all([detector]))[0]

    async def add_all(self, detectors: Iterable[Detector]) -> list[Effective]:
        """Adds detectors: all of them or, with an error, none.

        The broker does so also where whoever asks is cancelled once it was asked.
        """
        wanted = list(detectors)
        rows = [detector.row for detector in wanted]

        async def add() -> list[Effective]:
            reply = await self._ask("AddDetectors", "a(sa{sv})", rows)
            for detector in wanted:
                self._detectors.pop(detector.name, None)
                self._detectors[detector.name] = detector
            return [effective_of(row) for row in reply.body[0]]

        return await self._to_the_end(add)

    async def remove(self, *names: str) -> None:
        """Removes detectors by name: all of them or, with an error, none.

        The broker does so also where whoever asks is cancelled once it was asked.
        """

        async def remove() -> None:
            await self._ask("RemoveDetectors", "asa{sv}", list(names), {})
            for name in names:
                self._detectors.pop(name, None)

        await self._to_the_end(remove)

    # Events.

    async def subscribe(self, since: tuple[int, int] | None = None) -> int:
        """Asks for the events that are kept for the app, in order; ``on_caught_up`` follows them. Call it before ``add``.

        :param since: the name of the last event that the app is done with, of an earlier run
        :returns: how many events are kept
        """
        if since is not None:
            if len(since) != 2 or not all(isinstance(number, int) and 0 <= number <= _LARGEST for number in since):
                # Each broker to come would be told of it.
                raise JostleError(INVALID, f"since={since!a} is no event: give the number and the epoch of one")
            self._desk.last_done = EventName(*since)
        reply = await self._ask("Subscribe", "a{sv}", self._subscription)
        self._is_subscribed = True
        return int(plain(reply.body[0]).get("kept", 0))

    @property
    def _subscription(self) -> dict[str, Variant]:
        done = self._desk.last_done
        return {"since": Variant("(tt)", list(done))} if done else {}

    def events(self, *, ack: bool = True) -> Events:
        """The events, one after the other, until the app is closed.

        An event that wants an answer is acknowledged when the next one is asked for. With ``ack=False`` the app calls
        ``acknowledge`` or ``pass_on`` itself, whenever it is done.
        """
        self._desk.answers_by_itself = ack
        return Events(self)

    def acknowledge(self, event: Event) -> None:
        """Says that the app is done with an event and with all before it."""
        self._answer(event, "consume")

    def pass_on(self, event: Event) -> None:
        """Leaves an event of an ordered group to the next app, until its ``answer_by``. Elsewhere as good as ``acknowledge``."""
        self._answer(event, "pass")

    def _answer(self, event: Event, answer: Answer) -> None:
        # Without a broker it is kept in mind: the next one is told in Subscribe, or when it sends a copy.
        self._desk.remember(event.name, answer)
        # It would be for what the app was launched with before, too, and is given when that is done. Where others wait for the answer it
        # is given now.
        if event.answer_by is None and self._desk.is_launched_before(event.name):
            self._desk.withhold(event, answer)
            return
        if self._object:
            self._link.tell(self._object, APP, "Ack", "ttsa{sv}", *event.name, answer, {})
        # What a launch that failed left open may have been all that others waited for.
        self._give_withheld()

    def _finish_given(self) -> None:
        if event := self._desk.finish_given():
            self.acknowledge(event)

    async def _next_event(self) -> Event | None:
        """The next event; None when the app is closed. Whoever asks is done with the last one."""
        self._finish_given()
        while True:
            while (item := self._desk.next()) is not None:
                if isinstance(item, Event):
                    return item
                if isinstance(item, Gap):
                    await _run(self._tell_gap, item)
                else:
                    await _run(self._tell_caught_up, item)
            if self._is_closed:
                return None
            if self._refusal:
                refusal, self._refusal = self._refusal, None
                raise refusal
            await self._desk.arrived.wait()

    # In the background.

    @contextlib.asynccontextmanager
    async def assertion(self, name: str, *, warning: float = 5.0) -> AsyncIterator[Assertion]:
        """Keeps the app going in the background while the body runs, for as long as policy allows.

        >>> async with app.assertion("save") as assertion:
        ...     for page in pages:
        ...         if assertion.ended.is_set(): break
        ...         await page.save()

        While the broker is away it is ``ended`` from the start, and nobody suspends the app.

        :param warning: how long before its end ``expiring`` is set, in seconds
        :raises JostleError: the broker refuses, as when the time in the background is used up
        """
        options = {"warning": time_of("warning", warning)}
        descriptor, in_force = await self._begin("BeginAssertion", name, options)
        deadline = in_force.get("deadline")
        seconds = deadline / _MICRO if deadline is not None else None
        assertion = Assertion(name, in_force.get("number", 0), descriptor, seconds)
        if assertion.number in self._early:
            assertion.expiring.set()
        with self._held(assertion):
            yield assertion

    @contextlib.asynccontextmanager
    async def activity(
        self, mode: str, *, class_: str | None = None, mix_with_others: bool | None = None
    ) -> AsyncIterator[Activity]:
        """Says that the app is at work in a mode while the body runs: audio, location, bluetooth, fetch, processing, voip or push.

        :param class_: a class of sessions that policy has; ``on_session`` is told how it stands beside those of other apps
        :param mix_with_others: this one mixes, whatever its class does
        """
        options: dict[str, Variant] = {}
        if class_ is not None:
            options["class"] = Variant("s", class_)
        if mix_with_others is not None:
            options["mix-with-others"] = Variant("b", mix_with_others)
        descriptor, in_force = await self._begin("BeginActivity", mode, options)
        activity = Activity(mode, in_force.get("number", 0), descriptor)
        with self._held(activity):
            yield activity

    async def _begin(self, member: str, name: str, options: dict[str, Variant]) -> tuple[int, dict[str, Any]]:
        """What keeps the app going, and what is in force. While there is no broker nobody keeps it, and nobody suspends it."""
        try:
            reply = await self._ask(member, "sa{sv}", name, options)
        except JostleError as error:
            if error.name != DISCONNECTED:
                raise
            return -1, {}
        return take_descriptor(reply, reply.body[0]), plain(reply.body[1])

    @contextlib.contextmanager
    def _held(self, lifeline: Lifeline) -> Any:
        self._lifelines.add(lifeline)
        try:
            yield
        finally:
            self._lifelines.discard(lifeline)
            lifeline.end()

    async def get_property(self, name: str) -> Any:
        """What a property of the app's object says now, such as ``State`` or ``Delivered``; times in microseconds."""
        path = await self._path()
        return plain((await self._link.ask(path, PROPERTIES, "Get", "ss", APP, name)).body[0])

    async def background_time_remaining(self) -> float | None:
        """How long the app can go on as things are, in seconds; None: nothing ends it, or there is no broker that would."""
        try:
            left = int(await self.get_property("BackgroundTimeRemaining"))
        except JostleError as error:
            if error.name != DISCONNECTED:
                raise
            return None
        return None if left == _LARGEST else left / _MICRO

    # Tasks.

    async def submit_task(
        self,
        identifier: str,
        kind: Literal["refresh", "processing"],
        *,
        after: float = 0,
        within: float | None = None,
        idle: bool = False,
        external_power: bool = False,
        discretionary: bool = False,
    ) -> Submitted:
        """Hands in background work for later, which ``on_task`` does. A task of the same name is replaced.

        :param after: not before so many seconds from now
        :param within: until when, in seconds from now, it may be put off to run together with others
        :param idle: only while nobody uses the device
        :param external_power: only while the device does not run on its battery
        :param discretionary: left to the broker, which waits for a moment that disturbs nobody
        """
        options: dict[str, Variant] = {}
        if not after <= 0:
            options["earliest-in"] = time_of("after", after)
        if within is not None:
            options["latest-in"] = time_of("within", max(within, after, 0))
        words = {"idle": idle, "external-power": external_power, "discretionary": discretionary}
        options |= {key: Variant("b", True) for key, is_wanted in words.items() if is_wanted}
        reply = await self._ask("SubmitTask", "ssa{sv}", identifier, kind, options)
        in_force = plain(reply.body[0])
        return Submitted(in_force.get("earliest-begin", 0) / _MICRO, in_force.get("durable") is True)

    async def cancel_task(self, identifier: str) -> None:
        """Takes back a task that waits."""
        await self._ask("CancelTask", "sa{sv}", identifier, {})

    # What we ask the broker.

    async def _path(self) -> str:
        """Our object at the broker that is there now. Waits while we register with one that has just come."""
        while not self._settled.is_set():
            await self._settled.wait()
        if self._object is None:
            state = "does not take the app" if self._link.broker else "is not running"
            raise JostleError(DISCONNECTED, f"the broker ({BROKER}) {state}")
        return self._object

    async def _ask(self, member: str, signature: str, *body: Any) -> Message:
        return await self._link.ask(await self._path(), APP, member, signature, *body)

    async def _to_the_end(self, ask: Callable[[], Coroutine[Any, Any, _Answer]]) -> _Answer:
        """Asks on when whoever waits is cancelled: the broker does what it was asked, and the next one is to be told the same.

        Who is cancelled while there is nobody to ask yet has asked for nothing.
        """
        await self._path()
        task = asyncio.create_task(ask())
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        return await asyncio.shield(task)

    async def _register(self) -> None:
        owner = self._link.broker

        def registered(reply: Message) -> None:
            if self._link.broker == owner:
                self._object = str(reply.body[0])

        options = {"durable": Variant("b", True)} if self._durable else {}
        await self._link.ask(BROKER_PATH, BROKER, "Register", "sa{sv}", self.app_id, options, then=registered)

    # The broker's comings and goings.

    def _broker_changed(self, owner: str | None) -> None:
        """Told before whatever else the new owner says. Our object went with the old one, and what it began and we did not."""
        self._object = None
        self._next_task = None  # the next one begins it again
        self._early.clear()
        if self._registering:
            self._registering.cancel()
            self._registering = None
        self._settled.set()
        if not self._connected.is_set() or self._is_closed:
            return
        if self._is_taken:
            self._is_taken = False
            self._tell(self._tell_broker, False)
        if owner:
            self._begin_registering(owner)

    def _begin_registering(self, owner: str) -> None:
        self._settled.clear()
        self._registering = asyncio.create_task(self._register_again(owner))

    async def _register_again(self, owner: str) -> None:
        """The broker came back, and knows nothing of us. It is asked until it takes us, or says that it never will."""
        pause, told = _PAUSE, ""
        while True:
            self._settled.clear()
            try:
                await self._register()
                path = self._object or ""
                if self._is_subscribed:
                    await self._link.ask(path, APP, "Subscribe", "a{sv}", self._subscription)
                for rows in batches(self._detectors):
                    await self._link.ask(path, APP, "AddDetectors", "a(sa{sv})", rows)
                break
            except Exception as error:
                if self._link.broker != owner:
                    return  # it left again meanwhile: the next one is told all of it
                if not isinstance(error, JostleError) or error.is_final:
                    self._settled.set()
                    return self._take_refusal(error)
                # It is there and does not answer, as when everybody comes at once. Or the bus is going: then we are
                # stopped. Neither is a word of it.
                if error.name not in (NO_REPLY, DISCONNECTED):
                    self._settled.set()
                    if error.name != told:
                        told = error.name
                        self._take_setback(error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        self._settled.set()
        self._refusal = None
        self._is_taken = True
        # Beside us, so that it may ask for things.
        self._tell(self._tell_broker, True)

    def _take_setback(self, error: JostleError) -> None:
        """The broker does not take us for the moment, as when its disk is full or a limit is reached."""
        _log.warning("the broker came back and does not take us yet; it is asked again: %s", error)
        if self._tell_refusal:
            self._tell(self._tell_refusal, error)

    def _take_refusal(self, error: Exception) -> None:
        """We are not registered any more, and whoever uses the app learns why: also if it was not the broker that failed."""
        refusal = error if isinstance(error, JostleError) else JostleError(FAILED, _described(error))
        if refusal is not error:
            refusal.__cause__ = error
        _log.error("the broker came back and does not take us any more: %s", refusal)
        if self._tell_refusal:
            self._tell(self._tell_refusal, refusal)
        else:
            self._refusal = refusal
            self._desk.arrived.set()

    def _tell(self, handler: Callable[..., object], *arguments: Any) -> None:
        """Has a handler told in its turn. One that fails keeps nobody else from being told."""

        async def tell() -> None:
            try:
                async with self._turn:
                    await _run(handler, *arguments)
            except Exception:
                _log.exception("a handler failed")

        self._start(tell())

    def _start(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs something besides, and keeps hold of it."""
        task = asyncio.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)
        return task

    # What the broker says.

    def _signal(self, message: Message) -> bool:
        """Takes a signal of the broker. False: it is not about our object, or not what a broker says."""
        if message.interface != APP or message.path != self._object or self._object is None:
            return message.interface == BROKER
        match message.member, message.signature:
            case "Event", "(tttsda{sv})":
                event = event_of(message.body[0])
                if answer := self._desk.take(event):
                    self._answer(event, answer)
            case "Gap", "(tta{sv})":
                self._desk.take(gap_of(message.body[0]))
            case "CaughtUp", "(ta{sv})":
                self._desk.take(int(message.body[0][0]))
            case "AssertionExpiring", "sa{sv}":
                number = plain(message.body[1]).get("number")
                held = (line for line in self._lifelines if isinstance(line, Assertion) and line.number == number)
                if assertion := next(held, None):
                    assertion.expiring.set()
                elif isinstance(number, int):
                    self._early.append(number)
            case "TaskExpiring", "sa{sv}":
                # One that waits for its turn gets none any more: what is under way answers for it.
                self._next_task = None
                if self._running_task:
                    self._running_task.cancel()
            case "SessionChanged", "ssa{sv}":
                details = plain(message.body[2])
                name, word, _ = message.body
                change = SessionChange(name, word, details.get("number", 0), details.get("resume"), details.get("share"))
                self._tell(self._tell_session, change)
            case _:
                return message.member not in ("Event", "Gap", "CaughtUp")
        return True

    def _called(self, message: Message) -> bool:
        """Takes a call of `Receiver1`. Anybody can call us."""
        if message.path != RECEIVER_PATH or self._is_closed:
            return False
        if (message.interface, message.member) == (INTROSPECTABLE, "Introspect"):
            self._link.send(Message.new_method_return(message, "s", [RECEIVER_XML]))
            return True
        handler = {
            ("Deliver", f"sa{EVENT}a{{sv}}"): self._deliver,
            ("RunTask", "sta{sv}"): self._run_task,
        }.get((message.member or "", message.signature))
        if message.interface not in (RECEIVER, None) or handler is None or not self.app_id:
            return False
        self._start(self._serve(message, handler))
        return True

    async def _serve(self, message: Message, handler: Callable[[Message], Awaitable[Message]]) -> None:
        # What we are launched for comes as soon as we have our name, and waits until we are registered.
        await self._connected.wait()
        if message.sender != self._link.broker:
            self._link.count_forgery()
            self._link.send(Message.new_error(message, _error(ACCESS_DENIED), "only the broker launches apps"))
            return
        self._link.send(await handler(message))

    async def _deliver(self, message: Message) -> Message:
        reason, rows, options = message.body
        launch = Launch(reason, tuple(event_of(row) for row in rows), int(plain(options).get("missing", 0)))
        if self._launch is None:
            return Message.new_error(message, _error(NOT_SUPPORTED), "the app does nothing when it is launched")
        try:
            with self._desk.launched(launch.events):
                async with self._launch_turn:
                    answer = await _run(self._launch, launch)
        except Exception as error:
            _log.exception("the handler of a launch failed")
            self._give_withheld()
            return Message.new_error(message, _error(FAILED), _described(error))
        word: Answer = "pass" if answer == "pass" else "consume"
        self._desk.remember_launch(launch.events, word)
        self._give_withheld()
        return Message.new_method_return(message, "s", [word])

    def _give_withheld(self) -> None:
        """Answers what waited for a launch, or for what that left open. The broker may send it again after a minute only, and nothing else
        until then."""
        for event, answer in self._desk.release():
            self._answer(event, answer)

    async def _run_task(self, message: Message) -> Message:
        """The broker wants to hear at once that we have it; the work comes after the answer."""
        identifier, deadline, wrapped = message.body
        options = plain(wrapped)
        if self._task is None:
            return Message.new_error(message, _error(NOT_SUPPORTED), "the app runs no tasks")
        task = Task(identifier, int(options.get("attempt", 1)), deadline / _MICRO, str(options.get("kind", "")))
        if self._running_task is None:
            self._begin_task(self._task, task)
        else:
            # The one under way outlives its broker, or its time: for the broker only this one is.
            self._next_task = task
        return Message.new_method_return(message)

    def _begin_task(self, handler: Callable[[Task], Any], task: Task) -> None:
        self._running_task = asyncio.create_task(_run(handler, task))
        self._start(self._finish_task(handler, task, self._running_task))

    async def _finish_task(self, handler: Callable[[Task], Any], task: Task, work: asyncio.Task[Any]) -> None:
        try:
            await asyncio.wait([work])
        finally:
            work.cancel()
            self._running_task = None
        is_done = not work.cancelled() and work.exception() is None and work.result() is not False
        if not work.cancelled() and (error := work.exception()):
            _log.error("a task failed", exc_info=error)
        following, self._next_task = self._next_task, None
        if following and not (is_done and following.identifier == task.identifier):
            return self._begin_task(handler, following)
        try:
            # Also for another attempt that waits: its work is done.
            options = {"task": Variant("s", task.identifier)}
            await self._ask("TaskDone", "sa{sv}", "done" if is_done else "cancelled", options)
        except JostleError as error:
            # Too late, or the broker that began it is gone: that one tries again.
            if error.name not in (NOT_FOUND, DISCONNECTED):
                _log.warning("TaskDone: %s", error)


class Events:
    """The events of an app, one after the other."""

    def __init__(self, app: App) -> None:
        self._app = app

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if (event := await self._app._next_event()) is None:
            raise StopAsyncIteration
        return event


async def _run(handler: Callable[..., Any], *arguments: Any) -> Any:
    """Runs what the app gave us, a function or a coroutine function."""
    result = handler(*arguments)
    return await result if inspect.isawaitable(result) else result


def _described(error: Exception) -> str:
    """What went wrong, as a message can say it: names of files may have in them what no text on the bus has."""
    text = f"{type(error).__name__}: {error}"
    return text.encode(errors="backslashreplace").decode().replace("\0", "\\0")


def _error(name: str) -> Any:
    """An error name, which dbus-fast takes as a text too."""
    return name

