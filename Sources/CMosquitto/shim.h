#ifndef JOSTLE_CMOSQUITTO_SHIM_H
#define JOSTLE_CMOSQUITTO_SHIM_H

#include <mosquitto.h>
#include <mqtt_protocol.h>

#endif
