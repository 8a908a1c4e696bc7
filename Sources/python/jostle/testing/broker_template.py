"""org.jostle.Broker1 mock template, for python-dbusmock

A broker for the tests of apps in any language. Apps register and add detectors; a test makes events:

    python3 -m dbusmock --session --template PATH
    gdbus call --session -d org.jostle.Broker1 -o /org/jostle/Broker1 -m org.freedesktop.DBus.Mock.Hit skip 3.1

Hit (detector, peak) sends an event to every app that has a detector of that name and returns how many; GetDetectors lists what was
asked for; GetAcks says what was answered. Assertions, activities, tasks and launches are not here: jostle.testing.Broker has them.

Parameters: none.
"""

# SPDX-License-Identifier: MIT

import time

import dbus
from dbusmock import MOCK_IFACE, get_object

BUS_NAME = "org.jostle.Broker1"
MAIN_OBJ = "/org/jostle/Broker1"
MAIN_IFACE = "org.jostle.Broker1"
SYSTEM_BUS = False

APP_IFACE = "org.jostle.Broker1.App"
SAFE = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def add_detectors(app, rows):
    for name, options in rows:
        if len({"preset", "when"} & options.keys()) != 1:
            raise dbus.exceptions.DBusException(
                f"detector '{name}': give a preset or a condition", name="org.jostle.Error.InvalidConfiguration"
            )
    for name, options in rows:
        app.detectors[str(name)] = options
    return dbus.Array(
        [(name, dbus.Dictionary({**options, "available": True}, signature="sv")) for name, options in rows],
        signature="(sa{sv})",
    )


def add_detector(app, name, options):
    return add_detectors(app, [(name, options)])[0][1]


def remove_detectors(app, names, options):
    for name in names:
        if name not in app.detectors:
            raise dbus.exceptions.DBusException(f"there is no detector '{name}'", name="org.jostle.Error.NotFound")
    for name in names:
        del app.detectors[name]


def list_detectors(app, options):
    after = options.get("after", "")
    return dbus.Array(
        [(name, options) for name, options in sorted(app.detectors.items()) if name > after], signature="(sa{sv})"
    )


def ack(app, sequence, epoch, answer, options):
    app.acks.append((sequence, epoch, answer))


def subscribe(app, options):
    return dbus.Dictionary({"kept": dbus.UInt64(0)}, signature="sv")


APP_METHODS = [
    ("AddDetectors", "a(sa{sv})", "a(sa{sv})", add_detectors),
    ("AddDetector", "sa{sv}", "a{sv}", add_detector),
    ("RemoveDetectors", "asa{sv}", "", remove_detectors),
    ("ListDetectors", "a{sv}", "a(sa{sv})", list_detectors),
    ("Ack", "ttsa{sv}", "", ack),
    ("Subscribe", "a{sv}", "a{sv}", subscribe),
]


def load(mock, parameters):
    mock.apps = []
    mock.epoch = 0
    mock.AddProperties(
        MAIN_IFACE, dbus.Dictionary({"Version": "0.1.0", "Features": dbus.Array([], signature="s")}, signature="sv")
    )


@dbus.service.method(MAIN_IFACE, in_signature="sa{sv}", out_signature="oa{sv}", sender_keyword="sender")
def Register(self, app_id, options, sender=None):
    if app_id and self.connection.get_name_owner(app_id) != sender:
        raise dbus.exceptions.DBusException(
            f"the caller does not own the name '{app_id}'", name="org.jostle.Error.IdentityMismatch"
        )
    name = "".join(letter if letter in SAFE else f"_{ord(letter):02x}" for letter in (app_id or sender))
    path = f"{MAIN_OBJ}/apps/{name}"
    if path not in self.apps:
        properties = {"AppId": dbus.String(app_id), "State": dbus.String("foreground")}
        self.AddObject(path, APP_IFACE, dbus.Dictionary(properties, signature="sv"), [])
        app = get_object(path)
        # From within Python a method may be a function, which is given the object.
        app.AddMethods(APP_IFACE, APP_METHODS)
        app.sequence, app.acks, app.owner, app.detectors = 0, [], None, {}
        self.apps.append(path)
    app = get_object(path)
    if app.owner != sender:
        app.owner, app.detectors = sender, {}
    results = {"identity": "name" if app_id else "uid", "durable": bool(options.get("durable", False))}
    return dbus.ObjectPath(path), dbus.Dictionary(results, signature="sv")


@dbus.service.method(MOCK_IFACE, in_signature="sd", out_signature="u")
def Hit(self, detector, peak):
    """Sends an event to every app that has a detector of this name, and says how many have."""
    self.epoch += 1
    apps = [get_object(path) for path in self.apps]
    listening = [app for app in apps if detector in app.detectors]
    for app in listening:
        app.sequence += 1
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        details = dbus.Dictionary({"simulated": True, "ack": True}, signature="sv")
        event = (app.sequence, self.epoch, now, detector, peak, details)
        app.EmitSignalDetailed(APP_IFACE, "Event", "(tttsda{sv})", [event], {"destination": app.owner})
    return len(listening)


@dbus.service.method(MOCK_IFACE, in_signature="", out_signature="as")
def GetDetectors(self):
    """The names of all detectors that apps have."""
    return dbus.Array([name for path in self.apps for name in get_object(path).detectors], signature="s")


@dbus.service.method(MOCK_IFACE, in_signature="", out_signature="a(tts)")
def GetAcks(self):
    """The number, epoch and word of each answer of an app."""
    return dbus.Array([answer for path in self.apps for answer in get_object(path).acks], signature="(tts)")
