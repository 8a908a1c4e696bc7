"""Why something could not be done."""

from __future__ import annotations

DISCONNECTED = "org.freedesktop.DBus.Error.Disconnected"
NO_REPLY = "org.freedesktop.DBus.Error.NoReply"
NO_SERVER = "org.freedesktop.DBus.Error.NoServer"
INVALID = "org.jostle.Error.InvalidConfiguration"
NOT_FOUND = "org.jostle.Error.NotFound"

# What the bus says of a service that is not there. Its words are about service files, which few people know.
_ABSENT = ("org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner")

# What asking again cannot mend.
_FINAL = frozenset(
    (
        "org.jostle.Error.IdentityMismatch",
        INVALID,
        "org.freedesktop.DBus.Error.AccessDenied",
        "org.freedesktop.DBus.Error.InvalidArgs",
        "org.freedesktop.DBus.Error.NotSupported",
    )
)


class JostleError(Exception):
    """Why something could not be done: the name of the bus's error, and what happened, for people."""

    name: str
    """The D-Bus error name, such as ``org.jostle.Error.InvalidConfiguration``."""
    message: str
    """What happened, for people."""

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(name, message)
        self.name = name
        self.message = message

    @property
    def is_final(self) -> bool:
        """Whether the same request would be refused however often it is made. Anything else may go better later."""
        return self.name in _FINAL

    def __str__(self) -> str:
        return self.message or self.name


def error_of(name: str, message: str, service: str) -> JostleError:
    """An error that the bus or a service answered with."""
    return JostleError(name, _absence(service) if name in _ABSENT else message)


def error_of_bus(name: str, message: str, service: str) -> JostleError:
    """An error that the bus answered with in place of a connection. That is gone as a rule, before we could know or meanwhile."""
    if name in (*_ABSENT, NO_REPLY):
        return JostleError(DISCONNECTED, _absence(service))
    return JostleError(name, message)


def _absence(service: str) -> str:
    what = {"org.jostle.Broker1": "the broker", "org.jostle.Sensors1": "the reader"}.get(service, "the service")
    return f"{what} ({service}) is not running"
