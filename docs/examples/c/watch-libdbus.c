/* Prints shakes, with libdbus, and goes on when the broker is started anew. */
#include <dbus/dbus.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BROKER "org.jostle.Broker1"
#define OBJECT BROKER ".App"
/* The app's id, a name that it owns on the bus; "": an app without a name. */
#define APP ""
#define MATCH "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" BROKER "'"

/* There is a broker that does not know us. */
static int is_new = 1;
/* Its unique name, and our object there. */
static char broker[256], app[512];

static void fail(const char *message) {
    fprintf(stderr, "watch: %s\n", message);
    exit(1);
}

/* No options. */
static const char *const nothing[] = {NULL};

/* Sends a call and takes its reference; the answer is NULL, and the reason printed, when there is no broker. */
static DBusMessage *call(DBusConnection *bus, DBusMessage *message) {
    DBusError error = DBUS_ERROR_INIT;
    DBusMessage *reply = dbus_connection_send_with_reply_and_block(bus, message, DBUS_TIMEOUT_USE_DEFAULT, &error);
    dbus_message_unref(message);
    if (!reply) {
        fprintf(stderr, "watch: %s\n", error.message);
        /* Where there is no broker yet, join is called again when there is. */
        if (!dbus_error_has_name(&error, DBUS_ERROR_SERVICE_UNKNOWN) &&
            !dbus_error_has_name(&error, DBUS_ERROR_NO_REPLY))
            exit(1);
    }
    dbus_error_free(&error);
    return reply;
}

/* Appends these texts as options: key, value, key, value. */
static void append_options(DBusMessageIter *arguments, const char *const *texts) {
    DBusMessageIter options, entry, value;
    dbus_message_iter_open_container(arguments, DBUS_TYPE_ARRAY, "{sv}", &options);
    for (; *texts; texts += 2) {
        dbus_message_iter_open_container(&options, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
        dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &texts[0]);
        dbus_message_iter_open_container(&entry, DBUS_TYPE_VARIANT, "s", &value);
        dbus_message_iter_append_basic(&value, DBUS_TYPE_STRING, &texts[1]);
        dbus_message_iter_close_container(&entry, &value);
        dbus_message_iter_close_container(&options, &entry);
    }
    dbus_message_iter_close_container(arguments, &options);
}

/* Calls a method that takes a name and options. */
static DBusMessage *call_with_options(
    DBusConnection *bus, const char *destination, const char *path, const char *interface, const char *member,
    const char *name, const char *const *options) {
    DBusMessageIter arguments;
    DBusMessage *message = dbus_message_new_method_call(destination, path, interface, member);
    dbus_message_iter_init_append(message, &arguments);
    dbus_message_iter_append_basic(&arguments, DBUS_TYPE_STRING, &name);
    append_options(&arguments, options);
    return call(bus, message);
}

static void join(DBusConnection *bus) {
    static const char *const options[] = {"preset", "shake.planar", "threshold", "2.5g", NULL};
    DBusMessage *reply = call_with_options(bus, BROKER, "/org/jostle/Broker1", BROKER, "Register", APP, nothing);
    const char *path;
    if (!reply || !dbus_message_get_args(reply, NULL, DBUS_TYPE_OBJECT_PATH, &path, DBUS_TYPE_INVALID)) return;
    snprintf(broker, sizeof broker, "%s", dbus_message_get_sender(reply));
    snprintf(app, sizeof app, "%s", path);
    dbus_message_unref(reply);
    reply = call_with_options(bus, broker, app, OBJECT, "AddDetector", "watch", options);
    if (reply) dbus_message_unref(reply);
}

static void on_event(DBusConnection *bus, DBusMessage *message) {
    DBusMessageIter arguments, event;
    uint64_t numbers[3];
    const char *detector, *answer = "consume";
    double peak;
    dbus_message_iter_init(message, &arguments);
    dbus_message_iter_recurse(&arguments, &event);
    for (int index = 0; index < 3; index++, dbus_message_iter_next(&event))
        dbus_message_iter_get_basic(&event, &numbers[index]);
    dbus_message_iter_get_basic(&event, &detector);
    dbus_message_iter_next(&event);
    dbus_message_iter_get_basic(&event, &peak);
    printf("event %" PRIu64 ": %s, peak %.2f\n", numbers[0], detector, peak);
    /* Only some events want an answer; the others do not mind one. */
    DBusMessage *ack = dbus_message_new_method_call(broker, app, OBJECT, "Ack");
    dbus_message_append_args(ack, DBUS_TYPE_UINT64, &numbers[0], DBUS_TYPE_UINT64, &numbers[1], DBUS_TYPE_STRING, &answer,
        DBUS_TYPE_INVALID);
    dbus_message_iter_init_append(ack, &arguments);
    append_options(&arguments, nothing);
    dbus_message_set_no_reply(ack, TRUE);
    dbus_connection_send(bus, ack, NULL);
    dbus_message_unref(ack);
}

/* Anybody can send us a signal: only the bus speaks of owners, and only the broker of events. */
static DBusHandlerResult received(DBusConnection *bus, DBusMessage *message, void *data) {
    const char *name, *old, *new;
    if (dbus_message_is_signal(message, DBUS_INTERFACE_DBUS, "NameOwnerChanged") &&
        dbus_message_has_sender(message, DBUS_SERVICE_DBUS) &&
        dbus_message_get_args(message, NULL, DBUS_TYPE_STRING, &name, DBUS_TYPE_STRING, &old, DBUS_TYPE_STRING, &new,
            DBUS_TYPE_INVALID) &&
        !strcmp(name, BROKER)) {
        is_new = *new != 0;
    } else if (
        dbus_message_is_signal(message, OBJECT, "Event") && dbus_message_has_signature(message, "(tttsda{sv})") &&
        dbus_message_has_sender(message, broker) && dbus_message_has_path(message, app)) {
        on_event(bus, message);
    }
    return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

int main(void) {
    DBusError error = DBUS_ERROR_INIT;
    setlinebuf(stdout);
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SESSION, &error);
    if (bus) dbus_bus_add_match(bus, MATCH, &error);
    int owned = DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER;
    if (bus && *APP) owned = dbus_bus_request_name(bus, APP, DBUS_NAME_FLAG_DO_NOT_QUEUE, &error);
    if (dbus_error_is_set(&error)) fail(error.message);
    if (owned != DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER) fail("another program has the name " APP);
    dbus_connection_add_filter(bus, received, NULL, NULL);
    do {
        /* Not in the filter: whoever waits for an answer there waits in the middle of another message. */
        if (is_new) is_new = 0, join(bus);
    } while (dbus_connection_read_write_dispatch(bus, -1));
}
