/*
 * A wall clock and a time zone that are set on command; to be loaded into a program by LD_PRELOAD.
 *
 * By how much they are off stands in a file that is mapped and shared, so that a test can change it at any time. The other
 * clocks go on as they do when somebody sets the time. The zone is that of the environment until the program asks for it anew.
 */
#include "clock_jump.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t none[2];
static const volatile int64_t *control = none;

__attribute__((constructor)) static void open_control(void) {
    const char *path = getenv(CLOCK_JUMP_VARIABLE);
    if (path == NULL) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    void *page = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) control = page;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += control[0];
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int result = (int)syscall(SYS_gettimeofday, now, zone);
    if (result == 0) now->tv_sec += control[0];
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) *result = now.tv_sec;
    return now.tv_sec;
}

void tzset(void) {
    void (*real)(void) = (void (*)(void))dlsym(RTLD_NEXT, "tzset");
    /* Zones of this form count the other way round. */
    char zone[32];
    snprintf(zone, sizeof zone, "HERE%+d", (int)-control[1]);
    setenv("TZ", zone, 1);
    real();
}
