"""What the broker holds for an app as long as a descriptor is open: assertions and activities."""

from __future__ import annotations

import asyncio
import io
import os

from ._own import keep_from_children


class Lifeline:
    """Holds something of the app's at the broker, until the app lets go of it or the broker ends it."""

    def __init__(self, name: str, number: int, descriptor: int) -> None:
        """:param descriptor: negative: it is over before it began"""
        self.name = name
        """The app's own name for the assertion, or the activity's mode."""
        self.number = number
        """What tells it from the app's others; ``SessionChange`` has the activity's."""
        self.ended = asyncio.Event()
        """It is over: the broker ended it, or is gone, or the app let go of it."""
        self._end: io.FileIO | None = None
        if descriptor < 0:
            self.ended.set()
            return
        os.set_blocking(descriptor, False)
        self._end = keep_from_children(io.FileIO(descriptor))
        asyncio.get_running_loop().add_reader(self._end, self._look, self._end)

    def _look(self, end: io.FileIO) -> None:
        """The broker never writes anything: it closes its end."""
        try:
            if end.read(64) != b"":
                return
        except OSError:
            pass
        self.end()

    def end(self) -> None:
        """Lets go of it."""
        if self._end and not self._end.closed:
            asyncio.get_running_loop().remove_reader(self._end)
            self._end.close()
        self.ended.set()


class Activity(Lifeline):
    """A running use of a mode, such as playing audio."""


class Assertion(Lifeline):
    """A right to keep going in the background for a time."""

    def __init__(self, name: str, number: int, descriptor: int, deadline: float | None) -> None:
        super().__init__(name, number, descriptor)
        self.deadline = deadline
        """When its time is over, in seconds of CLOCK_BOOTTIME, if the system does not sleep; None while the app is in the
        foreground and nothing of it is used."""
        self.expiring = asyncio.Event()
        """Its time ends soon, or is over."""
        if self.ended.is_set():
            self.expiring.set()

    def end(self) -> None:
        """Lets go of it."""
        super().end()
        self.expiring.set()
