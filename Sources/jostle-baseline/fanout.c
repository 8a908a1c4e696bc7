#include "options.h"
#include "wire.h"

#include <stdio.h>
#include <string.h>

/* One of many apps: it evaluates the samples itself, or leaves that to the broker. */
struct client {
    struct bus bus;
    struct owner sender;
    double threshold;
    uint64_t samples;
    uint64_t events;
    uint64_t refused;
};

static DBusHandlerResult unless_news(struct client *client, DBusMessage *message) {
    return owner_heard(&client->sender, message) ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

static DBusHandlerResult handle_samples(DBusConnection *connection, DBusMessage *message, void *context) {
    (void)connection;
    struct client *client = context;
    struct samples samples;
    if (!read_samples(message, &samples)) {
        return unless_news(client, message);
    }
    if (!owner_sent(&client->sender, message)) {
        client->refused++;
        return DBUS_HANDLER_RESULT_HANDLED;
    }
    client->samples += (uint64_t)samples.count;
    for (int index = 0; index < samples.count; index++) {
        if (planar(&samples, index) > client->threshold) client->events++;
    }
    return DBUS_HANDLER_RESULT_HANDLED;
}

static DBusHandlerResult handle_event(DBusConnection *connection, DBusMessage *message, void *context) {
    (void)connection;
    struct client *client = context;
    struct event event;
    if (!read_event(message, &event)) {
        return unless_news(client, message);
    }
    if (owner_sent(&client->sender, message)) {
        client->events++;
    } else {
        client->refused++;
    }
    return DBUS_HANDLER_RESULT_HANDLED;
}

int run_fanout_client(const struct options *options) {
    static struct client client;
    bool raw = options->mode != NULL && strcmp(options->mode, "raw") == 0;
    if (!raw && (options->mode == NULL || strcmp(options->mode, "event") != 0)) die("--mode must be raw or event");
    if (!raw && options->app == NULL) die("fanout-client --mode event needs --app ID");
    client.threshold = options->threshold;
    bus_open(&client.bus, options->bus);
    const char *usual = raw ? SENSORS_NAME : BROKER_NAME;
    const char *from = options->from != NULL ? options->from : usual;
    enough(dbus_connection_add_filter(client.bus.connection, raw ? handle_samples : handle_event, &client, NULL));
    owner_follow(&client.sender, &client.bus, from);
    if (raw) {
        claim(&client.bus, from, options->rate, options->latency);
    } else {
        const struct detector detector = {
            .when = options->when,
            .threshold = options->threshold,
            .every = options->every,
            .rest = options->rest,
        };
        register_app(&client.bus, options->app, &detector);
    }
    printf("%s\n", dbus_bus_get_unique_name(client.bus.connection));
    fflush(stdout);
    bus_run(&client.bus);
    printf("{\"samples\":%llu,\"events\":%llu,\"refused\":%llu,\"cpu_us\":%llu}\n",
           (unsigned long long)client.samples, (unsigned long long)client.events, (unsigned long long)client.refused,
           (unsigned long long)cpu_us());
    bus_close(&client.bus);
    return 0;
}
