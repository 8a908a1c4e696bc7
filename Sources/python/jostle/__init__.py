"""Motion events on Linux: the client of jostle-brokerd.

>>> async with jostle.App("org.example.Player") as app:
...     await app.add("skip", "shake.planar", threshold=3.5)
...     async for event in app.events():
...         print(event.detector, event.peak)

Times are seconds; those of events and samples are of CLOCK_BOOTTIME. docs/python.md has all of it by example.
"""

from ._app import App, Events
from ._detector import Detector, DetectorWarning, Effective, Option
from ._errors import JostleError
from ._events import Event, EventName, Gap, Launch, SessionChange, Submitted, Task
from ._lifeline import Activity, Assertion
from ._run import run
from ._streams import Batch, Sample, Stream, sensors, stream
from ._version import __version__

__all__ = [
    "Activity",
    "App",
    "Assertion",
    "Batch",
    "Detector",
    "DetectorWarning",
    "Effective",
    "Event",
    "EventName",
    "Events",
    "Gap",
    "JostleError",
    "Launch",
    "Option",
    "Sample",
    "SessionChange",
    "Stream",
    "Submitted",
    "Task",
    "__version__",
    "run",
    "sensors",
    "stream",
]
