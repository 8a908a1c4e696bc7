#include "bus.h"
#include "options.h"

/* The least a daemon can be: what start-up time and memory are compared with. */
int run_daemon(const struct options *options) {
    static struct bus bus;
    if (options->name == NULL) die("daemon needs --name NAME");
    bus_open(&bus, options->bus);
    bus_request_name(&bus, options->name);
    bus_run(&bus);
    bus_close(&bus);
    return 0;
}
