#include "attacker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* At once under way, so that the bus and the daemon are asked for many things in one go. */
enum { AT_ONCE = 64, DETECTORS_OF_A_CALL = 64 };

/* As many descriptors as we may have: one for each connection. */
static void want_descriptors(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Asks for the answer to a call; dies when it is an error. */
static void must_work(struct peer *peer, uint32_t serial, const char *what) {
    DBusMessage *answer = peer_answer(peer, serial, 60000000);
    if (answer == NULL) die("%s: no answer", what);
    if (dbus_message_get_type(answer) == DBUS_MESSAGE_TYPE_ERROR) die("%s: %s", what, dbus_message_get_error_name(answer));
    dbus_message_unref(answer);
}

static uint32_t queue_name(struct peer *peer, const char *name) {
    DBusMessage *message = new_call(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS, "RequestName");
    const dbus_uint32_t do_not_queue = 4;
    enough(dbus_message_append_args(message, DBUS_TYPE_STRING, &name, DBUS_TYPE_UINT32, &do_not_queue, DBUS_TYPE_INVALID));
    return peer_queue(peer, message);
}

/* Registers some apps, under names of their own if there is a prefix for them, with their detectors. */
static void add_apps(const struct options *options, struct peer *peers, uint64_t first, uint64_t count) {
    uint32_t serials[AT_ONCE];
    char name[64];
    static char objects[AT_ONCE][256];
    for (uint64_t index = 0; index < count; index++) {
        if (options->app == NULL) {
            register_nameless(&peers[index], objects[index], sizeof objects[index]);
            continue;
        }
        snprintf(objects[index], sizeof objects[index], BROKER_PATH "/apps/org_2eexample_2e%s%llu", options->app,
                 (unsigned long long)(first + index));
        snprintf(name, sizeof name, "org.example.%s%llu", options->app, (unsigned long long)(first + index));
        queue_name(&peers[index], name);
        serials[index] = peer_queue(&peers[index], new_register(name));
        if (!peer_write(&peers[index])) die("the bus closed the connection");
    }
    for (uint64_t index = 0; index < count && options->app != NULL; index++) {
        must_work(&peers[index], serials[index], "Register");
    }
    for (uint64_t added = 0; added < options->detectors; added += DETECTORS_OF_A_CALL) {
        uint64_t some = options->detectors - added < DETECTORS_OF_A_CALL ? options->detectors - added : DETECTORS_OF_A_CALL;
        for (uint64_t index = 0; index < count; index++) {
            serials[index] = peer_queue(&peers[index],
                                        new_add_detectors(objects[index], added, some, (double)options->threshold / 1000,
                                                          100000, options->rest));
            if (!peer_write(&peers[index])) die("the bus closed the connection");
        }
        for (uint64_t index = 0; index < count; index++) must_work(&peers[index], serials[index], "AddDetectors");
    }
}

static void add_claimants(struct peer *peers, uint64_t count) {
    uint32_t serials[AT_ONCE];
    for (uint64_t index = 0; index < count; index++) {
        serials[index] = peer_queue(&peers[index], new_claim(1));
        if (!peer_write(&peers[index])) die("the bus closed the connection");
    }
    for (uint64_t index = 0; index < count; index++) must_work(&peers[index], serials[index], "Claim");
}

/* Many who are there, and do nothing more: apps of the broker or claimants of the reader. Whoever ends this program makes
   them all leave in one moment. */
int run_crowd(const struct options *options) {
    bool apps = strcmp(options->kind, "apps") == 0;
    if (!apps && strcmp(options->kind, "claimants") != 0) die("crowd of what? apps or claimants, not '%s'", options->kind);
    want_descriptors();
    struct peer *peers = calloc(options->connections, sizeof *peers);
    enough(peers != NULL);
    for (uint64_t first = 0; first < options->connections; first += AT_ONCE) {
        uint64_t count = options->connections - first < AT_ONCE ? options->connections - first : AT_ONCE;
        for (uint64_t index = first; index < first + count; index++) peer_open(&peers[index], options->bus);
        if (apps) {
            add_apps(options, peers + first, first, count);
        } else {
            add_claimants(peers + first, count);
        }
    }
    printf("there\n");
    fflush(stdout);
    for (;;) pause();
}
