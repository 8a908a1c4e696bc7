#ifndef JOSTLE_ATTACKER_H
#define JOSTLE_ATTACKER_H

#include "peer.h"

#define BROKER_NAME "org.jostle.Broker1"
#define BROKER_PATH "/org/jostle/Broker1"
#define BROKER_INTERFACE "org.jostle.Broker1"
#define APP_INTERFACE "org.jostle.Broker1.App"
#define SENSORS_NAME "org.jostle.Sensors1"
#define SENSORS_PATH "/org/jostle/Sensors1"
#define SENSORS_INTERFACE "org.jostle.Sensors1"
#define SENSOR_PATH SENSORS_PATH "/accelerometer"
#define SENSOR_INTERFACE "org.jostle.Sensors1.Sensor"

/* Every option of every command; a command reads those it has. */
struct options {
    const char *bus;
    const char *to;
    const char *app;
    const char *kind;
    uint64_t seconds;
    uint64_t connections;
    uint64_t count;
    uint64_t window;
    uint64_t detectors;
    uint64_t leave;
    uint64_t rest;
    uint64_t threshold;
    uint64_t bytes;
    int64_t user;
    bool unread;
};

/* The commands; each returns the exit status. */
int run_forge(const struct options *options);
int run_flood(const struct options *options);
int run_crowd(const struct options *options);
int run_ping(const struct options *options);
int run_watchdog(const struct options *options);
int run_rules(const struct options *options);

/* Calls; the caller owns them. */
DBusMessage *new_call(const char *to, const char *path, const char *interface, const char *member);
/* The same of a method that takes nothing but options. */
DBusMessage *new_plain(const char *to, const char *path, const char *interface, const char *member);
DBusMessage *new_register(const char *app);
/* So many detectors of `shake.magnitude`, named by their numbers from `first` on; no rest: the preset's. */
DBusMessage *new_add_detectors(const char *object, uint64_t first, uint64_t count, double threshold, uint64_t every_us,
                               uint64_t rest_us);
/* As many detectors as there is room for in so many bytes. */
DBusMessage *new_refused_detectors(const char *object, uint64_t bytes);
DBusMessage *new_remove_detector(const char *object, uint64_t number);
DBusMessage *new_get(const char *to, const char *path, const char *interface, const char *property);
DBusMessage *new_get_all(const char *to, const char *path, const char *interface);
DBusMessage *new_explain(void);
DBusMessage *new_claim(double rate);
/* The same with another method that takes what Claim does. */
DBusMessage *new_claim_by(const char *member, double rate);
DBusMessage *new_inject(const char *motion);
DBusMessage *new_list_claimants(void);

void append_option(DBusMessageIter *options, const char *key, int type, const void *value);

/* Registers without a name, and returns the object; dies when it may not. */
void register_nameless(struct peer *peer, char *object, size_t room);

#endif
