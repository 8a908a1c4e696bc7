/*
 * jostle-baseline: what Jostle is measured against, in plain C on libdbus.
 *
 * It has a counterpart for each process on the road from a sample to an event, so that any of them can be replaced and
 * the rest be the same.
 */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: jostle-baseline COMMAND --bus ADDRESS [OPTION VALUE]...\n"
    "\n"
    "relay --to UNIQUE [--rate HZ] [--from NAME] [--threshold G] [--name NAME]\n"
    "    claim samples, send one event for each that is over the threshold\n"
    "publish --rate HZ --count N [--batch N] [--claimants N] [--active-every N] [--name NAME]\n"
    "    be the sensor service: wait for the claimants, then publish; every Nth sample is a shake\n"
    "subscribe --count N [--from NAME] [--timeout SECONDS]\n"
    "          [--broker --app ID [--when CONDITION | --threshold G] [--every US] [--rest US]]\n"
    "    print the unique name, receive events, print their latency\n"
    "fanout-client --mode raw [--rate HZ] [--latency US] [--threshold G] [--from NAME]\n"
    "fanout-client --mode event --app ID [--when CONDITION | --threshold G] [--every US] [--rest US] [--from NAME]\n"
    "    claim the samples, or register with the broker; print the unique name; count until SIGTERM\n"
    "daemon --name NAME [--keep FILE]\n"
    "    write a number to the file for good, own a name and do nothing until SIGTERM\n";

static int refuse(const char *what, const char *text) {
    fprintf(stderr, "jostle-baseline: %s: '%s'\n%s", what, text, usage);
    return 2;
}

static bool read_number(const char *text, double *number) {
    char *end;
    errno = 0;
    *number = strtod(text, &end);
    return errno == 0 && end != text && *end == '\0' && isfinite(*number) && *number >= 0;
}

static bool read_count(const char *text, uint64_t *count) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *count = value;
    return errno == 0 && end != text && *end == '\0' && *text >= '0' && *text <= '9';
}

/* Reads one option and its value; false if there is no such option, or it takes no such value. */
static bool read_option(struct options *options, const char *option, const char *value) {
    const struct {
        const char *option;
        const char **text;
        double *number;
        uint64_t *count;
    } known[] = {
        {"--bus", .text = &options->bus},
        {"--name", .text = &options->name},
        {"--from", .text = &options->from},
        {"--to", .text = &options->to},
        {"--app", .text = &options->app},
        {"--mode", .text = &options->mode},
        {"--keep", .text = &options->keep},
        {"--when", .text = &options->when},
        {"--rate", .number = &options->rate},
        {"--threshold", .number = &options->threshold},
        {"--count", .count = &options->count},
        {"--batch", .count = &options->batch},
        {"--claimants", .count = &options->claimants},
        {"--active-every", .count = &options->active_every},
        {"--every", .count = &options->every},
        {"--rest", .count = &options->rest},
        {"--timeout", .count = &options->timeout},
        {"--latency", .count = &options->latency},
    };
    for (size_t index = 0; index < sizeof known / sizeof *known; index++) {
        if (strcmp(option, known[index].option) != 0) continue;
        if (known[index].number != NULL) return read_number(value, known[index].number);
        if (known[index].count != NULL) return read_count(value, known[index].count);
        *known[index].text = value;
        return true;
    }
    return false;
}

int main(int count, char **arguments) {
    const struct {
        const char *name;
        int (*run)(const struct options *);
    } commands[] = {
        {"relay", run_relay},
        {"publish", run_publish},
        {"subscribe", run_subscribe},
        {"daemon", run_daemon},
        {"fanout-client", run_fanout_client},
    };
    if (count < 2) return fputs(usage, stderr), 2;
    if (strcmp(arguments[1], "--help") == 0) return fputs(usage, stdout), 0;

    struct options options = {
        .threshold = 1, .batch = 1, .claimants = 1, .active_every = 1, .rest = 1, .timeout = 120};
    for (int index = 2; index < count; index++) {
        if (strcmp(arguments[index], "--broker") == 0) {
            options.broker = true;
        } else if (index + 1 == count) {
            return refuse("the option is unknown or lacks its value", arguments[index]);
        } else if (!read_option(&options, arguments[index], arguments[index + 1])) {
            return refuse("the option is unknown or does not take this value", arguments[index]);
        } else {
            index++;
        }
    }
    if (options.bus == NULL) return refuse("missing", "--bus");
    /* By default every sample is a look of the preset, and every true look a hit: one event for each sample. */
    if (options.every == 0 && options.when == NULL) options.every = 1;
    for (size_t index = 0; index < sizeof commands / sizeof *commands; index++) {
        if (strcmp(arguments[1], commands[index].name) == 0) return commands[index].run(&options);
    }
    return refuse("unknown command", arguments[1]);
}
