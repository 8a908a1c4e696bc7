#include "options.h"
#include "wire.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CLAIMANTS = 1024 };

/* A sensor service as far as claimants see one: they claim, and samples come at a fixed pace. */
struct publisher {
    struct bus bus;
    char claimants[MAX_CLAIMANTS][MAX_NAME];
    uint64_t claimant_count;
    uint64_t wanted_claimants;
    bool running;
    double rate;
    uint64_t count;
    uint64_t active_every;
    int batch;
    /* Taken and not yet sent. */
    int pending;
    uint64_t times[MAX_BATCH];
    double values[MAX_BATCH * CHANNELS];
    uint64_t taken;
    uint64_t late;
    uint32_t random;
};

/* Noise of ±0.05 g, the same in every run. */
static double noise(struct publisher *publisher) {
    publisher->random = publisher->random * 1664525 + 1013904223;
    return ((publisher->random >> 8) / 16777216.0 - 0.5) * 0.1;
}

static void send_pending(struct publisher *publisher) {
    const struct samples samples = {
        .first = publisher->taken - (uint64_t)publisher->pending + 1,
        .count = publisher->pending,
        .times = publisher->times,
        .values = publisher->values,
    };
    for (uint64_t index = 0; index < publisher->claimant_count; index++) {
        bus_send(&publisher->bus, new_samples(publisher->claimants[index], &samples));
    }
    publisher->pending = 0;
}

static uint64_t period_ns(const struct publisher *publisher) {
    return (uint64_t)(1e9 / publisher->rate + 0.5);
}

static void take_sample(struct publisher *publisher, uint64_t due_us) {
    int index = publisher->pending++;
    bool active = publisher->taken % publisher->active_every == 0;
    publisher->taken++;
    double *row = &publisher->values[index * CHANNELS];
    row[0] = (active ? 3 : 0) + noise(publisher);
    row[1] = noise(publisher);
    row[2] = 1 + noise(publisher);
    publisher->times[index] = due_us;
    if (publisher->pending == publisher->batch || publisher->taken == publisher->count) send_pending(publisher);
}

static void tick(void *context, uint64_t expirations) {
    struct publisher *publisher = context;
    publisher->late += expirations - 1;
    /* What the timer held up was due before: a sample's age counts from then, and no two are of one time. */
    uint64_t now = boottime_us(), period = period_ns(publisher) / 1000;
    while (expirations-- > 0 && publisher->taken < publisher->count) take_sample(publisher, now - expirations * period);
    if (publisher->taken == publisher->count) bus_end(&publisher->bus);
}

static void start_if_complete(struct publisher *publisher) {
    if (publisher->running || publisher->claimant_count < publisher->wanted_claimants) return;
    publisher->running = true;
    bus_start_timer(&publisher->bus, monotonic_ns() + period_ns(publisher), period_ns(publisher));
}

static void release(struct publisher *publisher, const char *unique) {
    for (uint64_t index = 0; index < publisher->claimant_count; index++) {
        if (strcmp(publisher->claimants[index], unique) != 0) continue;
        publisher->claimant_count--;
        memcpy(publisher->claimants[index], publisher->claimants[publisher->claimant_count], MAX_NAME);
        return;
    }
}

static DBusMessage *answer_claim(struct publisher *publisher, DBusMessage *call) {
    const char *sender = dbus_message_get_sender(call);
    if (!dbus_message_has_signature(call, "a{sv}")) {
        return dbus_message_new_error(call, DBUS_ERROR_INVALID_ARGS, "Claim takes a{sv}");
    }
    release(publisher, sender);
    if (publisher->claimant_count == MAX_CLAIMANTS) {
        return dbus_message_new_error(call, DBUS_ERROR_LIMITS_EXCEEDED, "too many claimants");
    }
    snprintf(publisher->claimants[publisher->claimant_count], MAX_NAME, "%s", sender);
    publisher->claimant_count++;

    DBusMessage *reply = dbus_message_new_method_return(call);
    enough(reply != NULL);
    DBusMessageIter arguments, results;
    dbus_message_iter_init_append(reply, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "{sv}", &results));
    append_double_option(&results, "rate", publisher->rate);
    append_count_option(&results, "batch-latency", (uint64_t)(publisher->batch - 1) * period_ns(publisher) / 1000);
    enough(dbus_message_iter_close_container(&arguments, &results));
    return reply;
}

static const char introspection[] = DBUS_INTROSPECT_1_0_XML_DOCTYPE_DECL_NODE
    "<node>\n"
    "  <interface name=\"" SENSOR_INTERFACE "\">\n"
    "    <method name=\"Claim\">\n"
    "      <arg name=\"options\" type=\"a{sv}\" direction=\"in\"/>\n"
    "      <arg name=\"results\" type=\"a{sv}\" direction=\"out\"/>\n"
    "    </method>\n"
    "    <method name=\"Release\"><arg name=\"options\" type=\"a{sv}\" direction=\"in\"/></method>\n"
    "    <signal name=\"Samples\"><arg name=\"samples\" type=\"(tatad)\"/></signal>\n"
    "    <property name=\"Channels\" type=\"as\" access=\"read\"/>\n"
    "    <property name=\"Unit\" type=\"s\" access=\"read\"/>\n"
    "    <property name=\"Range\" type=\"d\" access=\"read\"/>\n"
    "    <property name=\"Rates\" type=\"ad\" access=\"read\"/>\n"
    "  </interface>\n"
    "</node>\n";

static DBusMessage *answer_introspect(DBusMessage *call) {
    DBusMessage *reply = dbus_message_new_method_return(call);
    enough(reply != NULL);
    const char *text = introspection;
    enough(dbus_message_append_args(reply, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID));
    return reply;
}

static void open_entry(DBusMessageIter *entries, const char *key, const char *signature, DBusMessageIter *entry,
                       DBusMessageIter *value) {
    enough(dbus_message_iter_open_container(entries, DBUS_TYPE_DICT_ENTRY, NULL, entry));
    enough(dbus_message_iter_append_basic(entry, DBUS_TYPE_STRING, &key));
    enough(dbus_message_iter_open_container(entry, DBUS_TYPE_VARIANT, signature, value));
}

static void close_entry(DBusMessageIter *entries, DBusMessageIter *entry, DBusMessageIter *value) {
    enough(dbus_message_iter_close_container(entry, value));
    enough(dbus_message_iter_close_container(entries, entry));
}

static void append_text_entry(DBusMessageIter *entries, const char *key, const char *text) {
    DBusMessageIter entry, value;
    open_entry(entries, key, "s", &entry, &value);
    enough(dbus_message_iter_append_basic(&value, DBUS_TYPE_STRING, &text));
    close_entry(entries, &entry, &value);
}

static void append_channels(DBusMessageIter *entries, const char *key) {
    const char *const channels[CHANNELS] = {"x", "y", "z"};
    DBusMessageIter entry, value, array;
    open_entry(entries, key, "as", &entry, &value);
    enough(dbus_message_iter_open_container(&value, DBUS_TYPE_ARRAY, "s", &array));
    for (int index = 0; index < CHANNELS; index++) {
        enough(dbus_message_iter_append_basic(&array, DBUS_TYPE_STRING, &channels[index]));
    }
    enough(dbus_message_iter_close_container(&value, &array));
    close_entry(entries, &entry, &value);
}

static void append_rates(const struct publisher *publisher, DBusMessageIter *entries, const char *key) {
    const double *rates = &publisher->rate;
    DBusMessageIter entry, value, array;
    open_entry(entries, key, "ad", &entry, &value);
    enough(dbus_message_iter_open_container(&value, DBUS_TYPE_ARRAY, "d", &array));
    enough(dbus_message_iter_append_fixed_array(&array, DBUS_TYPE_DOUBLE, &rates, 1));
    enough(dbus_message_iter_close_container(&value, &array));
    close_entry(entries, &entry, &value);
}

static DBusMessage *answer_get_all(struct publisher *publisher, DBusMessage *call) {
    DBusMessage *reply = dbus_message_new_method_return(call);
    enough(reply != NULL);
    DBusMessageIter arguments, entries;
    dbus_message_iter_init_append(reply, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "{sv}", &entries));
    append_channels(&entries, "Channels");
    append_text_entry(&entries, "Unit", "g");
    append_double_option(&entries, "Range", 16);
    append_rates(publisher, &entries, "Rates");
    enough(dbus_message_iter_close_container(&arguments, &entries));
    return reply;
}

/* The root's answer: one sensor, which is all that the broker has to know before it claims. */
static DBusMessage *answer_list(struct publisher *publisher, DBusMessage *call) {
    DBusMessage *reply = dbus_message_new_method_return(call);
    enough(reply != NULL);
    DBusMessageIter arguments, sensors, sensor, entries;
    dbus_message_iter_init_append(reply, &arguments);
    enough(dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "(oa{sv})", &sensors));
    enough(dbus_message_iter_open_container(&sensors, DBUS_TYPE_STRUCT, NULL, &sensor));
    const char *path = SENSOR_PATH;
    enough(dbus_message_iter_append_basic(&sensor, DBUS_TYPE_OBJECT_PATH, &path));
    enough(dbus_message_iter_open_container(&sensor, DBUS_TYPE_ARRAY, "{sv}", &entries));
    append_text_entry(&entries, "name", "accelerometer");
    append_channels(&entries, "channels");
    append_text_entry(&entries, "unit", "g");
    append_double_option(&entries, "range", 16);
    append_rates(publisher, &entries, "rates");
    enough(dbus_message_iter_close_container(&sensor, &entries));
    enough(dbus_message_iter_close_container(&sensors, &sensor));
    enough(dbus_message_iter_close_container(&arguments, &sensors));
    return reply;
}

static DBusHandlerResult answer(DBusConnection *connection, DBusMessage *call, void *context) {
    (void)connection;
    struct publisher *publisher = context;
    DBusMessage *reply;
    if (dbus_message_is_method_call(call, SENSOR_INTERFACE, "Claim")) {
        reply = answer_claim(publisher, call);
    } else if (dbus_message_is_method_call(call, SENSOR_INTERFACE, "Release")) {
        release(publisher, dbus_message_get_sender(call));
        reply = dbus_message_new_method_return(call);
    } else if (dbus_message_is_method_call(call, SENSORS_INTERFACE, "ListSensors")) {
        reply = answer_list(publisher, call);
    } else if (dbus_message_is_method_call(call, DBUS_INTERFACE_INTROSPECTABLE, "Introspect")) {
        reply = answer_introspect(call);
    } else if (dbus_message_is_method_call(call, DBUS_INTERFACE_PROPERTIES, "GetAll")) {
        reply = answer_get_all(publisher, call);
    } else {
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    }
    /* The reply first: a claimant must know of its claim before samples come. */
    bus_send(&publisher->bus, reply);
    start_if_complete(publisher);
    return DBUS_HANDLER_RESULT_HANDLED;
}

/* A claimant that left the bus claims nothing any more. */
static DBusHandlerResult notice_departure(DBusConnection *connection, DBusMessage *message, void *context) {
    (void)connection;
    const char *name, *before, *after;
    if (dbus_message_is_signal(message, DBUS_INTERFACE_DBUS, "NameOwnerChanged") &&
        dbus_message_has_sender(message, DBUS_SERVICE_DBUS) &&
        dbus_message_get_args(message, NULL, DBUS_TYPE_STRING, &name, DBUS_TYPE_STRING, &before, DBUS_TYPE_STRING,
                              &after, DBUS_TYPE_INVALID) &&
        after[0] == '\0') {
        release(context, name);
    }
    return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

int run_publish(const struct options *options) {
    static struct publisher publisher;
    if (options->rate < 0.001 || options->rate > 1e6) die("--rate must be between 0.001 and 1000000");
    if (options->count == 0) die("publish needs --count");
    if (options->batch < 1 || options->batch > MAX_BATCH) die("--batch must be between 1 and %d", MAX_BATCH);
    if (options->active_every == 0) die("--active-every must be at least 1");
    publisher.rate = options->rate;
    publisher.count = options->count;
    publisher.batch = (int)options->batch;
    publisher.wanted_claimants = options->claimants;
    publisher.active_every = options->active_every;
    publisher.random = 1;
    publisher.bus.timer_fired = tick;
    publisher.bus.context = &publisher;
    bus_open(&publisher.bus, options->bus);
    const DBusObjectPathVTable table = {.message_function = answer};
    enough(dbus_connection_register_object_path(publisher.bus.connection, SENSORS_PATH, &table, &publisher));
    enough(dbus_connection_register_object_path(publisher.bus.connection, SENSOR_PATH, &table, &publisher));
    enough(dbus_connection_add_filter(publisher.bus.connection, notice_departure, &publisher, NULL));
    dbus_bus_add_match(publisher.bus.connection,
                       "type='signal',sender='" DBUS_SERVICE_DBUS "',member='NameOwnerChanged',arg2=''", NULL);
    bus_request_name(&publisher.bus, options->name != NULL ? options->name : SENSORS_NAME);
    bus_run(&publisher.bus);
    /* Closing sends what is queued; the processor time is read after it. */
    bus_close(&publisher.bus);
    printf("{\"published\":%llu,\"late\":%llu,\"cpu_us\":%llu}\n", (unsigned long long)publisher.taken,
           (unsigned long long)publisher.late, (unsigned long long)cpu_us());
    return publisher.taken == publisher.count ? 0 : 1;
}
