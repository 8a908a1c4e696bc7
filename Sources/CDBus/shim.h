#ifndef JOSTLE_CDBUS_SHIM_H
#define JOSTLE_CDBUS_SHIM_H
#include <dbus/dbus.h>
#endif
