#include "bus.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("jostle-baseline: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void enough(dbus_bool_t done) {
    if (!done) die("out of memory");
}

/* One epoll entry for both watches: what it waits for is what they want together. */
static void update_interest(struct bus *bus) {
    struct epoll_event event = {.data.fd = bus->socket};
    if (bus->reading != NULL && dbus_watch_get_enabled(bus->reading)) event.events |= EPOLLIN;
    if (bus->writing != NULL && dbus_watch_get_enabled(bus->writing)) event.events |= EPOLLOUT;
    if (epoll_ctl(bus->epoll, EPOLL_CTL_MOD, bus->socket, &event) == 0) return;
    if (errno != ENOENT || epoll_ctl(bus->epoll, EPOLL_CTL_ADD, bus->socket, &event) < 0) {
        die("epoll_ctl: %s", strerror(errno));
    }
}

static dbus_bool_t add_watch(DBusWatch *watch, void *context) {
    struct bus *bus = context;
    bus->socket = dbus_watch_get_unix_fd(watch);
    if (dbus_watch_get_flags(watch) & DBUS_WATCH_READABLE) bus->reading = watch;
    if (dbus_watch_get_flags(watch) & DBUS_WATCH_WRITABLE) bus->writing = watch;
    update_interest(bus);
    return TRUE;
}

static void remove_watch(DBusWatch *watch, void *context) {
    struct bus *bus = context;
    if (bus->reading == watch) bus->reading = NULL;
    if (bus->writing == watch) bus->writing = NULL;
    if (bus->reading == NULL && bus->writing == NULL) {
        epoll_ctl(bus->epoll, EPOLL_CTL_DEL, bus->socket, NULL);
    } else {
        update_interest(bus);
    }
}

static void toggle_watch(DBusWatch *watch, void *context) {
    (void)watch;
    update_interest(context);
}

static void add_descriptor(struct bus *bus, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(bus->epoll, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl: %s", strerror(errno));
}

void bus_open(struct bus *bus, const char *address) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    bus->epoll = epoll_create1(EPOLL_CLOEXEC);
    bus->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    bus->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (bus->epoll < 0 || bus->signals < 0 || bus->timer < 0) die("%s", strerror(errno));
    add_descriptor(bus, bus->signals);
    add_descriptor(bus, bus->timer);

    DBusError error = DBUS_ERROR_INIT;
    bus->connection = dbus_connection_open_private(address, &error);
    if (bus->connection == NULL || !dbus_bus_register(bus->connection, &error)) {
        die("cannot connect to %s: %s", address, error.message);
    }
    dbus_connection_set_exit_on_disconnect(bus->connection, FALSE);
    enough(dbus_connection_set_watch_functions(bus->connection, add_watch, remove_watch, toggle_watch, bus, NULL));
}

void bus_request_name(struct bus *bus, const char *name) {
    DBusError error = DBUS_ERROR_INIT;
    int result = dbus_bus_request_name(bus->connection, name, DBUS_NAME_FLAG_DO_NOT_QUEUE, &error);
    if (result < 0) die("cannot own %s: %s", name, error.message);
    if (result != DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER) die("cannot own %s: it has an owner", name);
}

static void handle_watches(struct bus *bus, uint32_t events) {
    unsigned flags = 0;
    if (events & EPOLLIN) flags |= DBUS_WATCH_READABLE;
    if (events & EPOLLOUT) flags |= DBUS_WATCH_WRITABLE;
    if (events & EPOLLERR) flags |= DBUS_WATCH_ERROR;
    if (events & EPOLLHUP) flags |= DBUS_WATCH_HANGUP;
    const unsigned trouble = DBUS_WATCH_ERROR | DBUS_WATCH_HANGUP;
    if (bus->writing != NULL && flags & (DBUS_WATCH_WRITABLE | trouble)) {
        dbus_watch_handle(bus->writing, flags & (DBUS_WATCH_WRITABLE | trouble));
    }
    if (bus->reading != NULL && flags & (DBUS_WATCH_READABLE | trouble)) {
        dbus_watch_handle(bus->reading, flags & (DBUS_WATCH_READABLE | trouble));
    }
}

/* Takes what the bus has had for us until now: its answer comes behind that. */
static void take_the_rest(struct bus *bus) {
    DBusMessage *question =
        dbus_message_new_method_call(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS, "GetId");
    enough(question != NULL);
    DBusMessage *answer = dbus_connection_send_with_reply_and_block(bus->connection, question, 5000, NULL);
    dbus_message_unref(question);
    if (answer != NULL) dbus_message_unref(answer);
    while (dbus_connection_dispatch(bus->connection) == DBUS_DISPATCH_DATA_REMAINS) {}
}

void bus_run(struct bus *bus) {
    while (!bus->ended) {
        while (!bus->ended && dbus_connection_dispatch(bus->connection) == DBUS_DISPATCH_DATA_REMAINS) {}
        if (bus->ended) return;
        if (!dbus_connection_get_is_connected(bus->connection)) die("the bus closed the connection");
        struct epoll_event events[4];
        int count = epoll_wait(bus->epoll, events, 4, -1);
        if (count < 0 && errno != EINTR) die("epoll_wait: %s", strerror(errno));
        for (int index = 0; index < count; index++) {
            int fd = events[index].data.fd;
            if (fd == bus->signals) {
                take_the_rest(bus);
                bus->ended = true;
            } else if (fd == bus->timer) {
                uint64_t expirations;
                if (read(bus->timer, &expirations, sizeof expirations) == sizeof expirations) {
                    bus->timer_fired(bus->context, expirations);
                }
            } else {
                handle_watches(bus, events[index].events);
            }
        }
    }
}

void bus_end(struct bus *bus) {
    bus->ended = true;
}

void bus_close(struct bus *bus) {
    dbus_connection_flush(bus->connection);
    enough(dbus_connection_set_watch_functions(bus->connection, NULL, NULL, NULL, NULL, NULL));
    dbus_connection_close(bus->connection);
    dbus_connection_unref(bus->connection);
    close(bus->timer);
    close(bus->signals);
    close(bus->epoll);
}

static struct timespec timespec_of(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

void bus_start_timer(struct bus *bus, uint64_t first_ns, uint64_t interval_ns) {
    struct itimerspec when = {.it_value = timespec_of(first_ns), .it_interval = timespec_of(interval_ns)};
    if (timerfd_settime(bus->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0) die("timerfd_settime: %s", strerror(errno));
}

DBusMessage *bus_call(struct bus *bus, DBusMessage *message, const char *signature) {
    enough(message != NULL);
    DBusError error = DBUS_ERROR_INIT;
    DBusMessage *reply = dbus_connection_send_with_reply_and_block(bus->connection, message, 10000, &error);
    if (reply == NULL) die("%s: %s: %s", dbus_message_get_member(message), error.name, error.message);
    if (signature != NULL && !dbus_message_has_signature(reply, signature)) {
        die("%s: replied '%s' instead of '%s'", dbus_message_get_member(message), dbus_message_get_signature(reply),
            signature);
    }
    dbus_message_unref(message);
    return reply;
}

void bus_send(struct bus *bus, DBusMessage *message) {
    enough(message != NULL);
    enough(dbus_connection_send(bus->connection, message, NULL));
    dbus_message_unref(message);
}

static void set_owner(struct owner *owner, const char *unique) {
    snprintf(owner->unique, sizeof owner->unique, "%s", unique);
}

void owner_follow(struct owner *owner, struct bus *bus, const char *name) {
    owner->name = name;
    set_owner(owner, "");
    char rule[2 * MAX_NAME];
    int length = snprintf(rule, sizeof rule,
                          "type='signal',sender='" DBUS_SERVICE_DBUS "',interface='" DBUS_INTERFACE_DBUS
                          "',member='NameOwnerChanged',arg0='%s'",
                          name);
    if (length < 0 || (size_t)length >= sizeof rule) die("the name is too long: %s", name);
    /* First the rule, then the question: what changes between them is heard as well. */
    DBusError error = DBUS_ERROR_INIT;
    dbus_bus_add_match(bus->connection, rule, &error);
    if (dbus_error_is_set(&error)) die("AddMatch: %s", error.message);

    DBusMessage *message =
        dbus_message_new_method_call(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS, "GetNameOwner");
    enough(message != NULL);
    enough(dbus_message_append_args(message, DBUS_TYPE_STRING, &name, DBUS_TYPE_INVALID));
    DBusMessage *reply = dbus_connection_send_with_reply_and_block(bus->connection, message, 10000, &error);
    dbus_message_unref(message);
    if (reply == NULL) {
        if (!dbus_error_has_name(&error, DBUS_ERROR_NAME_HAS_NO_OWNER)) die("GetNameOwner: %s", error.message);
        dbus_error_free(&error);
        return;
    }
    const char *unique;
    if (!dbus_message_get_args(reply, NULL, DBUS_TYPE_STRING, &unique, DBUS_TYPE_INVALID)) die("GetNameOwner");
    set_owner(owner, unique);
    dbus_message_unref(reply);
}

bool owner_heard(struct owner *owner, DBusMessage *message) {
    if (!dbus_message_is_signal(message, DBUS_INTERFACE_DBUS, "NameOwnerChanged")) return false;
    if (!dbus_message_has_sender(message, DBUS_SERVICE_DBUS)) return false;
    const char *name, *before, *after;
    if (!dbus_message_get_args(message, NULL, DBUS_TYPE_STRING, &name, DBUS_TYPE_STRING, &before, DBUS_TYPE_STRING,
                               &after, DBUS_TYPE_INVALID)) {
        return false;
    }
    if (strcmp(name, owner->name) != 0) return false;
    set_owner(owner, after);
    return true;
}

bool owner_sent(const struct owner *owner, DBusMessage *message) {
    return owner->unique[0] != '\0' && dbus_message_has_sender(message, owner->unique);
}

uint64_t boottime_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}
