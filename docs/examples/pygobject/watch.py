#!/usr/bin/python3
"""Prints shakes with PyGObject, and goes on when the broker is started anew."""

from gi.repository import Gio, GLib

BROKER = "org.jostle.Broker1"
# The app's id, a name that it owns on the bus; "": an app without a name.
APP = ""
OPTIONS = {"preset": GLib.Variant("s", "shake.planar"), "threshold": GLib.Variant("s", "2.5g")}


def call(bus, broker, path, interface, member, signature, *body):
    return bus.call_sync(broker, path, interface, member, GLib.Variant(signature, body), None, 0, -1, None).unpack()


def on_event(bus, broker, app, _interface, _member, body):
    ((sequence, epoch, _, detector, peak, _),) = body.unpack()
    print(f"event {sequence}: {detector}, peak {peak:.2f}", flush=True)
    # Only some events want an answer; the others do not mind one.
    answer = GLib.Variant("(ttsa{sv})", (sequence, epoch, "consume", {}))
    bus.call(broker, app, f"{BROKER}.App", "Ack", answer, None, 0, -1, None, None)


def on_broker(bus, _, broker):
    app, _ = call(bus, broker, "/org/jostle/Broker1", BROKER, "Register", "(sa{sv})", APP, {})
    # By the unique name: anybody can send a signal, only the broker's counts.
    bus.signal_subscribe(broker, f"{BROKER}.App", "Event", app, None, 0, on_event)
    call(bus, broker, app, f"{BROKER}.App", "AddDetector", "(sa{sv})", "watch", OPTIONS)


if APP:  # first, so that the name is ours when the broker is asked
    Gio.bus_own_name(Gio.BusType.SESSION, APP, Gio.BusNameOwnerFlags.DO_NOT_QUEUE, None, None, None)
Gio.bus_watch_name(Gio.BusType.SESSION, BROKER, Gio.BusNameWatcherFlags.AUTO_START, on_broker, None)
GLib.MainLoop().run()
