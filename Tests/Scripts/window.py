#!/usr/bin/python3
"""Opens a window of an app until it is ended: window.py APP"""

import sys

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk  # noqa: E402

GLib.set_prgname(sys.argv[1])
window = Gtk.Window(title="a window")
window.set_default_size(200, 100)
window.show_all()
Gtk.main()
