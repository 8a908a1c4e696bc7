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
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
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

/* A timer of the wall clock is there only to say that the clock is set: the file that does it is watched instead. */
int timerfd_create(clockid_t clock, int flags) {
    const char *path = getenv(CLOCK_JUMP_VARIABLE);
    if (clock != CLOCK_REALTIME || path == NULL) return (int)syscall(SYS_timerfd_create, clock, flags);
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd >= 0) inotify_add_watch(fd, path, IN_MODIFY);
    return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *before) {
    if (!(flags & TFD_TIMER_CANCEL_ON_SET)) return (int)syscall(SYS_timerfd_settime, fd, flags, value, before);
    char events[4096];
    while (read(fd, events, sizeof events) > 0) {
    }
    return 0;
}

void tzset(void) {
    void (*real)(void) = (void (*)(void))dlsym(RTLD_NEXT, "tzset");
    /* Zones of this form count the other way round. */
    char zone[32];
    snprintf(zone, sizeof zone, "HERE%+d", (int)-control[1]);
    setenv("TZ", zone, 1);
    real();
}
