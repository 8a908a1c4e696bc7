#include "bus.h"
#include "options.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int opened(const char *path, int flags) {
    int descriptor = open(path, flags | O_CLOEXEC, 0600);
    if (descriptor < 0) die("cannot open %s", path);
    return descriptor;
}

/* Has a number on the disk, in place of the one before, whatever happens to the power. */
static void keep(const char *path) {
    char fresh[4096], directory[4096];
    uint64_t number = (uint64_t)getpid();
    if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh) die("%s is too long", path);
    int file = opened(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    if (write(file, &number, sizeof number) != sizeof number || fdatasync(file) != 0) die("cannot write %s", fresh);
    close(file);
    if (rename(fresh, path) != 0) die("cannot rename %s", fresh);
    strcpy(directory, fresh);
    int folder = opened(dirname(directory), O_RDONLY | O_DIRECTORY);
    if (fsync(folder) != 0) die("cannot sync the directory of %s", path);
    close(folder);
}

/* The least a daemon can be: what start-up time and memory are compared with. One that keeps something has it on the disk
 * before it owns its name. */
int run_daemon(const struct options *options) {
    static struct bus bus;
    if (options->name == NULL) die("daemon needs --name NAME");
    if (options->keep != NULL) keep(options->keep);
    bus_open(&bus, options->bus);
    bus_request_name(&bus, options->name);
    bus_run(&bus);
    bus_close(&bus);
    return 0;
}
