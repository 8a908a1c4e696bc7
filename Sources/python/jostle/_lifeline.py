"""What the broker holds for an app as long as a descriptor is open: assertions and activities."""

from __future__ import annotations

import asyncio
import os


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
        self._descriptor = descriptor
        if descriptor < 0:
            self.ended.set()
            return
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._look)

    def _look(self) -> None:
        """The broker never writes anything: it closes its end."""
        try:
            if os.read(self._descriptor, 64):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.end()

    def end(self) -> None:
        """Lets go of it."""
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
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
