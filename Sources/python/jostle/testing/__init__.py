"""Plays a broker for an app's own tests.

>>> async with jostle.testing.Broker() as broker, jostle.App("org.example.Undo") as app:
...     undo = asyncio.create_task(run(app))
...     await broker.until(lambda: "undo" in broker.detectors)
...     await broker.event("undo", peak=3.1)

The broker has a private bus of its own (Debian's ``dbus-daemon``), which is the session bus of this process, and of those that it
starts, while it is there. So the app under test does all that it does in earnest: it owns its name, travels over a true socket, and
may be a program in any language. What is made up are the decisions: nothing is detected, no policy is asked. A test says what
happens. What an app asks for is noted, and hardly judged: whether a preset takes an option, the true broker says.
"""

from ._broker import AppDouble, Broker
from ._bus import PrivateBus

__all__ = ["AppDouble", "Broker", "PrivateBus", "dbusmock_template"]


def dbusmock_template() -> str:
    """The path of a template for python-dbusmock: ``python3 -m dbusmock --template PATH``."""
    from pathlib import Path

    return str(Path(__file__).with_name("broker_template.py"))
