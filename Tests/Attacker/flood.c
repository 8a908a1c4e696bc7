#include "attacker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_CONNECTIONS = 64,
    /* What waits in us to be written to one connection. */
    MAX_WAITING = 1 << 18,
    /* One call that adds detectors is about 64 KiB. */
    DETECTORS_OF_A_CALL = 500,
    /* As many as one call may add today, and more than it may one day. */
    MAX_BATCH = 10000,
};

/* Calls as fast as the bus takes them, over some connections. */
struct flood {
    const struct options *options;
    struct {
        struct peer peer;
        struct bytes calls[2];
        uint64_t sent;
        uint64_t answered;
        bool closed;
    } lines[MAX_CONNECTIONS];
    uint64_t sent;
    uint64_t answers;
    uint64_t errors;
    uint64_t limits;
    uint64_t detectors;
    uint64_t bytes;
    uint64_t closed;
};

/* Adds detectors in calls as large as they may be, up to this number in all; returns how many the largest call had. */
static uint64_t add_detectors(struct flood *flood, struct peer *peer, const char *object, uint64_t most) {
    uint64_t batch = most < MAX_BATCH ? most : MAX_BATCH, largest = 0;
    for (uint64_t added = 0; added < most && batch > 0;) {
        DBusMessage *answer =
            peer_answer(peer, peer_queue(peer, new_add_detectors(object, added, batch, 50, 100000, 0)), 30000000);
        if (answer == NULL) break;
        if (dbus_message_get_type(answer) == DBUS_MESSAGE_TYPE_ERROR) {
            /* Perhaps fewer may. */
            batch /= 2;
        } else {
            if (batch > largest) largest = batch;
            added += batch;
            flood->detectors += batch;
        }
        dbus_message_unref(answer);
    }
    return largest;
}

/* The two calls that one connection makes in turns. */
static void make_calls(struct flood *flood, struct peer *peer, struct bytes calls[2]) {
    const struct options *options = flood->options;
    const char *to = options->to, *kind = options->kind;
    bool broker = strcmp(to, SENSORS_NAME) != 0;
    const char *root = broker ? BROKER_PATH : SENSORS_PATH;
    const char *interface = broker ? BROKER_INTERFACE : SENSORS_INTERFACE;
    DBusMessage *first, *second = NULL;
    char object[256];
    if (strcmp(kind, "introspect") == 0) {
        first = new_call(to, root, DBUS_INTERFACE_INTROSPECTABLE, "Introspect");
        second = new_call(to, broker ? BROKER_PATH "/apps" : SENSOR_PATH, DBUS_INTERFACE_INTROSPECTABLE, "Introspect");
    } else if (strcmp(kind, "introspect-root") == 0) {
        first = new_call(to, "/", DBUS_INTERFACE_INTROSPECTABLE, "Introspect");
    } else if (strcmp(kind, "get-all") == 0) {
        first = new_get_all(to, root, interface);
        if (!broker) second = new_get_all(to, SENSOR_PATH, SENSOR_INTERFACE);
    } else if (strcmp(kind, "explain") == 0) {
        first = new_explain();
    } else if (strcmp(kind, "list") == 0) {
        first = new_plain(to, root, interface, broker ? "ListApps" : "ListSensors");
        if (broker) second = new_plain(to, root, interface, "ListTasks");
    } else if (strcmp(kind, "claim") == 0) {
        first = new_claim(50);
        second = new_claim(100);
    } else if (strcmp(kind, "claim-release") == 0) {
        first = new_claim(200);
        second = new_plain(to, SENSOR_PATH, SENSOR_INTERFACE, "Release");
    } else if (strcmp(kind, "open-stream") == 0) {
        /* Whoever takes no descriptor out of a message has closed it. */
        first = new_claim_by("OpenStream", 50);
    } else if (strcmp(kind, "refused-stream") == 0) {
        first = new_claim_by("OpenStream", -1);
    } else if (strcmp(kind, "flush") == 0) {
        DBusMessage *claim = new_claim(100);
        peer_queue(peer, claim);
        first = new_plain(to, SENSOR_PATH, SENSOR_INTERFACE, "Flush");
    } else if (strcmp(kind, "inject") == 0) {
        first = new_inject("shake peak=0.1g");
    } else if (strcmp(kind, "list-claimants") == 0) {
        first = new_list_claimants();
        second = new_get(to, SENSOR_PATH, SENSOR_INTERFACE, "Claimants");
    } else if (strcmp(kind, "ping") == 0) {
        first = new_call(to, root, DBUS_INTERFACE_PEER, "Ping");
    } else if (strcmp(kind, "get-detectors") == 0) {
        register_nameless(peer, object, sizeof object);
        add_detectors(flood, peer, object, options->detectors);
        first = new_get(to, object, APP_INTERFACE, "Detectors");
    } else if (strcmp(kind, "add-detectors") == 0) {
        register_nameless(peer, object, sizeof object);
        uint64_t batch = add_detectors(flood, peer, object, DETECTORS_OF_A_CALL);
        /* Each replaces what the other added. */
        first = new_add_detectors(object, 0, batch, 50, 100000, 0);
        second = new_add_detectors(object, 0, batch, 51, 100000, 0);
    } else if (strcmp(kind, "refused-detectors") == 0) {
        register_nameless(peer, object, sizeof object);
        first = new_refused_detectors(object, options->bytes);
    } else {
        die("flood of '%s'?", kind);
    }
    if (second == NULL) second = dbus_message_ref(first);
    /* Another service gets the same, as a measure. */
    enough(dbus_message_set_destination(first, to) && dbus_message_set_destination(second, to));
    calls[0] = wire_of(first);
    calls[1] = wire_of(second);
    dbus_message_unref(first);
    dbus_message_unref(second);
}

static void open_line(struct flood *flood, uint64_t index) {
    peer_open(&flood->lines[index].peer, flood->options->bus);
    make_calls(flood, &flood->lines[index].peer, flood->lines[index].calls);
    flood->lines[index].sent = flood->lines[index].answered = 0;
}

static void close_line(struct flood *flood, uint64_t index) {
    peer_close(&flood->lines[index].peer);
    free(flood->lines[index].calls[0].start);
    free(flood->lines[index].calls[1].start);
}

/* Queues calls until enough of them wait, here or there. */
static void call(struct flood *flood, uint64_t index) {
    const struct options *options = flood->options;
    struct peer *peer = &flood->lines[index].peer;
    uint64_t most = options->leave > 0 ? options->leave : options->count;
    while (peer->out.count < MAX_WAITING && flood->lines[index].sent < most) {
        uint64_t open = flood->lines[index].sent - flood->lines[index].answered;
        if (!options->unread && open >= options->window) return;
        peer_queue_bytes(peer, &flood->lines[index].calls[flood->lines[index].sent % 2]);
        flood->lines[index].sent++;
        flood->sent++;
    }
}

static void count_answers(struct flood *flood, uint64_t index) {
    struct peer *peer = &flood->lines[index].peer;
    size_t at = 0;
    for (struct head head; peer_head(peer, at, &head); at += head.size) {
        if (head.type == DBUS_MESSAGE_TYPE_METHOD_RETURN) {
            flood->answers++;
            flood->lines[index].answered++;
        } else if (head.type == DBUS_MESSAGE_TYPE_ERROR) {
            flood->errors++;
            flood->lines[index].answered++;
            DBusMessage *message = dbus_message_demarshal((char *)peer->in.start + at, (int)head.size, NULL);
            if (message == NULL) continue;
            if (dbus_message_is_error(message, DBUS_ERROR_LIMITS_EXCEEDED)) flood->limits++;
            dbus_message_unref(message);
        }
    }
    peer_skip(peer, at);
}

/* Serves one connection; false when the bus has closed it. */
static bool serve(struct flood *flood, uint64_t index) {
    struct peer *peer = &flood->lines[index].peer;
    call(flood, index);
    uint64_t before = peer->written;
    bool open = peer_write(peer);
    flood->bytes += peer->written - before;
    if (open && !flood->options->unread) open = peer_fill(peer);
    if (!flood->options->unread) count_answers(flood, index);
    if (open && flood->options->leave > 0 && flood->lines[index].sent >= flood->options->leave && peer->out.count == 0) {
        close_line(flood, index);
        open_line(flood, index);
    }
    return open;
}

static void run(struct flood *flood) {
    const struct options *options = flood->options;
    uint64_t deadline = now_us() + options->seconds * 1000000;
    while (now_us() < deadline) {
        struct pollfd polled[MAX_CONNECTIONS];
        for (uint64_t index = 0; index < options->connections; index++) {
            if (!flood->lines[index].closed && !serve(flood, index)) {
                /* The bus has had enough of this one. */
                flood->lines[index].closed = true;
                flood->closed++;
            }
            const struct peer *peer = &flood->lines[index].peer;
            short events = (short)((options->unread ? 0 : POLLIN) | (peer->out.count > 0 ? POLLOUT : 0));
            polled[index] = (struct pollfd){.fd = flood->lines[index].closed ? -1 : peer->socket, .events = events};
        }
        if (poll(polled, options->connections, 20) < 0 && errno != EINTR) die("poll: %s", strerror(errno));
    }
}

int run_flood(const struct options *options) {
    static struct flood flood;
    if (options->connections > MAX_CONNECTIONS) die("--connections must be at most %d", MAX_CONNECTIONS);
    flood.options = options;
    for (uint64_t index = 0; index < options->connections; index++) open_line(&flood, index);
    printf("flooding\n");
    fflush(stdout);
    run(&flood);
    printf("{\"sent\":%llu,\"bytes\":%llu,\"answers\":%llu,\"errors\":%llu,\"limits\":%llu,\"detectors\":%llu,"
           "\"closed\":%llu}\n",
           (unsigned long long)flood.sent, (unsigned long long)flood.bytes, (unsigned long long)flood.answers,
           (unsigned long long)flood.errors, (unsigned long long)flood.limits, (unsigned long long)flood.detectors,
           (unsigned long long)flood.closed);
    return 0;
}
