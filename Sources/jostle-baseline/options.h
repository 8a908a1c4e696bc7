#ifndef JOSTLE_BASELINE_OPTIONS_H
#define JOSTLE_BASELINE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Every option of every command; a command reads those it has. */
struct options {
    const char *bus;
    const char *name;
    const char *from;
    const char *to;
    const char *app;
    const char *mode;
    const char *when;
    const char *keep;
    double rate;
    double threshold;
    uint64_t count;
    uint64_t batch;
    uint64_t claimants;
    uint64_t active_every;
    uint64_t every;
    uint64_t rest;
    uint64_t timeout;
    uint64_t latency;
    bool broker;
};

/* The commands; each returns the exit status. */
int run_relay(const struct options *options);
int run_publish(const struct options *options);
int run_subscribe(const struct options *options);
int run_daemon(const struct options *options);
int run_fanout_client(const struct options *options);

#endif
