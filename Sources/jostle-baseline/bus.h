#ifndef JOSTLE_BASELINE_BUS_H
#define JOSTLE_BASELINE_BUS_H

#include <dbus/dbus.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MAX_NAME = 256 };

/* A bus connection on an epoll loop. One thread; exits the process when the bus goes. */
struct bus {
    DBusConnection *connection;
    int epoll;
    int signals;
    /* libdbus has a watch for each direction; epoll has one entry for a descriptor. */
    DBusWatch *reading;
    DBusWatch *writing;
    int socket;
    bool ended;
    /* What else the loop serves, or NULL: called when the descriptor is readable. */
    void (*timer_fired)(void *context, uint64_t expirations);
    int timer;
    void *context;
};

/* Says why and exits with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
/* libdbus reports nothing but want of memory by these. */
void enough(dbus_bool_t done);

/* Connects; from here on SIGTERM and SIGINT end `bus_run`. */
void bus_open(struct bus *bus, const char *address);
void bus_request_name(struct bus *bus, const char *name);
/* Serves the connection, and the timer, until somebody calls `bus_end` or a signal ends it, which does so behind what came before. */
void bus_run(struct bus *bus);
/* Makes `bus_run` return after the messages at hand. */
void bus_end(struct bus *bus);
/* Sends what is queued, and closes. */
void bus_close(struct bus *bus);

/* Starts the loop's timer, first at `first_ns` of CLOCK_MONOTONIC; an interval of 0 fires once. */
void bus_start_timer(struct bus *bus, uint64_t first_ns, uint64_t interval_ns);

/* Calls and waits: for start-up only. Takes over the message; dies at an error, or at another signature unless NULL. */
DBusMessage *bus_call(struct bus *bus, DBusMessage *message, const char *signature);
/* Sends; takes over the message. */
void bus_send(struct bus *bus, DBusMessage *message);

/* Who owns a name, kept up to date: a unicast signal arrives from anybody, so its sender must be compared. */
struct owner {
    const char *name;
    char unique[MAX_NAME];
};
void owner_follow(struct owner *owner, struct bus *bus, const char *name);
/* To be asked of every message; true when it was the news of this name. */
bool owner_heard(struct owner *owner, DBusMessage *message);
bool owner_sent(const struct owner *owner, DBusMessage *message);

/* Microseconds of CLOCK_BOOTTIME, the clock of sample times. */
uint64_t boottime_us(void);
uint64_t monotonic_ns(void);
/* User and system time this process has used. */
uint64_t cpu_us(void);

#endif
