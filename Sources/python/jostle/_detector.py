"""What an app wants to react to, and what is in force for it."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Mapping
from typing import Any, SupportsFloat

from dbus_fast import Variant

from ._errors import INVALID, JostleError
from ._wire import plain

Option = str | bool | SupportsFloat | datetime.timedelta
"""A text as the bus takes it (``"2.3g"``, ``"100ms"``); a number in the option's own unit, or in seconds where it is a time; or yes
or no."""

Row = tuple[str, dict[str, Variant]]

_TIMES = ("every", "rest")
_LARGEST = 2**64 - 1
# What one call may add, so that nobody waits for the call of another.
_ROWS_PER_CALL, _CONDITION_BYTES_PER_CALL, _WORD_BYTES = 64, 65_536, 64


class Detector:
    """What an app wants to react to: a name of its own, and a preset or a condition, with options.

    >>> Detector("skip", "shake", sensitivity="pocket")
    >>> Detector("bump", when="hypot(x, y) > 2.3g", every=0.1)

    The options are those of the bus: ``rest_mode`` is its ``rest-mode``, and ``for_`` its ``for``.
    """

    def __init__(
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
    ) -> None:
        named = {
            "preset": preset, "when": when, "every": every, "rest": rest, "rest_mode": rest_mode,
            "decimation": decimation, "sensor": sensor, **parameters,
        }  # fmt: skip
        self.name = name
        self.options = {
            key.rstrip("_").replace("_", "-"): value for key, value in named.items() if value is not None
        }

    def __repr__(self) -> str:
        return f"Detector({self.name!r}, {self.options!r})"

    @property
    def row(self) -> Row:
        """As it travels."""
        return (self.name, {key: self._wrap(key, value) for key, value in self.options.items()})

    def _wrap(self, key: str, value: Option) -> Variant:
        if isinstance(value, str):
            return Variant("s", value)
        if isinstance(value, bool):
            return Variant("b", value)
        if isinstance(value, datetime.timedelta):
            microseconds = value // datetime.timedelta(microseconds=1)
            return self._time(key, microseconds) if key in _TIMES else Variant("s", f"{microseconds}us")
        try:
            number = float(value)
        except TypeError:
            raise TypeError(
                f"detector {self.name!r}: {key} is a {type(value).__name__};"
                " give a text, a number, a timedelta, or true or false"
            ) from None
        except OverflowError:
            # A whole number beyond all others is for the broker to refuse.
            number = math.inf
        if key in _TIMES:
            number *= 1_000_000
            return self._time(key, round(number) if math.isfinite(number) else -1, value)
        return Variant("d", number)

    def _time(self, key: str, microseconds: int, value: Any = None) -> Variant:
        if not 0 <= microseconds <= _LARGEST:
            given = value if value is not None else f"{microseconds} us"
            raise JostleError(INVALID, f"detector '{self.name}': {key}={given} is no time: give seconds, 0 or more")
        return Variant("t", microseconds)

    @property
    def condition_bytes(self) -> int:
        """How much it takes of what one call may add: its condition, and of other texts what no short word needs."""
        texts = {key: len(value.encode()) for key, value in self.options.items() if isinstance(value, str)}
        return sum(size if key == "when" else max(0, size - _WORD_BYTES) for key, size in texts.items())


def batches(detectors: Mapping[str, Detector]) -> list[list[Row]]:
    """Detectors, split into as few calls as may be, in their order."""
    result: list[list[Row]] = []
    size = 0
    for detector in detectors.values():
        is_full = result and (
            len(result[-1]) == _ROWS_PER_CALL or size + detector.condition_bytes > _CONDITION_BYTES_PER_CALL
        )
        if not result or is_full:
            result.append([])
            size = 0
        size += detector.condition_bytes
        result[-1].append(detector.row)
    return result


@dataclasses.dataclass(frozen=True)
class DetectorWarning:
    """What is allowed and probably not meant of a detector."""

    id: str
    """A word for programs, such as threshold-unreachable."""
    text: str
    """A sentence for people."""

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Effective:
    """What is in force for a detector."""

    name: str
    """The app's own name for it."""
    options: Mapping[str, Any]
    """Every option, by the bus's words; times in seconds."""
    available: bool
    """False while the sensor is not there; the detector works as soon as it is."""
    warnings: tuple[DetectorWarning, ...]
    """What is allowed and probably not meant."""


def effective_of(row: list[Any]) -> Effective:
    """What is in force, as it travels."""
    name, wrapped = row
    options = {
        key: value.value / 1_000_000 if isinstance(value, Variant) and value.signature == "t" else plain(value)
        for key, value in sorted(wrapped.items())
    }
    warnings = tuple(DetectorWarning(str(row.get("id", "")), str(row.get("text", ""))) for row in options.pop("warnings", []))
    return Effective(name, options, options.pop("available", True) is not False, warnings)
