"""What is ours alone.

A child that the app forks has a copy of each descriptor: what the app lets go of would go on as long as the child lives.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> None: ...


_End = TypeVar("_End", bound=_Closable)
_ends: weakref.WeakSet[_Closable] = weakref.WeakSet()


def keep_from_children(end: _End) -> _End:
    """Has every child that is forked from now on close its copy at once."""
    _ends.add(end)
    return end


def _close_copies() -> None:
    for end in list(_ends):
        with contextlib.suppress(Exception):
            end.close()


os.register_at_fork(after_in_child=_close_copies)
