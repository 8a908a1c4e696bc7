#include "options.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>

/* An app that measures how old a sample is when its event arrives. */
struct subscriber {
    struct bus bus;
    struct owner sender;
    uint64_t wanted;
    uint64_t received;
    uint64_t expected;
    uint64_t lost;
    /* Of these, as many as we were told of before the next event came. */
    uint64_t told;
    uint64_t refused;
    uint64_t *latencies;
};

static DBusHandlerResult handle(DBusConnection *connection, DBusMessage *message, void *context) {
    (void)connection;
    struct subscriber *subscriber = context;
    struct event event;
    struct gap gap;
    if (read_gap(message, &gap) && owner_sent(&subscriber->sender, message)) {
        subscriber->told += gap.last - gap.first + 1;
        return DBUS_HANDLER_RESULT_HANDLED;
    }
    if (!read_event(message, &event)) {
        return owner_heard(&subscriber->sender, message) ? DBUS_HANDLER_RESULT_HANDLED
                                                         : DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    }
    uint64_t now = boottime_us();
    if (!owner_sent(&subscriber->sender, message)) {
        subscriber->refused++;
        return DBUS_HANDLER_RESULT_HANDLED;
    }
    if (subscriber->expected != 0 && event.sequence > subscriber->expected) {
        subscriber->lost += event.sequence - subscriber->expected;
    }
    subscriber->expected = event.sequence + 1;
    if (subscriber->received < subscriber->wanted) {
        subscriber->latencies[subscriber->received++] = now > event.time ? now - event.time : 0;
    }
    if (subscriber->received == subscriber->wanted) bus_end(&subscriber->bus);
    return DBUS_HANDLER_RESULT_HANDLED;
}

static void time_out(void *context, uint64_t expirations) {
    (void)expirations;
    bus_end(&((struct subscriber *)context)->bus);
}

static int ascending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The value that this share of all does not exceed. */
static unsigned long long quantile(const struct subscriber *subscriber, double share) {
    if (subscriber->received == 0) return 0;
    uint64_t index = (uint64_t)(share * (double)subscriber->received);
    return subscriber->latencies[index < subscriber->received ? index : subscriber->received - 1];
}

int run_subscribe(const struct options *options) {
    static struct subscriber subscriber;
    if (options->count == 0 || options->count > 100000000) die("--count must be between 1 and 100000000");
    if (options->broker && options->app == NULL) die("subscribe --broker needs --app ID");
    if (options->timeout > 86400) die("--timeout must be at most a day");
    subscriber.wanted = options->count;
    subscriber.latencies = calloc(options->count, sizeof *subscriber.latencies);
    enough(subscriber.latencies != NULL);
    subscriber.bus.timer_fired = time_out;
    subscriber.bus.context = &subscriber;
    bus_open(&subscriber.bus, options->bus);
    bus_start_timer(&subscriber.bus, monotonic_ns() + options->timeout * 1000000000, 0);
    enough(dbus_connection_add_filter(subscriber.bus.connection, handle, &subscriber, NULL));
    const char *usual = options->broker ? BROKER_NAME : "org.jostle.Baseline.Relay";
    owner_follow(&subscriber.sender, &subscriber.bus, options->from != NULL ? options->from : usual);
    if (options->broker) {
        const struct detector detector = {
            .when = options->when,
            .threshold = options->threshold,
            .every = options->every,
            .rest = options->rest,
        };
        register_app(&subscriber.bus, options->app, &detector);
    }
    printf("%s\n", dbus_bus_get_unique_name(subscriber.bus.connection));
    fflush(stdout);
    bus_run(&subscriber.bus);

    unsigned long long cpu = cpu_us();
    qsort(subscriber.latencies, subscriber.received, sizeof *subscriber.latencies, ascending);
    printf("{\"events\":%llu,\"lost\":%llu,\"told\":%llu,\"refused\":%llu,\"min_us\":%llu,\"p50_us\":%llu,\"p90_us\":%llu,"
           "\"p99_us\":%llu,\"max_us\":%llu,\"cpu_us\":%llu}\n",
           (unsigned long long)subscriber.received, (unsigned long long)subscriber.lost,
           (unsigned long long)subscriber.told, (unsigned long long)subscriber.refused, quantile(&subscriber, 0), quantile(&subscriber, 0.5),
           quantile(&subscriber, 0.9), quantile(&subscriber, 0.99), quantile(&subscriber, 1),
           cpu);
    bus_close(&subscriber.bus);
    free(subscriber.latencies);
    return subscriber.received == subscriber.wanted ? 0 : 1;
}
