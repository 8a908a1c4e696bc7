#include "attacker.h"

#include <stdio.h>
#include <string.h>

DBusMessage *new_call(const char *to, const char *path, const char *interface, const char *member) {
    DBusMessage *message = dbus_message_new_method_call(to, path, interface, member);
    enough(message != NULL);
    return message;
}

void append_option(DBusMessageIter *options, const char *key, int type, const void *value) {
    DBusMessageIter entry, variant;
    const char signature[] = {(char)type, '\0'};
    enough(dbus_message_iter_open_container(options, DBUS_TYPE_DICT_ENTRY, NULL, &entry));
    enough(dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &key));
    enough(dbus_message_iter_open_container(&entry, DBUS_TYPE_VARIANT, signature, &variant));
    enough(dbus_message_iter_append_basic(&variant, type, value));
    enough(dbus_message_iter_close_container(&entry, &variant));
    enough(dbus_message_iter_close_container(options, &entry));
}

static void append_no_options(DBusMessageIter *arguments) {
    DBusMessageIter options;
    enough(dbus_message_iter_open_container(arguments, DBUS_TYPE_ARRAY, "{sv}", &options));
    enough(dbus_message_iter_close_container(arguments, &options));
}

/* A call whose arguments are followed by options, of which there are none. */
static DBusMessage *with_no_options(DBusMessage *message) {
    DBusMessageIter arguments;
    dbus_message_iter_init_append(message, &arguments);
    append_no_options(&arguments);
    return message;
}

DBusMessage *new_plain(const char *to, const char *path, const char *interface, const char *member) {
    return with_no_options(new_call(to, path, interface, member));
}

DBusMessage *new_register(const char *app) {
    DBusMessage *message = new_call(BROKER_NAME, BROKER_PATH, BROKER_INTERFACE, "Register");
    DBusMessageIter arguments;
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_append_basic(&arguments, DBUS_TYPE_STRING, &app));
    append_no_options(&arguments);
    return message;
}

DBusMessage *new_add_detectors(const char *object, uint64_t first, uint64_t count, double threshold, uint64_t every_us,
                               uint64_t rest_us) {
    DBusMessage *message = new_call(BROKER_NAME, object, APP_INTERFACE, "AddDetectors");
    DBusMessageIter arguments, detectors, entry, options;
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "(sa{sv})", &detectors));
    for (uint64_t number = first; number < first + count; number++) {
        char name[32];
        snprintf(name, sizeof name, "d%06llu", (unsigned long long)number);
        const char *text = name, *preset = "shake.magnitude";
        /* No two are alike, so that each costs what one costs. */
        const double own = threshold + (double)(number % 100000) / 1e6;
        const dbus_uint64_t every = every_us, rest = rest_us;
        enough(dbus_message_iter_open_container(&detectors, DBUS_TYPE_STRUCT, NULL, &entry));
        enough(dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &text));
        enough(dbus_message_iter_open_container(&entry, DBUS_TYPE_ARRAY, "{sv}", &options));
        append_option(&options, "preset", DBUS_TYPE_STRING, &preset);
        append_option(&options, "threshold", DBUS_TYPE_DOUBLE, &own);
        append_option(&options, "every", DBUS_TYPE_UINT64, &every);
        if (rest_us != 0) append_option(&options, "rest", DBUS_TYPE_UINT64, &rest);
        enough(dbus_message_iter_close_container(&entry, &options));
        enough(dbus_message_iter_close_container(&detectors, &entry));
    }
    enough(dbus_message_iter_close_container(&arguments, &detectors));
    return message;
}

DBusMessage *new_refused_detectors(const char *object, uint64_t bytes) {
    DBusMessage *message = new_call(BROKER_NAME, object, APP_INTERFACE, "AddDetectors");
    DBusMessageIter arguments, detectors, entry, options;
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "(sa{sv})", &detectors));
    /* What one takes: a name, the length of its options, and one of these. */
    for (uint64_t written = 0; written + 48 <= bytes; written += 48) {
        const char *name = "a";
        const dbus_uint64_t rest = written;
        enough(dbus_message_iter_open_container(&detectors, DBUS_TYPE_STRUCT, NULL, &entry));
        enough(dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &name));
        enough(dbus_message_iter_open_container(&entry, DBUS_TYPE_ARRAY, "{sv}", &options));
        append_option(&options, "rest", DBUS_TYPE_UINT64, &rest);
        enough(dbus_message_iter_close_container(&entry, &options));
        enough(dbus_message_iter_close_container(&detectors, &entry));
    }
    enough(dbus_message_iter_close_container(&arguments, &detectors));
    return message;
}

DBusMessage *new_remove_detector(const char *object, uint64_t number) {
    char name[32];
    snprintf(name, sizeof name, "d%06llu", (unsigned long long)number);
    const char *text = name, *const *names = &text;
    DBusMessage *message = new_call(BROKER_NAME, object, APP_INTERFACE, "RemoveDetectors");
    enough(dbus_message_append_args(message, DBUS_TYPE_ARRAY, DBUS_TYPE_STRING, &names, 1, DBUS_TYPE_INVALID));
    return with_no_options(message);
}

DBusMessage *new_get(const char *to, const char *path, const char *interface, const char *property) {
    DBusMessage *message = new_call(to, path, DBUS_INTERFACE_PROPERTIES, "Get");
    enough(dbus_message_append_args(message, DBUS_TYPE_STRING, &interface, DBUS_TYPE_STRING, &property,
                                    DBUS_TYPE_INVALID));
    return message;
}

DBusMessage *new_get_all(const char *to, const char *path, const char *interface) {
    DBusMessage *message = new_call(to, path, DBUS_INTERFACE_PROPERTIES, "GetAll");
    enough(dbus_message_append_args(message, DBUS_TYPE_STRING, &interface, DBUS_TYPE_INVALID));
    return message;
}

DBusMessage *new_inject(const char *motion) {
    DBusMessage *message = new_call(SENSORS_NAME, SENSOR_PATH, SENSOR_INTERFACE, "Inject");
    enough(dbus_message_append_args(message, DBUS_TYPE_STRING, &motion, DBUS_TYPE_INVALID));
    return with_no_options(message);
}

DBusMessage *new_list_claimants(void) {
    return new_plain(SENSORS_NAME, SENSOR_PATH, SENSOR_INTERFACE, "ListClaimants");
}

DBusMessage *new_explain(void) {
    DBusMessage *message = new_call(BROKER_NAME, BROKER_PATH, BROKER_INTERFACE, "Explain");
    const dbus_uint64_t newest = 0;
    DBusMessageIter arguments;
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_append_basic(&arguments, DBUS_TYPE_UINT64, &newest));
    append_no_options(&arguments);
    return message;
}

DBusMessage *new_claim(double rate) {
    return new_claim_by("Claim", rate);
}

DBusMessage *new_claim_by(const char *member, double rate) {
    DBusMessage *message = new_call(SENSORS_NAME, SENSOR_PATH, SENSOR_INTERFACE, member);
    DBusMessageIter arguments, options;
    dbus_message_iter_init_append(message, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "{sv}", &options));
    append_option(&options, "rate", DBUS_TYPE_DOUBLE, &rate);
    enough(dbus_message_iter_close_container(&arguments, &options));
    return message;
}

void register_nameless(struct peer *peer, char *object, size_t room) {
    DBusMessage *answer = peer_answer(peer, peer_queue(peer, new_register("")), 20000000);
    const char *path;
    DBusMessageIter arguments;
    if (answer == NULL || !dbus_message_has_signature(answer, "oa{sv}")) die("Register: no object");
    dbus_message_iter_init(answer, &arguments);
    dbus_message_iter_get_basic(&arguments, &path);
    snprintf(object, room, "%s", path);
    dbus_message_unref(answer);
}
