#include "options.h"
#include "wire.h"

#include <stdio.h>

/* What stands between the sensor and one app when there is no broker: one comparison, one event. */
struct relay {
    struct bus bus;
    struct owner sensors;
    const char *app;
    double threshold;
    uint64_t expected;
    uint64_t samples;
    uint64_t lost;
    uint64_t refused;
    uint64_t events;
};

static void take(struct relay *relay, const struct samples *samples) {
    if (relay->expected != 0 && samples->first > relay->expected) relay->lost += samples->first - relay->expected;
    relay->expected = samples->first + (uint64_t)samples->count;
    relay->samples += (uint64_t)samples->count;
    for (int index = 0; index < samples->count; index++) {
        double value = planar(samples, index);
        if (!(value > relay->threshold)) continue;
        relay->events++;
        const struct event event = {
            .sequence = relay->events,
            .epoch = relay->events,
            .time = samples->times[index],
            .detector = "shake",
            .peak = value,
        };
        bus_send(&relay->bus, new_event(relay->app, &event));
    }
}

static DBusHandlerResult handle(DBusConnection *connection, DBusMessage *message, void *context) {
    (void)connection;
    struct relay *relay = context;
    struct samples samples;
    if (read_samples(message, &samples)) {
        if (owner_sent(&relay->sensors, message)) {
            take(relay, &samples);
        } else {
            relay->refused++;
        }
        return DBUS_HANDLER_RESULT_HANDLED;
    }
    return owner_heard(&relay->sensors, message) ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
}

int run_relay(const struct options *options) {
    static struct relay relay;
    if (options->to == NULL || !dbus_validate_bus_name(options->to, NULL)) die("relay needs --to UNIQUE");
    relay.app = options->to;
    relay.threshold = options->threshold;
    bus_open(&relay.bus, options->bus);
    enough(dbus_connection_add_filter(relay.bus.connection, handle, &relay, NULL));
    const char *from = options->from != NULL ? options->from : SENSORS_NAME;
    owner_follow(&relay.sensors, &relay.bus, from);
    bus_request_name(&relay.bus, options->name != NULL ? options->name : "org.jostle.Baseline.Relay");
    claim(&relay.bus, from, options->rate, 0);
    printf("relaying\n");
    fflush(stdout);
    bus_run(&relay.bus);
    printf("{\"samples\":%llu,\"lost\":%llu,\"refused\":%llu,\"events\":%llu,\"cpu_us\":%llu}\n",
           (unsigned long long)relay.samples, (unsigned long long)relay.lost, (unsigned long long)relay.refused,
           (unsigned long long)relay.events, (unsigned long long)cpu_us());
    bus_close(&relay.bus);
    return 0;
}
