/*
 * test-attacker: a peer that does to others what a peer can do, for so long and so often as it is told.
 *
 * Its last line is one object of whole numbers.
 */
#include "attacker.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: test-attacker COMMAND [KIND] --bus ADDRESS [OPTION VALUE]...\n"
    "\n"
    "forge KIND --to NAME [--count N] [--app ID]\n"
    "    answer the calls that NAME makes to others, before they do and after; KIND is what makes it call:\n"
    "    register (as the app that is ID's), claim, detector, or nothing\n"
    "flood KIND [--to NAME] [--connections N] [--window N] [--unread] [--count N] [--leave N] [--detectors N]\n"
    "           [--bytes N]\n"
    "    call as fast as can be: introspect, introspect-root, get-all, explain, list, ping, get-detectors, add-detectors,\n"
    "    refused-detectors (so many bytes of them); and the reader: claim, claim-release, open-stream,\n"
    "    refused-stream, flush, inject, list-claimants;\n"
    "    with so many unanswered, or without reading any answer; leave after so many and come back\n"
    "crowd KIND --connections N [--app PREFIX] [--detectors N] [--threshold MILLI-G] [--rest US]\n"
    "    be so many apps, each with detectors, or so many claimants, until SIGTERM: all leave in one moment\n"
    "ping --to NAME\n"
    "    measure how long Ping takes, every 50 ms\n"
    "rules --count N\n"
    "    ask the bus for so many kinds of signals\n"
    "watchdog\n"
    "    be the service manager at the socket that --bus names, and say at SIGTERM how far its pings were apart\n"
    "\n"
    "All take --seconds N, and --user UID to become another user first.\n";

static uint64_t number(const char *option, const char *text) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') die("%s must be a number, not '%s'", option, text);
    return value;
}

static void read_option(struct options *options, const char *name, const char *value) {
    const struct {
        const char *name;
        const char **text;
        uint64_t *number;
    } known[] = {
        {"--bus", &options->bus, NULL},
        {"--to", &options->to, NULL},
        {"--app", &options->app, NULL},
        {"--seconds", NULL, &options->seconds},
        {"--connections", NULL, &options->connections},
        {"--count", NULL, &options->count},
        {"--window", NULL, &options->window},
        {"--detectors", NULL, &options->detectors},
        {"--leave", NULL, &options->leave},
        {"--rest", NULL, &options->rest},
        {"--threshold", NULL, &options->threshold},
        {"--bytes", NULL, &options->bytes},
        {"--user", NULL, (uint64_t *)&options->user},
    };
    for (size_t index = 0; index < sizeof known / sizeof *known; index++) {
        if (strcmp(name, known[index].name) != 0) continue;
        if (value == NULL) die("%s needs a value", name);
        if (known[index].text != NULL) {
            *known[index].text = value;
        } else {
            *known[index].number = number(name, value);
        }
        return;
    }
    die("unknown option '%s'", name);
}

static void become(uid_t user) {
    if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0) {
        die("cannot become user %u: %s", user, strerror(errno));
    }
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        int (*run)(const struct options *options);
    } commands[] = {
        {"forge", run_forge}, {"flood", run_flood}, {"crowd", run_crowd},
        {"ping", run_ping},   {"rules", run_rules}, {"watchdog", run_watchdog},
    };
    struct options options = {
        .kind = "nothing", .seconds = 60, .connections = 1, .count = UINT64_MAX, .window = 512, .detectors = 20000,
        .user = -1, .threshold = 500, .bytes = 65536,
    };
    if (count < 2) {
        fputs(usage, stderr);
        return 2;
    }
    int index = 2;
    if (index < count && arguments[index][0] != '-') options.kind = arguments[index++];
    while (index < count) {
        const char *name = arguments[index++];
        if (strcmp(name, "--unread") == 0) {
            options.unread = true;
        } else {
            read_option(&options, name, index < count ? arguments[index] : NULL);
            index++;
        }
    }
    if (options.bus == NULL) die("--bus is missing");
    if (options.user >= 0) become((uid_t)options.user);
    for (size_t command = 0; command < sizeof commands / sizeof *commands; command++) {
        if (strcmp(arguments[1], commands[command].name) != 0) continue;
        if (options.to == NULL && commands[command].run == run_flood) options.to = BROKER_NAME;
        return commands[command].run(&options);
    }
    fputs(usage, stderr);
    return 2;
}
