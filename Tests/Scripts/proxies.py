#!/usr/bin/python3
"""Makes proxies of interface files and uses them on the session bus: proxies.py BINDING DIRECTORY

BINDING is dbus-fast, jeepney or PyGObject. Every file must become a proxy; those of the broker and the reader are called. Prints
"BINDING: ok".
"""

import asyncio
import io
import pathlib
import sys

BROKER, READER = ("org.jostle.Broker1", "/org/jostle/Broker1"), ("org.jostle.Sensors1", "/org/jostle/Sensors1")
SENSOR = ("org.jostle.Sensors1", "/org/jostle/Sensors1/accelerometer")


async def dbus_fast(files):
    from dbus_fast import Variant
    from dbus_fast.aio import MessageBus
    from dbus_fast.introspection import Node

    bus = await MessageBus(negotiate_unix_fd=True).connect()

    def proxy(name, path, interface):
        return bus.get_proxy_object(name, path, Node.parse(files[interface])).get_interface(interface)

    proxy(bus.unique_name, "/org/jostle/Receiver1", "org.jostle.Receiver1")
    path, results = await proxy(*BROKER, "org.jostle.Broker1").call_register("", {})
    app = proxy(BROKER[0], path, "org.jostle.Broker1.App")
    effective = await app.call_add_detector("one", {"preset": Variant("s", "shake.planar")})
    assert effective["preset"].value == "shake.planar" and await app.get_detector_count() == 1, effective
    assert await proxy(*READER, "org.jostle.Sensors1").call_list_sensors({})
    stream, in_force = await proxy(*SENSOR, "org.jostle.Sensors1.Sensor").call_open_stream({"rate": Variant("d", 10.0)})
    assert in_force["rate"].value == 10.0, in_force


def jeepney(files):
    from jeepney.bindgen import code_from_xml
    from jeepney.io.blocking import Proxy, open_dbus_connection

    classes = {}
    for interface, text in files.items():
        code, made = io.StringIO(), {}
        code_from_xml(text, "/", interface, code)
        exec(code.getvalue(), made)
        (classes[interface],) = [thing for thing in made.values() if getattr(thing, "interface", None) == interface]
    with open_dbus_connection(enable_fds=True) as bus:
        def proxy(name, path, interface):
            return Proxy(classes[interface](path, name), bus)

        path, results = proxy(*BROKER, "org.jostle.Broker1").Register("", {})
        app = proxy(BROKER[0], path, "org.jostle.Broker1.App")
        (effective,) = app.AddDetector("one", {"preset": ("s", "shake.planar")})
        assert effective["preset"] == ("s", "shake.planar"), effective
        assert proxy(*READER, "org.jostle.Sensors1").ListSensors({})[0]
        stream, in_force = proxy(*SENSOR, "org.jostle.Sensors1.Sensor").OpenStream({"rate": ("d", 10.0)})
        assert stream.fileno() >= 0 and in_force["rate"] == ("d", 10.0), in_force


def pygobject(files):
    from gi.repository import Gio, GLib

    bus = Gio.bus_get_sync(Gio.BusType.SESSION)

    def proxy(name, path, interface):
        information = Gio.DBusNodeInfo.new_for_xml(files[interface]).lookup_interface(interface)
        return Gio.DBusProxy.new_sync(bus, 0, information, name, path, interface, None)

    proxy("org.freedesktop.DBus", "/org/jostle/Receiver1", "org.jostle.Receiver1")
    path, results = proxy(*BROKER, "org.jostle.Broker1").Register("(sa{sv})", "", {})
    app = proxy(BROKER[0], path, "org.jostle.Broker1.App")
    effective = app.AddDetector("(sa{sv})", "one", {"preset": GLib.Variant("s", "shake.planar")})
    assert effective["preset"] == "shake.planar", effective
    assert proxy(*READER, "org.jostle.Sensors1").ListSensors("(a{sv})", {})
    answer, descriptors = proxy(*SENSOR, "org.jostle.Sensors1.Sensor").call_with_unix_fd_list_sync(
        "OpenStream", GLib.Variant("(a{sv})", ({"rate": GLib.Variant("d", 10.0)},)), 0, -1, None, None)
    assert descriptors.get_length() == 1 and answer.unpack()[1]["rate"] == 10.0, answer


def main(binding, directory):
    files = {path.stem: path.read_text() for path in pathlib.Path(directory).glob("*.xml")}
    assert len(files) == 7, files.keys()
    if binding == "dbus-fast":
        asyncio.run(dbus_fast(files))
    else:
        {"jeepney": jeepney, "PyGObject": pygobject}[binding](files)
    print(f"{binding}: ok")


main(*sys.argv[1:])
