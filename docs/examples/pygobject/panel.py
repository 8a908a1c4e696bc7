#!/usr/bin/python3
"""Shows which apps are there, in which state, and which is in front, and is told of changes: panel.py. Needs Debian's python3-gi."""

from gi.repository import Gio, GLib

BROKER = "org.jostle.Broker1"
PATH = "/org/jostle/Broker1"
apps, subscriptions = {}, []


def call(bus, broker, member, options):
    arguments = GLib.Variant("(a{sv})", (options,))
    return bus.call_sync(broker, PATH, BROKER, member, arguments, None, 0, -1, None).unpack()


def show(rows, gone=()):
    for path, app in rows:
        apps[path] = app["app"] or path
        print(f"{apps[path]}: {app['state']}", flush=True)
    for path in apps.keys() & set(gone):
        print(f"{apps.pop(path)}: gone", flush=True)


def on_apps(bus, broker, _path, _interface, _member, body):
    rows, gone, details = body.unpack()
    show(rows, gone)
    if details.get("missed"):
        show_all(bus, broker)


def on_property(_bus, _broker, _path, _interface, _member, body):
    _, changed, _ = body.unpack()
    if "Foreground" in changed:
        print(f"in front: {changed['Foreground'] or 'nothing that is known'}", flush=True)


def show_all(bus, broker):
    options, found = {}, set()
    while rows := call(bus, broker, "ListApps", options)[0]:
        show(rows)
        found.update(path for path, _ in rows)
        options = {"after": GLib.Variant("o", rows[-1][0])}
    # That it left may have been missed.
    show([], apps.keys() - found)


def on_broker(bus, _, broker):
    for name, member, handler in ((BROKER, "AppsChanged", on_apps),
                                  ("org.freedesktop.DBus.Properties", "PropertiesChanged", on_property)):
        subscriptions.append(bus.signal_subscribe(broker, name, member, PATH, None, 0, handler))
    # The list comes second: nothing is missed in between.
    call(bus, broker, "Watch", {})
    show_all(bus, broker)


def on_loss(bus, _):
    print("the broker is gone", flush=True)
    while subscriptions:
        bus.signal_unsubscribe(subscriptions.pop())
    apps.clear()


Gio.bus_watch_name(Gio.BusType.SESSION, BROKER, Gio.BusNameWatcherFlags.AUTO_START, on_broker, on_loss)
GLib.MainLoop().run()
