#include "wire.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool read_samples(DBusMessage *message, struct samples *samples) {
    if (!dbus_message_is_signal(message, SENSOR_INTERFACE, "Samples")) return false;
    if (!dbus_message_has_signature(message, "(tatad)")) return false;
    DBusMessageIter arguments, body, array;
    int times, values;
    dbus_message_iter_init(message, &arguments);
    dbus_message_iter_recurse(&arguments, &body);
    dbus_message_iter_get_basic(&body, &samples->first);
    dbus_message_iter_next(&body);
    dbus_message_iter_recurse(&body, &array);
    dbus_message_iter_get_fixed_array(&array, &samples->times, &times);
    dbus_message_iter_next(&body);
    dbus_message_iter_recurse(&body, &array);
    dbus_message_iter_get_fixed_array(&array, &samples->values, &values);
    samples->count = times;
    return values == times * CHANNELS;
}

DBusMessage *new_samples(const char *claimant, const struct samples *samples) {
    DBusMessage *message = dbus_message_new_signal(SENSOR_PATH, SENSOR_INTERFACE, "Samples");
    enough(message != NULL);
    enough(dbus_message_set_destination(message, claimant));
    DBusMessageIter arguments, body, array;
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_STRUCT, NULL, &body));
    enough(dbus_message_iter_append_basic(&body, DBUS_TYPE_UINT64, &samples->first));
    enough(dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "t", &array));
    enough(dbus_message_iter_append_fixed_array(&array, DBUS_TYPE_UINT64, &samples->times, samples->count));
    enough(dbus_message_iter_close_container(&body, &array));
    enough(dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "d", &array));
    enough(dbus_message_iter_append_fixed_array(&array, DBUS_TYPE_DOUBLE, &samples->values,
                                                samples->count * CHANNELS));
    enough(dbus_message_iter_close_container(&body, &array));
    enough(dbus_message_iter_close_container(&arguments, &body));
    return message;
}

double planar(const struct samples *samples, int index) {
    double x = samples->values[index * CHANNELS], y = samples->values[index * CHANNELS + 1];
    return sqrt(x * x + y * y);
}

bool read_event(DBusMessage *message, struct event *event) {
    if (!dbus_message_is_signal(message, APP_INTERFACE, "Event")) return false;
    if (!dbus_message_has_signature(message, "(tttsda{sv})")) return false;
    DBusMessageIter arguments, body;
    dbus_message_iter_init(message, &arguments);
    dbus_message_iter_recurse(&arguments, &body);
    void *const fields[] = {&event->sequence, &event->epoch, &event->time, &event->detector, &event->peak};
    for (size_t index = 0; index < sizeof fields / sizeof *fields; index++) {
        dbus_message_iter_get_basic(&body, fields[index]);
        dbus_message_iter_next(&body);
    }
    return true;
}

bool read_gap(DBusMessage *message, struct gap *gap) {
    if (!dbus_message_is_signal(message, APP_INTERFACE, "Gap")) return false;
    if (!dbus_message_has_signature(message, "(tta{sv})")) return false;
    DBusMessageIter arguments, body;
    dbus_message_iter_init(message, &arguments);
    dbus_message_iter_recurse(&arguments, &body);
    dbus_message_iter_get_basic(&body, &gap->first);
    dbus_message_iter_next(&body);
    dbus_message_iter_get_basic(&body, &gap->last);
    return gap->first <= gap->last;
}

static void append_option(DBusMessageIter *options, const char *key, int type, const void *value) {
    DBusMessageIter entry, variant;
    const char signature[] = {(char)type, '\0'};
    enough(dbus_message_iter_open_container(options, DBUS_TYPE_DICT_ENTRY, NULL, &entry));
    enough(dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &key));
    enough(dbus_message_iter_open_container(&entry, DBUS_TYPE_VARIANT, signature, &variant));
    enough(dbus_message_iter_append_basic(&variant, type, value));
    enough(dbus_message_iter_close_container(&entry, &variant));
    enough(dbus_message_iter_close_container(options, &entry));
}

DBusMessage *new_event(const char *app, const struct event *event) {
    DBusMessage *message = dbus_message_new_signal(BROKER_PATH "/apps/x", APP_INTERFACE, "Event");
    enough(message != NULL);
    enough(dbus_message_set_destination(message, app));
    DBusMessageIter arguments, body, rest;
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_STRUCT, NULL, &body));
    enough(dbus_message_iter_append_basic(&body, DBUS_TYPE_UINT64, &event->sequence));
    enough(dbus_message_iter_append_basic(&body, DBUS_TYPE_UINT64, &event->epoch));
    enough(dbus_message_iter_append_basic(&body, DBUS_TYPE_UINT64, &event->time));
    enough(dbus_message_iter_append_basic(&body, DBUS_TYPE_STRING, &event->detector));
    enough(dbus_message_iter_append_basic(&body, DBUS_TYPE_DOUBLE, &event->peak));
    enough(dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "{sv}", &rest));
    // What the broker's events say too, so that both carry the same bytes.
    append_count_option(&rest, "policy-generation", 1);
    enough(dbus_message_iter_close_container(&body, &rest));
    enough(dbus_message_iter_close_container(&arguments, &body));
    return message;
}

void append_double_option(DBusMessageIter *options, const char *key, double value) {
    append_option(options, key, DBUS_TYPE_DOUBLE, &value);
}

void append_count_option(DBusMessageIter *options, const char *key, uint64_t value) {
    const dbus_uint64_t count = value;
    append_option(options, key, DBUS_TYPE_UINT64, &count);
}

static void append_no_options(DBusMessageIter *arguments) {
    DBusMessageIter options;
    enough(dbus_message_iter_open_container(arguments, DBUS_TYPE_ARRAY, "{sv}", &options));
    enough(dbus_message_iter_close_container(arguments, &options));
}

void claim(struct bus *bus, const char *sensors, double rate, uint64_t latency_us) {
    DBusMessage *message = dbus_message_new_method_call(sensors, SENSOR_PATH, SENSOR_INTERFACE, "Claim");
    enough(message != NULL);
    DBusMessageIter arguments, options;
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "{sv}", &options));
    if (rate > 0) append_double_option(&options, "rate", rate);
    if (latency_us > 0) append_count_option(&options, "batch-latency", latency_us);
    enough(dbus_message_iter_close_container(&arguments, &options));
    dbus_message_unref(bus_call(bus, message, "a{sv}"));
}

void register_app(struct bus *bus, const char *app, const struct detector *detector) {
    bus_request_name(bus, app);
    DBusMessage *message = dbus_message_new_method_call(BROKER_NAME, BROKER_PATH, BROKER_INTERFACE, "Register");
    enough(message != NULL);
    DBusMessageIter arguments, detectors, entry, options;
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_append_basic(&arguments, DBUS_TYPE_STRING, &app));
    append_no_options(&arguments);
    DBusMessage *reply = bus_call(bus, message, "oa{sv}");
    const char *path;
    dbus_message_iter_init(reply, &arguments);
    dbus_message_iter_get_basic(&arguments, &path);

    message = dbus_message_new_method_call(BROKER_NAME, path, APP_INTERFACE, "AddDetectors");
    enough(message != NULL);
    const char *name = "shake", *preset = "shake.planar";
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "(sa{sv})", &detectors));
    enough(dbus_message_iter_open_container(&detectors, DBUS_TYPE_STRUCT, NULL, &entry));
    enough(dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &name));
    enough(dbus_message_iter_open_container(&entry, DBUS_TYPE_ARRAY, "{sv}", &options));
    if (detector->when != NULL) {
        append_option(&options, "when", DBUS_TYPE_STRING, &detector->when);
    } else {
        append_option(&options, "preset", DBUS_TYPE_STRING, &preset);
        append_double_option(&options, "threshold", detector->threshold);
    }
    if (detector->every > 0) append_count_option(&options, "every", detector->every);
    append_count_option(&options, "rest", detector->rest);
    enough(dbus_message_iter_close_container(&entry, &options));
    enough(dbus_message_iter_close_container(&detectors, &entry));
    enough(dbus_message_iter_close_container(&arguments, &detectors));
    dbus_message_unref(reply);
    /* What is in force comes back; it is not asked for anything here. */
    dbus_message_unref(bus_call(bus, message, NULL));
}
