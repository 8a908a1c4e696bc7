"""What things are called on the bus."""

BUS = "org.freedesktop.DBus"
BUS_PATH = "/org/freedesktop/DBus"
PROPERTIES = "org.freedesktop.DBus.Properties"
INTROSPECTABLE = "org.freedesktop.DBus.Introspectable"
ACCESS_DENIED = "org.freedesktop.DBus.Error.AccessDenied"
NOT_SUPPORTED = "org.freedesktop.DBus.Error.NotSupported"
INVALID_ARGS = "org.freedesktop.DBus.Error.InvalidArgs"
UNKNOWN_METHOD = "org.freedesktop.DBus.Error.UnknownMethod"
FAILED = "org.freedesktop.DBus.Error.Failed"

BROKER = "org.jostle.Broker1"
BROKER_PATH = "/org/jostle/Broker1"
APP = "org.jostle.Broker1.App"
READER = "org.jostle.Sensors1"
READER_PATH = "/org/jostle/Sensors1"
SENSOR = "org.jostle.Sensors1.Sensor"
RECEIVER = "org.jostle.Receiver1"
RECEIVER_PATH = "/org/jostle/Receiver1"

EVENT = "(tttsda{sv})"

RECEIVER_XML = f"""<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
<node>
  <interface name="{RECEIVER}">
    <method name="Deliver">
      <arg name="reason" type="s" direction="in"/>
      <arg name="events" type="a{EVENT}" direction="in"/>
      <arg name="options" type="a{{sv}}" direction="in"/>
      <arg name="answer" type="s" direction="out"/>
    </method>
    <method name="RunTask">
      <arg name="identifier" type="s" direction="in"/>
      <arg name="deadline" type="t" direction="in"/>
      <arg name="options" type="a{{sv}}" direction="in"/>
    </method>
  </interface>
</node>
"""
