// libgps: what gpsd says, taken apart. Its own connection waits for the network, so ours is made here; its reports hold
// unions and time in parts, of which Swift gets plain numbers.
#pragma once

#include <errno.h>
#include <gps.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// A place as gpsd tells it; what it does not tell is not a number.
struct CGps_fix {
    // µs since 1970; 0 when it is not told.
    int64_t time;
    double latitude, longitude, speed, course, accuracy;
};

static inline struct gps_data_t *CGps_new(void) { return calloc(1, sizeof(struct gps_data_t)); }

static inline void CGps_free(struct gps_data_t *data) { free(data); }

// Takes apart a line, which ends in NUL and is changed by it. True when it tells a place.
static inline int CGps_read(struct gps_data_t *data, char *line, struct CGps_fix *fix) {
    // libgps keeps what other reports said; only those of time, position and velocity concern us. It goes on behind a report
    // that it cannot read, as long as it finds a class there, and for ever where no report begins: so there is only one, the
    // first thing that is said.
    static const char report[] = "{\"class\":\"TPV\"";
    const size_t length = sizeof report - 1;
    if (strncmp(line, report, length) != 0 || strstr(line + length, "\"class\":") != NULL) return 0;
    memset(data, 0, sizeof *data);
    gps_clear_fix(&data->fix);
    if (gps_unpack(line, data) != 0 || (data->set & LATLON_SET) == 0 || data->fix.mode < MODE_2D) return 0;
    fix->time = (data->set & TIME_SET) != 0 && data->fix.time.tv_sec > 0 && data->fix.time.tv_sec < 253402300800
        ? (int64_t)data->fix.time.tv_sec * 1000000 + data->fix.time.tv_nsec / 1000 : 0;
    fix->latitude = data->fix.latitude;
    fix->longitude = data->fix.longitude;
    fix->speed = data->fix.speed;
    fix->course = data->fix.track;
    fix->accuracy = data->fix.eph;
    return 1;
}

// Begins to connect, to an address in numbers: names would have to be waited for. A descriptor, or -1 and errno; EINVAL for
// what is no address.
static inline int CGps_connect(const char *host, const char *port) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        errno = EINVAL;
        return -1;
    }
    int descriptor = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // Or a host that went away would never be missed: it is asked after 10 s without a word, and missed after three questions.
    if (descriptor >= 0) {
        const int yes = 1, idle = 10, interval = 5, count = 3;
        setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
        setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
        setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
        setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    }
    if (descriptor >= 0 && connect(descriptor, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
        int code = errno;
        close(descriptor);
        errno = code;
        descriptor = -1;
    }
    freeaddrinfo(found);
    return descriptor;
}

// How connecting ended: 0 or an error number.
static inline int CGps_connected(int descriptor) {
    int code = 0;
    socklen_t length = sizeof code;
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno;
}
