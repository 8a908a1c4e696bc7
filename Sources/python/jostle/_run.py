"""Programs that do nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Coroutine
from typing import Any

from ._errors import JostleError


def run(main: Coroutine[Any, Any, None]) -> None:
    """Runs a program's ``main`` as ``asyncio.run`` does. Ctrl-C ends it in silence, and a `JostleError` with its message and the exit
    status 1."""
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        try:
            asyncio.run(main)
        except JostleError as error:
            sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")
