"""Programs that do nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Coroutine
from typing import Any

from ._errors import JostleError


def run(main: Coroutine[Any, Any, None]) -> None:
    """Runs a program's ``main`` as ``asyncio.run`` does. Ctrl-C ends it in silence, and a `JostleError` with its message and the exit
    status 1."""
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        try:
            asyncio.run(_woken_by_signals(main))
        except JostleError as error:
            sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")


async def _woken_by_signals(main: Coroutine[Any, Any, None]) -> None:
    """Runs ``main`` in a loop that each signal wakes.

    ``asyncio.run`` leaves that to the system call in which the loop waits. A signal that comes just before the loop begins to wait
    interrupts nothing, and Ctrl-C would be heard with the next message only, however long that takes.
    """
    ours, interpreters = socket.socketpair()
    with ours, interpreters:
        ours.setblocking(False)
        interpreters.setblocking(False)
        try:
            before = signal.set_wakeup_fd(interpreters.fileno(), warn_on_full_buffer=False)
        except ValueError:  # not the main thread: Python hears no signals here
            return await main
        loop = asyncio.get_running_loop()
        loop.add_reader(ours, _drain, ours)
        try:
            await main
        finally:
            loop.remove_reader(ours)
            signal.set_wakeup_fd(before)


def _drain(end: socket.socket) -> None:
    """Takes what came. What it says is heard by then: Python looks for signals whenever it runs."""
    with contextlib.suppress(BlockingIOError):
        while end.recv(64):
            pass
