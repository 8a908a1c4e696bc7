"""What becomes of each event: it waits, is handed out, is answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal

from ._events import Event, EventName, Gap

Answer = Literal["consume", "pass"]

CaughtUp = int
_Item = Event | Gap | CaughtUp

MOST_WAITING = 1024
"""As many events wait to be asked for; then the oldest give way, and a gap is told."""
_MOST_ANSWERED = 32
"""More than the events that the broker sends without having had an answer. What a launch brings comes on top."""


class Desk:
    """Keeps events until somebody asks for them, and remembers which were answered. Does nothing by itself."""

    def __init__(self) -> None:
        self.answers_by_itself = True
        self.arrived = asyncio.Event()
        """Something waits."""
        self.last_done: EventName | None = None
        """The last event that the app is done with."""
        self._items: deque[_Item] = deque()
        self._waiting: set[EventName] = set()
        self._answered: dict[EventName, Answer] = {}
        self._given: Event | None = None
        self._most_answered = _MOST_ANSWERED
        # What the app is launched with and works on, and what of that came once more meanwhile.
        self._launched: list[Event] = []
        self._copies: dict[EventName, Event] = {}
        # What was left unanswered because of that, and is to be answered when it is done.
        self._withheld: dict[EventName, tuple[Event, Answer]] = {}

    # What comes.

    def take(self, item: _Item) -> Answer | None:
        """Takes what came. An answer is given back for a copy of what was answered: it may not have come."""
        if isinstance(item, Event):
            if item.redelivered:
                # Copies that were under way when we answered, or that came because the work takes long.
                if answer := self._answered.get(item.name):
                    # Answered now, what came before it would be done with: it comes once more when that is.
                    is_open = self._is_open_before(item.name) or self.is_launched_before(item.name)
                    return None if is_open else answer
                if any(event.name == item.name for event in self._launched):
                    self._copies[item.name] = item
                    return None
                if item.name in self._waiting or (self._given and self._given.name == item.name):
                    return None
        self._put(item)
        return None

    def _put(self, item: _Item) -> None:
        """Has something wait until it is asked for."""
        if isinstance(item, Event):
            if len(self._waiting) >= MOST_WAITING:
                self._give_way()
            self._waiting.add(item.name)
        self._items.append(item)
        self.arrived.set()

    @contextlib.contextmanager
    def launched(self, events: Sequence[Event]) -> Iterator[None]:
        """What the app is launched with is worked on meanwhile. The broker sends it once more when it has given the launch up: a copy is
        handed out where the work fails, and nowhere else."""
        self._launched += events
        is_done = False
        try:
            yield
            is_done = True
        finally:
            for event in events:
                self._launched.remove(event)
            names = {event.name for event in self._launched}
            for event in events:
                copy = None if event.name in names else self._copies.pop(event.name, None)
                if copy and is_done:
                    self._withheld[copy.name] = (copy, "consume")
                elif copy:
                    self._put(copy)

    def is_launched_before(self, name: EventName) -> bool:
        """The app works on something that it was launched with and that has come once more: an answer to this one would be for that,
        too."""
        return any(_is_covered(copy, name) for copy in self._copies.values())

    def withhold(self, event: Event, answer: Answer) -> None:
        """Has an answer wait until the app is done with what it was launched with."""
        if event.wants_ack:
            self._withheld[event.name] = (event, answer)

    def release(self) -> list[tuple[Event, Answer]]:
        """The answers that need wait no longer, in order; what would be one to something that is open waits until that is answered."""
        rows = sorted(self._withheld.values(), key=lambda row: row[0].sequence)
        ready = [row for row in rows if not self._is_open_before(row[0].name)]
        for event, _ in ready:
            del self._withheld[event.name]
        return [(event, self._answered.get(event.name, answer)) for event, answer in ready]

    def _give_way(self) -> None:
        """The oldest event that does not come again gives way, and its place says so."""
        for index, item in enumerate(self._items):
            if isinstance(item, Event) and not item.wants_ack:
                self._waiting.discard(item.name)
                before = self._items[index - 1] if index else None
                if isinstance(before, Gap) and before.last + 1 == item.sequence and before.dropped == before.count:
                    self._items[index - 1] = Gap(before.first, item.sequence, before.dropped + 1)
                    del self._items[index]
                else:
                    self._items[index] = Gap(item.sequence, item.sequence, 1)
                return

    # What is handed out.

    def next(self) -> _Item | None:
        """What came first of what waits."""
        while self._items:
            item = self._items.popleft()
            if not isinstance(item, Event):
                return item
            self._waiting.discard(item.name)
            if item.name not in self._answered:
                self._given = item
                return item
        self.arrived.clear()
        return None

    def finish_given(self) -> Event | None:
        """Ends the work on the event that was handed out last, and gives it back if it is to be acknowledged now."""
        event, self._given = self._given, None
        if event is None or not self.answers_by_itself or event.name in self._answered:
            return None
        if not event.wants_ack and event.answer_by is None:
            return None
        return event

    def remember(self, name: EventName, answer: Answer) -> None:
        """Takes note of an answer that went out, or will."""
        self._answered.pop(name, None)
        self._answered[name] = answer
        while len(self._answered) > self._most_answered:
            del self._answered[next(iter(self._answered))]
        # What the app was launched with may be done before what came earlier, which a broker that is told would not send again; and
        # the other way round.
        if self._is_open_before(name) or any(_is_covered(event, name) for event in self._launched):
            return
        # Another broker may number anew: its epochs are later. What is older in both was answered late.
        last = self.last_done
        if last is None or name.sequence > last.sequence or name.epoch > last.epoch:
            self.last_done = name

    def remember_launch(self, events: Sequence[Event], answer: Answer) -> None:
        """Takes note of the answer to a launch. All of it may come once more, however much it is."""
        self._most_answered = _MOST_ANSWERED + len(events)
        for event in events:
            self.remember(event.name, answer)

    def _is_open_before(self, name: EventName) -> bool:
        """Something waits or was handed out last that an answer to this one would be for, too."""
        given = [self._given] if self._given else []
        return any(
            isinstance(item, Event) and _is_covered(item, name) and item.name not in self._answered
            for item in (*given, *self._items)
        )


def _is_covered(event: Event, name: EventName) -> bool:
    """Whether an answer to the event of a name is for this one, too."""
    return event.wants_ack and event.sequence < name.sequence
