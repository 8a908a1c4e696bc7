"""What the broker tells an app."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from ._wire import plain

_MICRO = 1_000_000


class EventName(NamedTuple):
    """What an event is known by, for ever: numbers may begin again some day, epochs never do."""

    sequence: int
    epoch: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Event:
    """A detector was hit, and the app is to react.

    Times are seconds of CLOCK_BOOTTIME, as ``time.clock_gettime(time.CLOCK_BOOTTIME)`` has them.
    """

    sequence: int
    """The app's number of the event: counts what was due to it, from 1."""
    epoch: int
    """One number for one decision of the broker; rises, and is never used twice."""
    time: float
    """The time of the sample that decided."""
    detector: str
    """The app's own name for the detector."""
    peak: float
    """The largest value that the detector's quantity had had by then."""
    simulated: bool = False
    """The motion was made or replayed, not measured now."""
    clipped: bool = False
    """The motion reached the end of the sensor's range: it may have been harder than the peak says."""
    wants_ack: bool = False
    """The broker sends the event again until it is answered."""
    answer_by: float | None = None
    """The app may pass the event on until then; None when nobody is next."""
    redelivered: bool = False
    """It was sent before, and may have come."""
    persistent: bool = False
    """It is on the broker's disk, and outlives it."""
    transition: str | None = None
    """What happened, where the preset tells it: enter, leave, arrive or depart."""
    distance: float | None = None
    """In metres: from the last report, or from a geofence's centre."""
    filter: float | None = None
    """In metres, that ``location.adaptive`` has in force."""
    stay: float | None = None
    """How long a visit has lasted, in seconds."""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict, compare=False, repr=False)
    """All that the broker said besides, by its own words; times in microseconds."""

    @property
    def name(self) -> EventName:
        """What it is known by."""
        return EventName(self.sequence, self.epoch)


def event_of(row: list[Any]) -> Event:
    """An event as it travels."""
    sequence, epoch, time, detector, peak, wrapped = row
    details: dict[str, Any] = plain(wrapped)

    def seconds(key: str) -> float | None:
        value = details.get(key)
        return value / _MICRO if isinstance(value, int) else None

    def metres(key: str) -> float | None:
        value = details.get(key)
        return float(value) if isinstance(value, (int, float)) else None

    transition = details.get("transition")
    return Event(
        sequence=sequence, epoch=epoch, time=time / _MICRO, detector=detector, peak=peak,
        simulated=details.get("simulated") is True, clipped=details.get("clipped") is True,
        wants_ack=details.get("ack") is True, answer_by=seconds("answer-by"),
        redelivered=details.get("redelivered") is True, persistent=details.get("persistent") is True,
        transition=transition if isinstance(transition, str) else None,
        distance=metres("distance"), filter=metres("filter"), stay=seconds("stay"), details=details,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Gap:
    """Events that were due to the app and that it does not get."""

    first: int
    """The first number."""
    last: int
    """The last number."""
    dropped: int = 0
    """How many gave way to newer ones, because nobody read them."""
    expired: int = 0
    """How many grew too old."""
    removed: int = 0
    """How many had lost what they were for."""

    @property
    def count(self) -> int:
        """How many there are."""
        return self.last - self.first + 1


def gap_of(row: list[Any]) -> Gap:
    """A gap as it travels."""
    first, last, reasons = row
    counts: dict[str, Any] = plain(reasons)
    return Gap(first, last, *(int(counts.get(key, 0)) for key in ("dropped", "expired", "removed")))


@dataclasses.dataclass(frozen=True)
class Launch:
    """Why the app was started or resumed, and what for."""

    reason: str
    """The kind of motion, such as ``shake`` or ``location``; or ``push``."""
    events: tuple[Event, ...]
    """What is due to the app, in order; empty for ``push``."""
    missing: int = 0
    """How many events before these the app does not get."""


@dataclasses.dataclass(frozen=True)
class Task:
    """Work that the app handed in, and that the broker has begun."""

    identifier: str
    """The app's own name for it, as in its app file."""
    attempt: int
    """1, unless it was begun before and not ended: the app crashed, or the broker did."""
    deadline: float
    """When its time is over, in seconds of CLOCK_BOOTTIME."""
    kind: str = ""
    """``refresh`` or ``processing``."""


class Submitted(NamedTuple):
    """What holds for a task that was handed in."""

    earliest_begin: float
    """When it may begin, in seconds since 1970."""
    durable: bool
    """It is on the disk, and outlives the broker."""


@dataclasses.dataclass(frozen=True)
class SessionChange:
    """How a session of the app stands beside those of other apps, from now on."""

    name: str
    """The class of the session."""
    change: str
    """began, waits, interrupted, resumed, ducked, restored, silenced or audible."""
    number: int = 0
    """The number of the activity that it belongs to."""
    resume: bool | None = None
    """With resumed: whether it would be heard if it went on."""
    share: float | None = None
    """With ducked: how loud it may be, as a share of what it would be."""
