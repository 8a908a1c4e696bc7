"""The client against a broker that does what the test says, on a real bus."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import logging
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

import jostle
from jostle import testing
from jostle._wire import Wire, _sendable, plain

APP = "org.example.Unit"


class Case(unittest.IsolatedAsyncioTestCase):
    """Has a broker, and an app that is connected."""

    async def asyncSetUp(self) -> None:
        self.broker = testing.Broker()
        await self.broker.__aenter__()
        self.addAsyncCleanup(self.broker.__aexit__, None, None, None)
        self.app = jostle.App(APP)
        self.addAsyncCleanup(self.app.close)

    async def next(self, events: jostle.Events) -> jostle.Event:
        return await asyncio.wait_for(anext(events), 10)

    async def heard(self) -> None:
        """Returns when the app has heard all that the broker said so far: messages of one sender come in their order."""
        told = asyncio.Event()
        self.app.on_session(lambda change: told.set())
        await self.broker.session("playback", "began")
        await self.soon(told)

    async def soon(self, event: asyncio.Event) -> None:
        await asyncio.wait_for(event.wait(), 10)


class Detectors(Case):
    async def test_options_travel_as_the_bus_takes_them(self) -> None:
        await self.app.connect()
        half = datetime.timedelta(milliseconds=500)
        await self.app.add("a", "shake", threshold=2, every=0.05, rest=half, within=half, rest_mode="leading", for_=1.5)
        self.assertEqual(
            self.broker.detectors["a"],
            {
                "preset": "shake", "threshold": 2.0, "every": 50_000, "rest": 500_000, "within": "500000us",
                "rest-mode": "leading", "for": 1.5,
            },
        )  # fmt: skip
        await self.app.add("b", when="hypot(x, y) > 2.3g", every="100ms", flag=True)
        self.assertEqual(
            self.broker.detectors["b"], {"when": "hypot(x, y) > 2.3g", "every": "100ms", "flag": True}
        )

    async def test_what_is_in_force_has_seconds(self) -> None:
        await self.app.connect()
        effective = await self.app.add("a", "shake", every=0.05, threshold=2)
        self.assertEqual(effective.options, {"preset": "shake", "every": 0.05, "threshold": 2.0})
        self.assertTrue(effective.available)

    async def test_a_refused_call_adds_nothing(self) -> None:
        await self.app.connect()
        with self.assertRaises(jostle.JostleError) as caught:
            await self.app.add_all([jostle.Detector("a", "shake"), jostle.Detector("b")])
        self.assertEqual(caught.exception.name, "org.jostle.Error.InvalidConfiguration")
        self.assertIn("detector 'b'", str(caught.exception))
        self.assertEqual(self.broker.detectors, {})
        for every in (-1, 1e308, 10**400):
            with self.assertRaisesRegex(jostle.JostleError, f"every={re.escape(str(every))} is no time"):
                await self.app.add("a", "shake", every=every)
        with self.assertRaisesRegex(TypeError, "threshold is a list"):
            await self.app.add("a", "shake", threshold=[1])  # type: ignore[arg-type]

    async def test_the_double_takes_a_single_one_too(self) -> None:
        await self.app.connect()
        reply = await self.app._ask("AddDetector", "sa{sv}", "a", {"preset": Variant("s", "tap")})
        self.assertEqual(plain(reply.body[0]), {"preset": "tap", "available": True})
        self.assertEqual(self.broker.detectors, {"a": {"preset": "tap"}})

    async def test_removing(self) -> None:
        await self.app.connect()
        await self.app.add_all(jostle.Detector(name, "shake") for name in ("a", "b"))
        await self.app.remove("a")
        self.assertEqual(list(self.broker.detectors), ["b"])
        with self.assertRaises(jostle.JostleError) as caught:
            await self.app.remove("a")
        self.assertEqual(caught.exception.name, "org.jostle.Error.NotFound")

    async def test_who_is_cancelled_while_asking_changes_nothing(self) -> None:
        """What the broker took is told to the next one, too, and what it took away is not."""
        await self.app.connect()
        await self.app.add("old", "shake")
        answer, may_answer = self.broker._answer, asyncio.Event()

        async def slow(message: Message) -> Message:
            if message.member in ("AddDetectors", "RemoveDetectors"):
                await may_answer.wait()
            return await answer(message)

        with unittest.mock.patch.object(self.broker, "_answer", slow):
            for asking in (self.app.add("new", "tap"), self.app.remove("old")):
                with self.assertRaises(TimeoutError):
                    await asyncio.wait_for(asking, 0.1)
            may_answer.set()
            await self.broker.until(lambda: list(self.broker.detectors) == ["new"])
            await self.heard()
        await self.broker.leave()
        await self.broker.come_back()
        await self.broker.until(lambda: self.broker.detectors)
        self.assertEqual(list(self.broker.detectors), ["new"])

    async def test_who_is_cancelled_before_it_asked_asks_for_nothing(self) -> None:
        """A broker that has just come is told of the app first, which may take as long as it likes."""
        await self.app.connect()
        self.app._settled.clear()
        with self.assertRaises(TimeoutError):
            await asyncio.wait_for(self.app.add("new", "tap"), 0.1)
        self.app._settled.set()
        await self.app.add("old", "shake")
        self.assertEqual(list(self.broker.detectors), ["old"])


class Texts(Case):
    """Whatever is said, the connection lasts: no dbus-fast of whatever version may send what the bus ends it for."""

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        await self.app.connect()
        self.connection = self.app.unique_name

    async def test_texts_are_in_any_language(self) -> None:
        effective = await self.app.add("schütteln", "shake", sensor="träge – 加速度")
        self.assertEqual((effective.name, effective.options["sensor"]), ("schütteln", "träge – 加速度"))
        self.assertEqual(self.broker.detectors, {"schütteln": {"preset": "shake", "sensor": "träge – 加速度"}})
        await self.app.add("b", "shake", **{"größe": "ß"})
        self.assertEqual(self.broker.detectors["b"], {"preset": "shake", "größe": "ß"})
        await self.broker.event("schütteln", 3)
        self.assertEqual((await self.next(self.app.events())).detector, "schütteln")
        with self.assertRaisesRegex(jostle.JostleError, "there is no detector 'kippen 📱'"):
            await self.app.remove("schütteln", "kippen 📱")
        await self.app.remove("schütteln", "b")
        self.assertEqual(self.broker.detectors, {})
        async with self.app.assertion("Datei sichern – gleich"):
            self.assertEqual(self.broker.app().assertions, ["Datei sichern – gleich"])
        self.assertEqual(self.app.unique_name, self.connection)

    async def test_errors_of_a_launch_are_told_in_any_language(self) -> None:
        texts = iter(["Datei nicht gefunden: Müll", "d\udcff\0"])

        @self.app.on_launch
        def launched(launch: jostle.Launch) -> None:
            raise ValueError(next(texts))

        for expected in ("ValueError: Datei nicht gefunden: Müll", "ValueError: d\\udcff\\0"):
            with self.assertLogs("jostle", logging.ERROR), self.assertRaises(jostle.JostleError) as caught:
                await self.broker.launch()
            self.assertEqual(str(caught.exception), expected)
        self.assertEqual(self.app.unique_name, self.connection)

    async def test_what_no_message_can_have_does_not_reach_the_bus(self) -> None:
        self.broker.calls.clear()
        for bad in ("a\0b", "d\udcff", 5):
            wrong: Any = bad
            calls: list[Callable[[], Awaitable[object]]] = [
                lambda: self.app.add(wrong, "shake"), lambda: self.app.remove("a", wrong),
                lambda: self.app.assertion(wrong).__aenter__(), lambda: self.app.cancel_task(wrong),
            ]  # fmt: skip
            if isinstance(bad, str):
                key: dict[str, Any] = {bad: 1}
                calls += [lambda: self.app.add("a", bad), lambda: self.app.add("a", "shake", **key)]
            for call in calls:
                with self.assertRaises(jostle.JostleError) as caught:
                    await call()
                self.assertEqual(caught.exception.name, "org.freedesktop.DBus.Error.InvalidArgs")
        self.assertEqual(await self.app.get_property("State"), "foreground")
        self.assertEqual(self.broker.calls, ["Get"])
        self.assertEqual(self.app.unique_name, self.connection)

    async def test_where_bytes_are_counted_texts_are_sent_as_they_are(self) -> None:
        with unittest.mock.patch("jostle._wire._COUNTS_CHARACTERS", False):
            self.assertIs(type(_sendable(["ü"])[0]), str)
        with unittest.mock.patch("jostle._wire._COUNTS_CHARACTERS", True):
            self.assertEqual(len(_sendable(("ü",))[0]), 2)


class Events(Case):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        await self.app.connect()
        await self.app.add("skip", "shake")
        self.double = self.broker.app(APP)

    async def test_an_event_says_what_it_says(self) -> None:
        await self.broker.event("skip", 3.5, simulated=True, answer_by=2_500_000, transition="enter", later="word")
        event = await self.next(self.app.events())
        self.assertEqual((event.sequence, event.epoch, event.detector, event.peak), (1, 1, "skip", 3.5))
        self.assertEqual((event.simulated, event.clipped, event.wants_ack), (True, False, False))
        self.assertEqual((event.answer_by, event.transition), (2.5, "enter"))
        self.assertEqual(event.details["later"], "word")
        self.assertEqual(event.name, (1, 1))

    async def test_it_is_acknowledged_after_the_body(self) -> None:
        await self.broker.event("skip", ack=True)
        await self.broker.event("skip", ack=True)
        events = self.app.events()
        first = await self.next(events)
        self.assertTrue(first.wants_ack)
        self.assertEqual(self.double.answers, [])
        await self.next(events)
        await self.broker.until(lambda: self.double.answers == [(1, 1, "consume")])

    async def test_who_leaves_in_peace_is_done_and_who_fails_is_not(self) -> None:
        async with jostle.App() as other:
            await other.add("mine", "shake")
            double = self.broker.app("")
            await self.broker.event("mine", ack=True)
            async for _ in other.events():
                break
        await self.broker.until(lambda: double not in self.broker.apps)
        self.assertEqual(double.answers, [(1, 1, "consume")])
        with self.assertRaises(ZeroDivisionError):
            async with jostle.App() as other:
                await other.add("mine", "shake")
                double = self.broker.app("")
                await self.broker.event("mine", ack=True)
                async for _ in other.events():
                    raise ZeroDivisionError
        await self.broker.until(lambda: double not in self.broker.apps)
        self.assertEqual(double.answers, [])

    async def test_by_hand(self) -> None:
        for _ in range(3):
            await self.broker.event("skip", ack=True)
        events = self.app.events(ack=False)
        heard = [await self.next(events) for _ in range(3)]
        self.app.pass_on(heard[1])
        self.app.acknowledge(heard[2])
        await self.broker.until(lambda: len(self.double.answers) == 2)
        self.assertEqual(self.double.answers, [(2, 2, "pass"), (3, 3, "consume")])

    async def test_a_copy_of_what_was_answered_is_answered_and_not_heard(self) -> None:
        events = self.app.events()
        await self.broker.event("skip", ack=True)
        self.assertFalse((await self.next(events)).redelivered)
        # While we work on it, and after we answered.
        await self.broker.again(1, "skip")
        await self.heard()
        later = asyncio.create_task(self.next(events))
        await self.broker.until(lambda: len(self.double.answers) == 1)
        await self.broker.again(1, "skip")
        await self.broker.until(lambda: len(self.double.answers) == 2)
        self.assertEqual(self.double.answers, [(1, 1, "consume")] * 2)
        await self.broker.event("skip", 9)
        self.assertEqual((await later).peak, 9)

    async def test_by_hand_a_copy_of_what_waits_is_not_heard(self) -> None:
        await self.broker.event("skip", ack=True)
        await self.broker.again(1, "skip")
        await self.heard()
        events = self.app.events(ack=False)
        await self.next(events)
        await self.broker.again(1, "skip")
        await self.heard()
        await self.broker.event("skip", 9)
        self.assertEqual((await self.next(events)).peak, 9)

    async def test_what_comes_again_from_before_is_marked(self) -> None:
        self.double.sequence, self.broker.epoch = 6, 40
        await self.broker.again(6, "skip")
        self.assertTrue((await self.next(self.app.events())).redelivered)

    async def test_gaps_and_the_end_of_what_was_kept_come_in_their_place(self) -> None:
        told: list[object] = []
        self.app.on_gap(told.append)
        self.app.on_caught_up(told.append)
        await self.broker.event("skip")
        await self.broker.gap(2, "expired")
        await self.broker.caught_up()
        await self.broker.event("skip")
        events = self.app.events()
        self.assertEqual((await self.next(events)).sequence, 1)
        self.assertEqual(told, [])
        self.assertEqual((await self.next(events)).sequence, 4)
        self.assertEqual(told, [jostle.Gap(2, 3, expired=2), 3])
        self.assertEqual(jostle.Gap(2, 3).count, 2)

    async def test_without_a_handler_the_log_tells_of_gaps(self) -> None:
        await self.broker.gap(3)
        await self.broker.event("skip")
        with self.assertLogs("jostle", logging.WARNING) as log:
            await self.next(self.app.events())
        self.assertIn("3 events are missing: 1 to 3", log.output[0])

    async def test_who_does_not_ask_is_told_what_gave_way(self) -> None:
        from jostle._desk import MOST_WAITING

        gaps: list[jostle.Gap] = []
        self.app.on_gap(gaps.append)
        await self.broker.event("skip", ack=True)
        for _ in range(MOST_WAITING + 2):
            await self.broker.event("skip")
        await self.heard()
        events = self.app.events()
        self.assertEqual((await self.next(events)).sequence, 1)
        self.assertEqual((await self.next(events)).sequence, 5)
        self.assertEqual(gaps, [jostle.Gap(2, 4, dropped=3)])

    async def test_what_is_not_done_is_not_answered_with_a_launch(self) -> None:
        from jostle._desk import Desk

        desk = Desk()
        first, second = (
            jostle.Event(sequence=number, epoch=number, time=0, detector="skip", peak=1, wants_ack=True)
            for number in (1, 2)
        )
        self.assertIsNone(desk.take(first))
        # The app was launched with the second, while the first waits or is being worked on.
        desk.remember(second.name, "consume")
        copy = dataclasses.replace(second, redelivered=True)
        for _ in range(2):
            self.assertIsNone(desk.take(copy))
            self.assertIsNone(desk.last_done)
            self.assertEqual(desk.next() or first, first)
        self.assertEqual(desk.finish_given(), first)
        desk.remember(first.name, "consume")
        self.assertEqual(desk.last_done, first.name)
        self.assertEqual(desk.take(copy), "consume")
        self.assertIsNone(desk.next())

    async def test_closing_ends_the_loop(self) -> None:
        waiting = asyncio.create_task(anext(self.app.events(), None))
        await asyncio.sleep(0)
        await self.app.close()
        self.assertIsNone(await asyncio.wait_for(waiting, 10))
        self.assertEqual(await asyncio.wait_for(anext(self.app.events(), None), 10), None)


class Reconnecting(Case):
    async def test_a_broker_that_comes_back_is_told_all(self) -> None:
        changes: list[bool] = []
        self.app.on_broker_change(changes.append)
        await self.app.connect()
        await self.app.subscribe(since=(4, 7))
        await self.app.add("skip", "shake", threshold=2)
        await self.app.add("gone", "shake")
        await self.app.remove("gone")
        self.assertEqual(self.broker.app().subscriptions, [{"since": [4, 7]}])
        events = self.app.events()
        await self.broker.event("skip", ack=True)
        await self.next(events)
        later = asyncio.create_task(self.next(events))
        await self.broker.until(lambda: self.broker.app().answers)
        await self.broker.leave()
        with self.assertRaises(jostle.JostleError):
            await self.app.remove("skip")
        await self.broker.come_back()
        await self.broker.until(lambda: "skip" in self.broker.detectors)
        self.assertEqual(self.broker.detectors, {"skip": {"preset": "shake", "threshold": 2.0}})
        # The last event that it is done with.
        self.assertEqual(self.broker.app().subscriptions, [{"since": [1, 8]}])
        await self.broker.event("skip", 5)
        self.assertEqual((await later).peak, 5)
        self.assertEqual(changes, [False, True])

    async def test_a_bus_that_comes_back_is_gone_to(self) -> None:
        changed = asyncio.Event()
        self.app.on_broker_change(lambda is_there: changed.set() if is_there else None)
        await self.app.connect()
        await self.app.add("skip", "shake")
        await self.broker.bus.stop()
        await self.broker.leave()
        await self.broker.bus.start()
        await self.broker.come_back()
        await self.soon(changed)
        await self.broker.event("skip", 5)
        self.assertEqual((await self.next(self.app.events())).peak, 5)
        self.assertEqual(self.broker.app().app_id, APP)

    async def test_many_detectors_are_added_in_several_calls(self) -> None:
        await self.app.connect()
        for start in (0, 64):
            await self.app.add_all(jostle.Detector(f"d{start + n}", "shake") for n in range(64))
        await self.broker.leave()
        await self.broker.come_back()
        await self.broker.until(lambda: len(self.broker.detectors) == 128)

    async def test_a_refusal_ends_the_loop(self) -> None:
        await self.app.connect()
        await self.app.add("skip", "shake")
        await self.broker.leave()
        self.broker.refuse("AddDetectors", message="not any more")
        with self.assertLogs("jostle", logging.ERROR):
            await self.broker.come_back()
            with self.assertRaisesRegex(jostle.JostleError, "not any more"):
                await self.next(self.app.events())

    async def test_a_refusal_is_told_to_who_wants_to_know(self) -> None:
        refused = asyncio.Event()
        self.app.on_refusal(lambda error: refused.set())
        await self.app.connect()
        await self.app.add("skip", "shake")
        await self.broker.leave()
        self.broker.refuse("Register")
        with self.assertLogs("jostle", logging.ERROR):
            await self.broker.come_back()
            await self.soon(refused)

    async def test_a_broker_that_does_not_answer_is_asked_again(self) -> None:
        await self.app.connect()
        await self.app.add("skip", "shake")
        await self.broker.leave()
        for name in ("NoReply", "Disconnected"):
            self.broker.calls.clear()
            self.broker.refuse("AddDetectors", f"org.freedesktop.DBus.Error.{name}")
            with unittest.mock.patch("jostle._app._PAUSE", 0.01):
                await self.broker.come_back()
                await self.broker.until(lambda: self.broker.calls.count("AddDetectors") == 3)
                self.broker.allow("AddDetectors")
                await self.broker.until(lambda: "skip" in self.broker.detectors)
            await self.broker.leave()

    async def test_what_is_refused_for_the_moment_is_asked_for_again(self) -> None:
        refusals: list[jostle.JostleError] = []
        self.app.on_refusal(refusals.append)
        await self.app.connect()
        await self.app.add("skip", "shake")
        names = [f"org.freedesktop.DBus.Error.{name}" for name in ("Failed", "LimitsExceeded", "UnknownObject")]
        for name, member in zip(names, ("Register", "AddDetectors", "AddDetectors"), strict=True):
            await self.broker.leave()
            self.broker.calls.clear()
            self.broker.refuse(member, name)
            with unittest.mock.patch("jostle._app._PAUSE", 0.01), self.assertLogs("jostle", logging.WARNING) as log:
                await self.broker.come_back()
                await self.broker.until(lambda member=member: self.broker.calls.count(member) == 3)
                # Between the attempts nobody is kept waiting.
                if member == "Register":
                    with self.assertRaisesRegex(jostle.JostleError, "does not take the app"):
                        await asyncio.wait_for(self.app.remove("skip"), 10)
                self.broker.allow(member)
                await self.broker.until(lambda: "skip" in self.broker.detectors)
            self.assertEqual(len(log.output), 1)
        self.assertEqual([error.name for error in refusals], names)
        self.assertFalse(any(error.is_final for error in refusals))
        await self.broker.event("skip", 5)
        self.assertEqual((await self.next(self.app.events())).peak, 5)

    async def test_handlers_run_one_after_the_other(self) -> None:
        told: list[str] = []
        begun, let_go, back = asyncio.Event(), asyncio.Event(), asyncio.Event()

        @self.app.on_session
        async def changed(change: jostle.SessionChange) -> None:
            told.append(change.change)
            if change.change == "interrupted":
                begun.set()
                await let_go.wait()
                told.append("faded")
                raise ZeroDivisionError

        @self.app.on_broker_change
        def broker(is_there: bool) -> None:
            told.append("back" if is_there else "gone")
            if is_there:
                back.set()

        await self.app.connect()
        await self.broker.session("playback", "interrupted")
        await self.broker.session("playback", "resumed")
        await self.soon(begun)
        # Whatever it is, it has come before the answer.
        await self.app.get_property("State")
        self.assertEqual(told, ["interrupted"])
        with self.assertLogs("jostle", logging.ERROR):
            let_go.set()
            await self.broker.leave()
            await self.broker.come_back()
            await self.soon(back)
        self.assertEqual(told, ["interrupted", "faded", "resumed", "gone", "back"])

    async def test_that_the_broker_is_gone_is_told_once(self) -> None:
        told: list[bool] = []
        back = asyncio.Event()

        @self.app.on_broker_change
        def changed(is_there: bool) -> None:
            told.append(is_there)
            if is_there:
                back.set()

        await self.app.connect()
        await self.app.add("skip", "shake")
        await self.broker.leave()
        self.broker.refuse("AddDetectors", "org.freedesktop.DBus.Error.LimitsExceeded")
        refused = asyncio.Event()
        self.app.on_refusal(lambda error: refused.set())
        with self.assertLogs("jostle", logging.WARNING):
            await self.broker.come_back()
            await self.soon(refused)
        # It took the app, and left before it took all of it.
        await self.broker.leave()
        self.broker.allow("AddDetectors")
        await self.broker.come_back()
        await self.soon(back)
        self.assertEqual(told, [False, True])

    async def test_a_broker_is_asked_as_often_as_it_takes(self) -> None:
        await self.app.connect()
        await self.app.add("skip", "shake")
        await self.broker.leave()
        register, tries = self.app._register, iter(range(2000))

        async def unanswered() -> None:
            if next(tries, None) is not None:
                raise jostle.JostleError("org.freedesktop.DBus.Error.NoReply", "busy")
            await register()

        with (
            unittest.mock.patch("jostle._app._PAUSE", 0),
            unittest.mock.patch.object(self.app, "_register", unanswered),
        ):
            await self.broker.come_back()
            await self.broker.until(lambda: "skip" in self.broker.detectors)
        self.assertIsNone(next(tries, None))

    async def test_what_fails_on_our_side_is_told_too(self) -> None:
        await self.app.connect()
        await self.broker.leave()
        with unittest.mock.patch("jostle._app.batches", side_effect=ZeroDivisionError("d\udcff")):
            with self.assertLogs("jostle", logging.ERROR):
                await self.broker.come_back()
                with self.assertRaisesRegex(jostle.JostleError, r"ZeroDivisionError: d\\udcff") as caught:
                    await self.next(self.app.events())
        self.assertEqual(caught.exception.name, "org.freedesktop.DBus.Error.Failed")

    async def test_a_late_answer_takes_nothing_back(self) -> None:
        await self.app.connect()
        await self.app.subscribe()
        await self.app.add("skip", "shake")
        for _ in range(3):
            await self.broker.event("skip", ack=True)
        events = self.app.events(ack=False)
        heard = [await self.next(events) for _ in range(3)]
        for index in (2, 0, 1):
            self.app.acknowledge(heard[index])
        await self.broker.until(lambda: len(self.broker.app().answers) == 3)
        await self.broker.leave()
        await self.broker.come_back()
        await self.broker.until(lambda: "skip" in self.broker.detectors)
        self.assertEqual(self.broker.app().subscriptions, [{"since": [3, 3]}])
        # One that numbers anew has later epochs.
        await self.broker.event("skip", ack=True)
        self.app.acknowledge(await self.next(events))
        self.assertEqual(self.app._desk.last_done, (1, 4))

    async def test_calls_wait_for_the_new_registration(self) -> None:
        await self.app.connect()
        await self.broker.leave()
        await self.broker.come_back()
        async with asyncio.timeout(10):
            while not self.app._link.broker:
                await asyncio.sleep(0.01)
        self.assertEqual(await self.app.get_property("State"), "foreground")

    async def test_what_was_done_meanwhile_is_told_to_the_next_broker(self) -> None:
        await self.app.connect()
        await self.app.subscribe()
        await self.app.add("skip", "shake")
        await self.broker.event("skip", ack=True)
        events = self.app.events()
        await self.next(events)
        await self.broker.leave()
        later = asyncio.create_task(self.next(events))
        await self.broker.come_back()
        await self.broker.until(lambda: "skip" in self.broker.detectors)
        self.assertEqual(self.broker.app().subscriptions, [{"since": [1, 1]}])
        await self.broker.again(1, "skip")
        await self.broker.event("skip", 5)
        self.assertEqual((await later).peak, 5)

    async def test_what_is_asked_for_meanwhile_comes_last(self) -> None:
        await self.app.connect()
        await self.app.add("skip", "shake", threshold=2)
        await self.broker.leave()
        await self.broker.come_back()
        async with asyncio.timeout(10):
            while not self.app._object:
                await asyncio.sleep(0)
            await self.app.add("skip", "shake", threshold=3)
        self.assertEqual(self.broker.detectors["skip"]["threshold"], 3)

    async def test_a_handler_may_ask_for_things(self) -> None:
        @self.app.on_broker_change
        async def changed(is_there: bool) -> None:
            if is_there:
                await self.app.add("more", "shake")

        await self.app.connect()
        await self.broker.leave()
        await self.broker.come_back()
        await self.broker.until(lambda: "more" in self.broker.detectors)

    async def test_a_broker_that_changes_while_the_app_connects_is_noticed(self) -> None:
        register = self.app._register

        async def and_another_one_comes() -> None:
            await register()
            if not self.app._connected.is_set():
                owner = self.app._link.broker
                self.app._link._believe(None)
                self.app._link._believe(owner)

        with unittest.mock.patch.object(self.app, "_register", and_another_one_comes):
            await self.app.connect()
            await self.app.add("skip", "shake")
        self.assertEqual(self.broker.calls.count("Register"), 2)

    async def test_who_is_connected_does_not_connect_again(self) -> None:
        await self.app.connect()
        await self.app.add("skip", "shake")
        with self.assertRaisesRegex(RuntimeError, "is connected already"):
            await self.app.connect()
        await self.broker.event("skip", 5)
        self.assertEqual((await self.next(self.app.events())).peak, 5)
        await self.app.close()
        await self.broker.until(lambda: not self.broker.apps)

    async def test_who_is_closed_while_it_connects_does_not_stay(self) -> None:
        opening = self.app._link.open
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def open_late() -> None:
            begun.set()
            await go_on.wait()
            await opening()

        with unittest.mock.patch.object(self.app._link, "open", open_late):
            connecting = asyncio.create_task(self.app.connect())
            await self.soon(begun)
            await self.app.close()
            go_on.set()
            with self.assertRaisesRegex(jostle.JostleError, "was closed while it connected"):
                await connecting
        await self.broker.until(lambda: not self.broker.apps)

    async def test_who_is_cancelled_while_closing_learns_of_it(self) -> None:
        await self.app.connect()
        closing = asyncio.create_task(self.app.close())
        await asyncio.sleep(0)
        closing.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await closing

    async def test_who_came_too_early_tries_again(self) -> None:
        await self.broker.leave()
        with self.assertRaises(jostle.JostleError):
            await self.app.connect()
        await self.broker.come_back()
        await self.app.connect()
        await self.app.add("skip", "shake")
        self.assertIn("skip", self.broker.detectors)


class Background(Case):
    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        await self.app.connect()
        self.double = self.broker.app(APP)

    async def test_an_assertion_lasts_as_long_as_its_body(self) -> None:
        async with self.app.assertion("save") as assertion:
            self.assertEqual(self.double.assertions, ["save"])
            self.assertIsNone(assertion.deadline)
            self.assertFalse(assertion.ended.is_set())
            await self.broker.expire("save")
            await self.soon(assertion.expiring)
            self.assertFalse(assertion.ended.is_set())
        await self.broker.until(lambda: not self.double.assertions)

    async def test_who_gets_one_that_ends_soon_is_told(self) -> None:
        begin = self.broker._do_BeginAssertion

        def warned(app: testing.AppDouble, message: Message) -> Message:
            reply = begin(app, message)
            # The broker says so before it answers.
            details = {"number": Variant("t", app._held[-1].number), "remaining": Variant("t", 500_000)}
            self.broker._signal(app, "AssertionExpiring", "sa{sv}", [message.body[0], details])
            return reply

        async with self.app.assertion("other") as other:
            with unittest.mock.patch.object(self.broker, "_do_BeginAssertion", warned):
                async with self.app.assertion("save", warning=60) as assertion:
                    self.assertTrue(assertion.expiring.is_set())
                    self.assertFalse(assertion.ended.is_set() or other.expiring.is_set())

    async def test_who_loses_one_is_told(self) -> None:
        async with self.app.assertion("save") as assertion, self.app.activity("audio", class_="playback") as activity:
            self.assertEqual(self.double.activities, ["audio"])
            await self.broker.end("save")
            await self.soon(assertion.ended)
            self.assertTrue(assertion.expiring.is_set())
            self.assertFalse(activity.ended.is_set())
            await self.broker.leave()
            await self.soon(activity.ended)

    async def test_a_broker_that_is_away_refuses_nothing(self) -> None:
        await self.broker.leave()
        async with self.app.assertion("save") as assertion, self.app.activity("audio") as activity:
            self.assertTrue(assertion.ended.is_set() and assertion.expiring.is_set() and activity.ended.is_set())
        self.assertIsNone(await self.app.background_time_remaining())
        await self.broker.come_back()
        await self.broker.until(lambda: self.broker.apps)
        self.broker.refuse("BeginAssertion", "org.freedesktop.DBus.Error.LimitsExceeded", "AssertionBudget")
        with self.assertRaisesRegex(jostle.JostleError, "AssertionBudget"):
            async with self.app.assertion("save"):
                self.fail("the body does not run")

    async def test_a_broker_that_leaves_meanwhile_refuses_nothing(self) -> None:
        """It is gone before we have heard of that, or before it has answered."""
        for member in ("BeginAssertion", "BeginActivity"):
            link, app = self.app._link, self.app
            owner, path = link.broker, app._object
            await self.broker.leave()
            async with asyncio.timeout(10):
                while link.broker:
                    await asyncio.sleep(0.01)
            link.broker, app._object = owner, path
            body = app.assertion("save") if member == "BeginAssertion" else app.activity("audio")
            async with body as lifeline:
                self.assertTrue(lifeline.ended.is_set())
            link.broker = app._object = None
            await self.broker.come_back()
            await self.broker.until(lambda: self.broker.apps)

    async def test_a_broker_that_leaves_a_call_unanswered_refuses_nothing(self) -> None:
        asked = asyncio.Event()

        async def silent(message: Message) -> Message:
            asked.set()
            return await asyncio.Future()

        with unittest.mock.patch.object(self.broker, "_answer", silent):
            holding = asyncio.create_task(self.app.assertion("save").__aenter__())
            await self.soon(asked)
            await self.broker.leave()
            assertion = await asyncio.wait_for(holding, 10)
        self.assertTrue(assertion.ended.is_set())

    async def test_closing_lets_go(self) -> None:
        async with self.app.assertion("save") as assertion:
            await self.app.close()
            self.assertTrue(assertion.ended.is_set())

    async def test_no_descriptor_is_left(self) -> None:
        def descriptors() -> int:
            return len(os.listdir("/proc/self/fd"))

        async with self.app.assertion("warm"):
            pass
        await self.broker.until(lambda: not self.double.assertions)
        before = descriptors()
        for _ in range(20):
            async with self.app.assertion("save"):
                pass
        await self.broker.until(lambda: not self.double.assertions)
        self.assertLessEqual(descriptors(), before)

    async def test_a_forked_child_keeps_nothing_going(self) -> None:
        self.broker.sensor("accelerometer")
        async with jostle.stream("accelerometer", rate=50) as stream, self.app.assertion("save") as assertion:
            wire = self.app._link._wire
            assert assertion._end and wire and wire._bus
            numbers = [assertion._end.fileno(), stream._end.fileno(), wire._bus._fd]
            ready, tell = os.pipe()
            stay, let_go = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(let_go)
                is_open = [str(number) for number in numbers if os.path.exists(f"/proc/self/fd/{number}")]
                os.write(tell, " ".join(is_open).encode() + b"\n")
                os.read(stay, 1)
                os._exit(0)
            os.close(stay)
        try:
            self.assertEqual(os.read(ready, 1000), b"\n")
            self.assertEqual(await self.app.get_property("State"), "foreground")
        finally:
            for descriptor in (let_go, ready, tell):
                os.close(descriptor)
            os.waitpid(child, 0)

    async def test_a_program_that_is_started_keeps_nothing_going(self) -> None:
        """As os.system starts it: with whatever may be inherited."""
        self.broker.sensor("accelerometer")
        async with jostle.stream("accelerometer", rate=50) as stream, self.app.assertion("save") as assertion:
            wire = self.app._link._wire
            assert assertion._end and wire and wire._bus
            numbers = [assertion._end.fileno(), stream._end.fileno(), wire._bus._fd]
            program = subprocess.Popen(["sleep", "60"], close_fds=False)
            try:
                is_open = [number for number in numbers if os.path.exists(f"/proc/{program.pid}/fd/{number}")]
                self.assertEqual(is_open, [])
            finally:
                program.kill()
                program.wait()

    async def test_what_is_no_time_and_no_event_is_said(self) -> None:
        for seconds in (float("nan"), float("inf"), 1e30, 1e308, 10**400):
            for what, asking in (
                ("after", self.app.submit_task("refresh", "refresh", after=seconds)),
                ("within", self.app.submit_task("refresh", "refresh", within=seconds)),
                ("warning", self.app.assertion("save", warning=seconds).__aenter__()),
            ):
                with self.assertRaisesRegex(jostle.JostleError, f"^{what}={re.escape(str(seconds))} is no time"):
                    await asking
        with self.assertRaisesRegex(jostle.JostleError, "^warning=-1 is no time"):
            await self.app.assertion("save", warning=-1).__aenter__()
        # What has been for a while may begin now.
        await self.app.submit_task("refresh", "refresh", after=-1, within=-1)
        self.assertEqual(self.double.tasks, {"refresh": {"kind": "refresh", "latest-in": 0}})
        for since in ((-1, 1), (1, 2**64), ("a", "b"), (1, 2, 3)):
            with self.assertRaisesRegex(jostle.JostleError, "^since=.* is no event"):
                await self.app.subscribe(since)  # type: ignore[arg-type]
        self.assertIsNone(self.app._desk.last_done)

    async def test_sessions(self) -> None:
        changes: list[jostle.SessionChange] = []
        told = asyncio.Event()

        @self.app.on_session
        def changed(change: jostle.SessionChange) -> None:
            changes.append(change)
            if len(changes) == 2:
                told.set()

        await self.broker.session("playback", "ducked", share=0.2)
        await self.broker.session("playback", "resumed", resume=False)
        await self.soon(told)
        self.assertEqual(
            changes,
            [
                jostle.SessionChange("playback", "ducked", 1, share=0.2),
                jostle.SessionChange("playback", "resumed", 1, resume=False),
            ],
        )

    async def test_who_is_cancelled_as_the_answer_comes_keeps_no_descriptor(self) -> None:
        def answered(reply: Message) -> None:
            asyncio.get_running_loop().call_soon(asking.cancel)

        asking = asyncio.create_task(
            self.app._link.ask(
                self.double.path, "org.jostle.Broker1.App", "BeginAssertion", "sa{sv}", "save", {}, then=answered
            )
        )
        with self.assertRaises(asyncio.CancelledError):
            await asking
        await self.broker.until(lambda: "BeginAssertion" in self.broker.calls and not self.double.assertions)

    async def test_the_double_says_what_is_wrong_and_goes_on(self) -> None:
        for interface, member, signature, body, name in (
            ("org.jostle.Broker1.App", "Ack", "s", ["x"], "InvalidArgs"),
            ("org.freedesktop.DBus.Properties", "Get", "s", ["x"], "InvalidArgs"),
            ("org.freedesktop.DBus.Properties", "Set", "ssv", ["", "State", Variant("s", "")], "PropertyReadOnly"),
        ):
            with self.assertRaises(jostle.JostleError) as caught:
                await self.app._link.ask(self.double.path, interface, member, signature, *body)
            self.assertEqual(caught.exception.name, f"org.freedesktop.DBus.Error.{name}")
        self.assertEqual(await self.app.get_property("State"), "foreground")

    async def test_time_remaining(self) -> None:
        self.assertIsNone(await self.app.background_time_remaining())
        self.double.properties["BackgroundTimeRemaining"] = Variant("t", 1_500_000)
        self.assertEqual(await self.app.background_time_remaining(), 1.5)


class Launches(Case):
    async def test_a_launch_is_answered_when_the_work_is_done(self) -> None:
        launches: list[jostle.Launch] = []

        @self.app.on_launch
        async def launched(launch: jostle.Launch) -> str | None:
            await self.app.get_property("State")
            launches.append(launch)
            return "pass" if launch.reason == "push" else None

        await self.app.connect()
        self.assertEqual(await self.broker.launch("shake", ["skip", "skip"], missing=2), "consume")
        self.assertEqual([event.detector for event in launches[0].events], ["skip", "skip"])
        self.assertEqual((launches[0].reason, launches[0].missing), ("shake", 2))
        self.assertEqual(await self.broker.launch("push"), "pass")

    async def test_other_handlers_hold_up_no_launch(self) -> None:
        begun, let_go = asyncio.Event(), asyncio.Event()

        @self.app.on_session
        async def changed(change: jostle.SessionChange) -> None:
            begun.set()
            await let_go.wait()

        self.app.on_launch(lambda launch: None)
        await self.app.connect()
        await self.broker.session("playback", "interrupted")
        await self.soon(begun)
        self.assertEqual(await asyncio.wait_for(self.broker.launch(), 10), "consume")
        let_go.set()

    async def test_a_copy_of_what_it_is_launched_with_is_not_handed_out(self) -> None:
        begun, let_go = asyncio.Event(), asyncio.Event()

        @self.app.on_launch
        async def launched(launch: jostle.Launch) -> None:
            begun.set()
            await let_go.wait()

        await self.app.connect()
        await self.app.add("skip", "shake")
        launch = asyncio.create_task(self.broker.launch("shake", ["skip"]))
        await self.soon(begun)
        following = asyncio.create_task(self.next(self.app.events()))
        # The broker has given the launch up.
        await self.broker.again(1, "skip")
        await self.heard()
        let_go.set()
        self.assertEqual(await asyncio.wait_for(launch, 10), "consume")
        await self.broker.event("skip", 5)
        self.assertEqual((await following).peak, 5)

    async def test_what_it_is_launched_with_is_not_answered_with_what_came_later(self) -> None:
        begun, let_go = asyncio.Event(), asyncio.Event()

        @self.app.on_launch
        async def launched(launch: jostle.Launch) -> None:
            begun.set()
            await let_go.wait()
            raise ValueError("no")

        await self.app.connect()
        await self.app.add("skip", "shake")
        double = self.broker.app(APP)
        launch = asyncio.create_task(self.broker.launch("shake", ["skip"]))
        await self.soon(begun)
        # The broker has given the launch up. What it sends from now on is answered behind it.
        await self.broker.again(1, "skip")
        double.sequence = 1
        await self.broker.event("skip", 5, ack=True)
        await self.broker.event("skip", 6, ack=True, answer_by=2_500_000)
        events = self.app.events()
        self.assertEqual([(await self.next(events)).sequence for _ in range(2)], [2, 3])
        following = asyncio.create_task(self.next(events))
        # For this one others wait.
        await self.broker.until(lambda: double.answers == [(3, 3, "consume")])
        let_go.set()
        with self.assertLogs("jostle", logging.ERROR), self.assertRaisesRegex(jostle.JostleError, "ValueError: no"):
            await launch
        # The work failed: what came meanwhile is handed out.
        self.assertEqual(((await following).sequence, (await following).redelivered), (1, True))
        await self.broker.event("skip", 7)
        await self.next(events)
        # With that, what waited for it is answered, too: it need not come again for that.
        await self.broker.until(lambda: len(double.answers) == 3)
        self.assertEqual(double.answers[1:], [(1, 1, "consume"), (2, 2, "consume")])
        self.broker.epoch = 2
        await self.broker.again(2, "skip")
        await self.broker.until(lambda: len(double.answers) == 4)
        self.assertEqual(double.answers[3:], [(2, 2, "consume")])

    async def test_what_waited_for_a_launch_is_answered_with_it(self) -> None:
        begun, let_go = asyncio.Event(), asyncio.Event()

        @self.app.on_launch
        async def launched(launch: jostle.Launch) -> None:
            begun.set()
            await let_go.wait()

        await self.app.connect()
        await self.app.add("skip", "shake")
        double = self.broker.app(APP)
        launch = asyncio.create_task(self.broker.launch("shake", ["skip"]))
        await self.soon(begun)
        # The broker has given the launch up, and sends nothing once more for long.
        await self.broker.again(1, "skip")
        double.sequence = 1
        for peak in (5, 6, 7):
            await self.broker.event("skip", peak, ack=True)
        events = self.app.events()
        self.assertEqual([(await self.next(events)).sequence for _ in range(3)], [2, 3, 4])
        following = asyncio.create_task(self.next(events))
        await asyncio.sleep(0.05)
        self.assertEqual(double.answers, [])
        let_go.set()
        self.assertEqual(await launch, "consume")
        await self.broker.until(lambda: len(double.answers) == 4)
        self.assertEqual(double.answers, [(number, number, "consume") for number in (1, 2, 3, 4)])
        await self.broker.event("skip", 8)
        self.assertEqual((await following).peak, 8)

    async def test_all_that_it_was_launched_with_is_remembered(self) -> None:
        self.app.on_launch(lambda launch: None)
        await self.app.connect()
        await self.app.add("skip", "shake")
        double = self.broker.app(APP)
        self.assertEqual(await self.broker.launch("shake", ["skip"] * 100), "consume")
        for epoch in (1, 100):
            self.broker.epoch = epoch
            await self.broker.again(epoch, "skip")
        await self.broker.until(lambda: double.answers == [(1, 1, "consume"), (100, 100, "consume")])
        await self.broker.event("skip", 5)
        self.assertEqual((await self.next(self.app.events())).peak, 5)

    async def test_a_handler_that_fails_and_none(self) -> None:
        await self.app.connect()
        with self.assertRaisesRegex(jostle.JostleError, "does nothing when it is launched"):
            await self.broker.launch()

        @self.app.on_launch
        def launched(launch: jostle.Launch) -> None:
            raise ValueError("no")

        with self.assertLogs("jostle", logging.ERROR), self.assertRaisesRegex(jostle.JostleError, "ValueError: no"):
            await self.broker.launch()

    async def test_tasks(self) -> None:
        ran: list[jostle.Task] = []

        @self.app.on_task
        async def work(task: jostle.Task) -> bool | None:
            ran.append(task)
            if task.identifier == "long":
                await asyncio.sleep(60)
            if task.identifier == "bad":
                raise ValueError
            return False if task.identifier == "broken" else None

        await self.app.connect()
        double = self.broker.app()
        submitted = await self.app.submit_task("refresh", "refresh", after=60, idle=True)
        self.assertTrue(submitted.durable)
        self.assertEqual(double.tasks["refresh"]["kind"], "refresh")
        self.assertTrue(double.tasks["refresh"]["idle"])
        self.assertEqual(double.tasks["refresh"]["earliest-in"], 60_000_000)
        self.assertLess(abs(submitted.earliest_begin - time.time() - 60), 30)
        await self.app.submit_task("other", "processing", within=30)
        await self.app.cancel_task("other")
        self.assertEqual(list(double.tasks), ["refresh"])
        await self.broker.run_task("refresh", attempt=2)
        await self.broker.until(lambda: double.outcomes == [("refresh", True)])
        self.assertEqual((ran[0].attempt, ran[0].kind), (2, "refresh"))
        await self.broker.run_task("broken")
        await self.broker.until(lambda: len(double.outcomes) == 2)
        with self.assertLogs("jostle", logging.ERROR):
            await self.broker.run_task("bad")
            await self.broker.until(lambda: len(double.outcomes) == 3)
        await self.broker.run_task("long")
        await self.broker.expire_task()
        await self.broker.until(lambda: len(double.outcomes) == 4)
        self.assertEqual(double.outcomes[1:], [("broken", False), ("bad", False), ("long", False)])

    async def test_what_is_done_late_ends_no_other_task(self) -> None:
        done = asyncio.Event()

        @self.app.on_task
        async def work(task: jostle.Task) -> None:
            await done.wait()

        await self.app.connect()
        await self.broker.run_task("refresh")
        # Its time is over, and the next one is begun.
        self.broker.app().running = "other"
        done.set()
        await self.broker.until(lambda: "TaskDone" in self.broker.calls)
        self.assertEqual((self.broker.app().outcomes, self.broker.app().running), ([], "other"))

    async def test_a_task_outlives_its_broker(self) -> None:
        ran: list[str] = []
        begun, done = asyncio.Event(), asyncio.Event()

        @self.app.on_task
        async def work(task: jostle.Task) -> None:
            ran.append(f"{task.identifier} {task.attempt}")
            begun.set()
            await done.wait()

        await self.app.connect()
        for again, outcomes in (("refresh", ["refresh 1"]), ("other", ["refresh 1", "other 2"])):
            ran.clear()
            begun.clear()
            done.clear()
            await self.broker.run_task("refresh")
            await self.soon(begun)
            await self.broker.leave()
            await self.broker.come_back()
            await self.broker.until(lambda: self.broker.apps)
            await self.broker.run_task(again, attempt=2)
            done.set()
            # What is done is done, and not begun again; what is another task is begun then.
            await self.broker.until(lambda: self.broker.app().outcomes)
            self.assertEqual((self.broker.app().outcomes, ran), ([(again, True)], outcomes))

    async def test_without_a_handler_no_task_is_taken(self) -> None:
        await self.app.connect()
        with self.assertRaisesRegex(jostle.JostleError, "runs no tasks"):
            await self.broker.run_task("refresh")


class Forgeries(Case):
    """Anybody can send us signals, calls and replies."""

    async def test_nobody_but_the_broker_is_believed(self) -> None:
        await self.app.connect()
        await self.app.add("skip", "shake")
        path = self.broker.app().path
        peer = Wire(self.broker.bus.address)
        await peer.open()
        self.addAsyncCleanup(peer.close)
        row: list[Any] = [7, 7, 7, "forged", 9.0, {}]

        def forge(path: str, interface: str, member: str, signature: str, body: list[Any]) -> None:
            message = Message.new_signal(path, interface, member, signature, body)
            message.destination = self.app.unique_name
            peer.send(message)

        forge(path, "org.jostle.Broker1.App", "Event", "(tttsda{sv})", [row])
        bus = "org.freedesktop.DBus"
        forge("/org/freedesktop/DBus", bus, "NameOwnerChanged", "sss", ["org.jostle.Broker1", ":1.0", ""])
        with self.assertRaisesRegex(jostle.JostleError, "only the broker"):
            await peer.call(
                self.app.unique_name, "/org/jostle/Receiver1", "org.jostle.Receiver1", "Deliver", "sa(tttsda{sv})a{sv}",
                ["shake", [row], {}],
            )  # fmt: skip
        gate, answer = asyncio.Event(), self.broker._answer

        async def held(message: Message) -> Message:
            await gate.wait()
            return await answer(message)

        with unittest.mock.patch.object(self.broker, "_answer", held):
            asked = [asyncio.create_task(self.app.get_property("State")) for _ in range(10)]
            await asyncio.sleep(0)
            # A reply to each call that it has under way, before the broker answers any.
            assert self.app._link._wire
            serials = list(self.app._link._wire._waiting)
            self.assertEqual(len(serials), len(asked))
            self.forge_replies(peer, serials)
            await peer.call(self.app.unique_name, "/", "org.freedesktop.DBus.Peer", "Ping")
            self.assertEqual(self.app.refused_messages, 3 + len(serials))
            self.assertFalse(any(call.done() for call in asked))
            gate.set()
            self.assertEqual({await call for call in asked}, {"foreground"})
        await self.broker.event("skip", 3)
        self.assertEqual((await self.next(self.app.events())).detector, "skip")

    def forge_replies(self, peer: Wire, serials: list[int]) -> None:
        for serial in serials:
            forged = Message(
                message_type=MessageType.METHOD_RETURN, reply_serial=serial, destination=self.app.unique_name,
                signature="s", body=["forged"],
            )  # fmt: skip
            peer.send(forged)

    async def test_descriptors_that_nobody_asked_for_are_closed(self) -> None:
        await self.app.connect()
        peer = Wire(self.broker.bus.address)
        await peer.open()
        self.addAsyncCleanup(peer.close)
        before = len(os.listdir("/proc/self/fd"))
        for member in ("Event", "Other"):
            message = Message.new_signal("/", "org.jostle.Broker1.App", member, "h", [0], [0])
            message.destination = self.app.unique_name
            peer.send(message)
        await peer.call(self.app.unique_name, "/", "org.freedesktop.DBus.Peer", "Ping")
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        self.assertEqual(self.app.refused_messages, 2)

    async def test_signals_of_the_broker_about_others_are_not_ours(self) -> None:
        await self.app.connect()
        await self.app.add("skip", "shake")
        double = self.broker.app()
        right, double.path = double.path, "/org/jostle/Broker1/apps/other"
        await self.broker.event("skip", 9)
        double.path = right
        await self.broker.event("skip", 3)
        self.assertEqual((await self.next(self.app.events())).peak, 3)
        self.assertEqual(self.app.refused_messages, 1)


class Connecting(unittest.IsolatedAsyncioTestCase):
    async def test_without_a_broker_or_a_bus(self) -> None:
        async with testing.Broker(activated=False) as broker:
            with self.assertRaises(jostle.JostleError) as caught:
                await jostle.App().connect()
            self.assertEqual(caught.exception.name, "org.freedesktop.DBus.Error.ServiceUnknown")
            self.assertEqual(str(caught.exception), "the broker (org.jostle.Broker1) is not running")
            address = broker.bus.address
        with self.assertRaises(jostle.JostleError) as caught:
            await jostle.App(bus=address).connect()
        self.assertEqual(caught.exception.name, "org.freedesktop.DBus.Error.NoServer")

    async def test_the_users_bus_is_found_without_a_word(self) -> None:
        async with testing.Broker() as broker:
            with tempfile.TemporaryDirectory(dir="/tmp", prefix="a b~,%") as directory:
                os.symlink(broker.bus.address.removeprefix("unix:path="), f"{directory}/bus")
                for unset in ({}, {"DBUS_SESSION_BUS_ADDRESS": ""}):
                    environment = {"XDG_RUNTIME_DIR": directory, **unset}
                    with unittest.mock.patch.dict(os.environ, environment, clear=True):
                        async with jostle.App(APP):
                            self.assertEqual(broker.app().app_id, APP)
            with unittest.mock.patch.dict(os.environ, clear=True):
                with self.assertRaisesRegex(jostle.JostleError, "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR"):
                    await jostle.App().connect()

    async def test_a_bus_that_says_nothing_is_named_so(self) -> None:
        with tempfile.TemporaryDirectory(dir="/tmp") as directory, socket.socket(socket.AF_UNIX) as silent:
            silent.bind(f"{directory}/bus")
            silent.listen()
            with unittest.mock.patch("jostle._wire.CALL_TIMEOUT", 0.1):
                with self.assertRaisesRegex(jostle.JostleError, "^no bus at '.*': it does not answer$"):
                    await jostle.App(bus=f"unix:path={directory}/bus").connect()

    async def test_names(self) -> None:
        async with testing.Broker() as broker, jostle.App(APP):
            self.assertEqual(broker.app().app_id, APP)
            with self.assertRaisesRegex(jostle.JostleError, "has another owner"):
                await jostle.App(APP).connect()
            with self.assertRaisesRegex(jostle.JostleError, "'no name' is no app id"):
                await jostle.App("no name").connect()

    async def test_a_refused_registration(self) -> None:
        async with testing.Broker() as broker:
            broker.refuse("Register", "org.jostle.Error.IdentityMismatch", "somebody else")
            with self.assertRaises(jostle.JostleError) as caught:
                async with jostle.App(APP):
                    self.fail("it is not there")
            self.assertEqual(caught.exception.name, "org.jostle.Error.IdentityMismatch")

    async def test_durable(self) -> None:
        async with testing.Broker() as broker, jostle.App(APP, durable=True):
            self.assertTrue(broker.app().durable)

    async def test_it_can_be_introspected_and_pinged(self) -> None:
        async with testing.Broker() as broker, jostle.App(APP) as app:
            peer = Wire(broker.bus.address)
            await peer.open()
            path, name = "/org/jostle/Receiver1", app.unique_name
            reply = await peer.call(name, path, "org.freedesktop.DBus.Introspectable", "Introspect")
            self.assertIn("RunTask", reply.body[0])
            await peer.call(name, "/", "org.freedesktop.DBus.Peer", "Ping")
            await peer.close()


class Wires(unittest.IsolatedAsyncioTestCase):
    async def test_a_bus_that_does_not_read_is_waited_for(self) -> None:
        async with testing.PrivateBus() as bus:
            wire = Wire(bus.address)
            await wire.open()
            assert bus._process and wire._bus
            loop, full, own = asyncio.get_running_loop(), asyncio.Event(), wire._bus._fd
            add_writer = loop.add_writer

            def watched(descriptor: int, *arguments: Any) -> None:
                if descriptor != own:
                    full.set()
                add_writer(descriptor, *arguments)

            bus._process.send_signal(signal.SIGSTOP)
            try:
                for _ in range(2000):
                    wire.send(Message.new_signal("/", "org.example.Test", "Test", "s", ["x" * 500]))
                # More than the socket takes. Then there is nothing to be done but to wait.
                with unittest.mock.patch.object(loop, "add_writer", watched):
                    await asyncio.wait_for(full.wait(), 10)
                self.assertGreater(wire._outbox.qsize(), 0)
                self.assertFalse(wire.lost.is_set())
            finally:
                bus._process.send_signal(signal.SIGCONT)
            self.assertTrue(await wire.ask_bus("GetId"))
            self.assertEqual(wire._outbox.qsize(), 0)
            await wire.close()

    async def test_calls_that_nobody_takes_are_refused_when_there_is_room(self) -> None:
        async with testing.PrivateBus() as bus:
            wire, peer, room = Wire(bus.address), Wire(bus.address), asyncio.Event()
            await wire.open()
            await peer.open()
            with unittest.mock.patch.object(wire, "_has_room", lambda bus: room.wait()):
                call = peer.call(wire.unique_name, "/nowhere", "org.example.Test", "Nothing")
                asking = asyncio.create_task(call)
                self.assertFalse((await asyncio.wait([asking], timeout=0.3))[0])
                room.set()
                with self.assertRaisesRegex(jostle.JostleError, "there is no Nothing at /nowhere") as caught:
                    await asking
            self.assertEqual(caught.exception.name, "org.freedesktop.DBus.Error.UnknownMethod")
            await peer.close()
            await wire.close()

    async def test_a_bus_that_goes_is_no_wrong_argument(self) -> None:
        async with testing.PrivateBus() as bus:
            wire = Wire(bus.address)
            await wire.open()
            with self.assertRaises(jostle.JostleError) as caught:
                await wire.ask_bus("GetNameOwner", "ss", "one too few")
            self.assertEqual(caught.exception.name, "org.freedesktop.DBus.Error.InvalidArgs")
            gone = asyncio.get_running_loop().create_future()
            gone.set_exception(BrokenPipeError())
            with unittest.mock.patch("dbus_fast.aio.MessageBus.send", lambda bus, message: gone):
                with self.assertRaises(jostle.JostleError) as caught:
                    await wire.ask_bus("GetId")
            self.assertEqual(caught.exception.name, "org.freedesktop.DBus.Error.Disconnected")
            await wire.close()

    async def test_who_gives_up_connecting_leaves_no_socket(self) -> None:
        kept: list[MessageBus] = []

        def keep(*arguments: Any, **words: Any) -> MessageBus:
            kept.append(MessageBus(*arguments, **words))
            return kept[0]

        came, left = asyncio.Event(), asyncio.Event()

        async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            came.set()
            await reader.read()
            left.set()
            writer.close()

        with tempfile.TemporaryDirectory(dir="/tmp") as directory:
            async with await asyncio.start_unix_server(never_answer, f"{directory}/bus"):
                with unittest.mock.patch("jostle._wire.MessageBus", keep):
                    opening = asyncio.create_task(Wire(f"unix:path={directory}/bus").open())
                    await asyncio.wait_for(came.wait(), 10)
                opening.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await opening
                await asyncio.wait_for(left.wait(), 10)

    async def test_a_bus_that_does_not_start_leaves_nothing(self) -> None:
        before = os.environ.get("DBUS_SESSION_BUS_ADDRESS")
        bus = testing.PrivateBus()
        with unittest.mock.patch("asyncio.create_subprocess_exec", side_effect=FileNotFoundError):
            with self.assertRaises(FileNotFoundError):
                await bus.__aenter__()
        self.assertIsNone(bus._directory)
        broker = testing.Broker()
        with unittest.mock.patch.object(broker, "come_back", side_effect=ZeroDivisionError):
            with self.assertRaises(ZeroDivisionError):
                await broker.__aenter__()
        self.assertIsNone(broker.bus._process)
        self.assertEqual(os.environ.get("DBUS_SESSION_BUS_ADDRESS"), before)


class Streams(unittest.IsolatedAsyncioTestCase):
    async def test_who_is_cancelled_loses_nothing(self) -> None:
        async with testing.Broker() as broker:
            broker.sensor("accelerometer")
            async with jostle.stream("accelerometer", rate=100) as stream:
                heard: list[float] = []
                # Before a packet comes, and at each step of the loop until it is taken.
                for steps in range(6):
                    waiting = asyncio.create_task(anext(stream))
                    await asyncio.sleep(0)
                    await broker.samples("accelerometer", [[steps, 0, 0, 1]])
                    for _ in range(steps):
                        await asyncio.sleep(0)
                    waiting.cancel()
                    await asyncio.wait([waiting])
                    sample = anext(stream) if waiting.cancelled() else waiting
                    heard.append((await asyncio.wait_for(sample, 10)).time)
                self.assertEqual(heard, [0, 1, 2, 3, 4, 5])
                batches = stream.batches()
                early = asyncio.create_task(anext(batches))
                await asyncio.sleep(0)
                early.cancel()
                await asyncio.wait([early])
                await broker.samples("accelerometer", [[6, 0, 0, 1]])
                self.assertEqual(len(await asyncio.wait_for(anext(batches), 10)), 1)

    async def test_samples(self) -> None:
        async with testing.Broker() as broker:
            broker.sensor("accelerometer-base")
            self.assertEqual((await jostle.sensors())["accelerometer-base"]["unit"], "g")
            async with jostle.stream("accelerometer-base", rate=100) as stream:
                self.assertEqual((stream.channels, stream.rate), (("x", "y", "z"), 100.0))
                await broker.samples("accelerometer-base", [[0.5, 1, 2, 3], [0.51, 4, 5, 6]])
                self.assertEqual(await anext(aiter(stream)), (0.5, (1.0, 2.0, 3.0)))
                time, (x, *_) = await anext(stream)
                self.assertEqual((time, x, stream.missed), (0.51, 4.0, 0))
                await broker.samples("accelerometer-base", [[0.6, 1, 2, 3], [0.61, 7, 8, 9]], missing=3)
                batch = await anext(stream.batches())
                self.assertEqual((batch.sequence, len(batch), stream.missed), (5, 2, 3))
                self.assertEqual(batch.times.tolist(), [600_000, 610_000])
                self.assertEqual(batch.values("y").tolist(), [2.0, 8.0])
                self.assertEqual([sample.time for sample in batch], [0.6, 0.61])
                stream.flush()
                await broker.leave()
                with self.assertRaisesRegex(jostle.JostleError, "the reader .* is gone"):
                    await asyncio.wait_for(anext(stream), 10)

    async def test_who_waits_when_the_body_is_left_is_told(self) -> None:
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with ours, theirs:
            async with testing.Broker() as broker:
                broker.sensor("accelerometer")
                async with jostle.stream("accelerometer", rate=100) as stream:
                    waiting = [asyncio.create_task(anext(stream)), asyncio.create_task(anext(stream.batches()))]
                    while len(stream._waiters) < 2:
                        await asyncio.sleep(0)
                    number = stream._end.fileno()
                # Whatever has its number next is heard, also when those who waited are done with it.
                with socket.socket(fileno=os.dup2(ours.fileno(), number)) as end:
                    end.setblocking(False)
                    sample = asyncio.create_task(anext(jostle.Stream(end, ["x"], {})))
                    for task in waiting:
                        with self.assertRaisesRegex(jostle.JostleError, "^the stream is closed"):
                            await asyncio.wait_for(task, 10)
                    theirs.send(struct.pack("=IIQQd", 1, 1, 0, 500_000, 2.0))
                    self.assertEqual(await asyncio.wait_for(sample, 10), (0.5, (2.0,)))

    async def test_what_is_no_packet_is_an_error(self) -> None:
        for packet in (b"short", struct.pack("=IIQ", 1, 2, 0) + bytes(32), struct.pack("=IIQ", 1, 1, 0) + bytes(33)):
            ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
            with ours, theirs:
                ours.setblocking(False)
                theirs.send(packet)
                with self.assertRaisesRegex(jostle.JostleError, "a packet of .* bytes that is none"):
                    await anext(jostle.Stream(ours, ["x", "y", "z"], {}))

    async def test_what_is_not_there(self) -> None:
        async with testing.Broker() as broker:
            broker.sensor("light", ["lux"], "lx")
            with self.assertRaisesRegex(jostle.JostleError, "no sensor 'lihgt': there are light"):
                async with jostle.stream("lihgt", rate=1):
                    self.fail("it is not there")
            for latency in (-1, float("inf"), float("nan")):
                with self.assertRaisesRegex(jostle.JostleError, "^batch_latency=.* is no time"):
                    async with jostle.stream("light", rate=1, batch_latency=latency):
                        self.fail("nobody can hold samples back so long")


class Template(unittest.IsolatedAsyncioTestCase):
    async def test_dbusmock_loads_it(self) -> None:
        async with testing.PrivateBus() as bus:
            mock = await asyncio.create_subprocess_exec(
                "/usr/bin/python3", "-m", "dbusmock", "--session", "--template", testing.dbusmock_template(),
                env={**os.environ, "DBUS_SESSION_BUS_ADDRESS": bus.address}, stdout=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            try:
                peer = Wire(bus.address)
                await peer.open()
                for _ in range(200):
                    if await peer.owner_of("org.jostle.Broker1"):
                        break
                    await asyncio.sleep(0.05)
                owner = await peer.owner_of("org.jostle.Broker1")
                self.assertIsNotNone(owner)

                async def ask(member: str, signature: str = "", *body: Any) -> Any:
                    path = "/org/jostle/Broker1"
                    reply = await peer.call(owner or "", path, "org.freedesktop.DBus.Mock", member, signature, body)
                    return plain(reply.body[0]) if reply.body else None

                async with jostle.App(APP) as app:
                    await app.subscribe()
                    await app.add("skip", "shake", threshold=2)
                    await app._ask("AddDetector", "sa{sv}", "other", {"preset": Variant("s", "tap")})
                    self.assertEqual(await ask("GetDetectors"), ["skip", "other"])
                    await app.remove("other")
                    self.assertEqual(await ask("Hit", "sd", "skip", 3.25), 1)
                    event = await asyncio.wait_for(anext(app.events()), 10)
                    self.assertEqual((event.detector, event.peak, event.sequence), ("skip", 3.25, 1))
                    app.acknowledge(event)
                    with self.assertRaisesRegex(jostle.JostleError, "no detector 'other'"):
                        await app.remove("other")
                    self.assertEqual(await ask("GetAcks"), [[1, 1, "consume"]])
                await peer.close()
            finally:
                mock.terminate()
                await mock.wait()


class Programs(unittest.TestCase):
    def test_ctrl_c_is_heard_although_it_interrupts_nothing(self) -> None:
        """As when it comes just before the loop begins to wait: here another thread takes it."""
        program = """
import asyncio, os, signal, threading, jostle

waits = threading.Event()

def interrupt():
    waits.wait()
    while open(f"/proc/self/task/{os.getpid()}/stat").read().rpartition(")")[2].split()[0] != "S":
        pass
    os.kill(os.getpid(), signal.SIGINT)

async def main():
    try:
        asyncio.get_running_loop().call_soon(waits.set)
        await asyncio.Event().wait()
    finally:
        print("ends", flush=True)

threading.Thread(target=interrupt, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
jostle.run(main())
"""
        ended = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=20, check=True)
        self.assertEqual(ended.stdout, b"ends\n")


class Package(unittest.TestCase):
    def test_the_version_is_that_of_the_daemons(self) -> None:
        source = Path(__file__).parents[2] / "Motion" / "Version.swift"
        match = re.search(r'text = "([^"]+)"', source.read_text(encoding="utf-8"))
        self.assertEqual(match and match[1], jostle.__version__)

    def test_everything_public_has_a_word_of_help(self) -> None:
        for name in jostle.__all__:
            self.assertTrue(name in ("Option", "__version__") or getattr(jostle, name).__doc__, name)
        for name, member in vars(jostle.App).items():
            self.assertTrue(name.startswith("_") or member.__doc__, name)

    def test_what_tests_need_is_not_loaded_with_the_rest(self) -> None:
        code = "import jostle, sys; sys.exit('jostle.testing' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
