#ifndef JOSTLE_BASELINE_WIRE_H
#define JOSTLE_BASELINE_WIRE_H

#include "bus.h"

#define SENSORS_NAME "org.jostle.Sensors1"
#define SENSORS_PATH "/org/jostle/Sensors1"
#define SENSORS_INTERFACE "org.jostle.Sensors1"
#define SENSOR_PATH SENSORS_PATH "/accelerometer"
#define SENSOR_INTERFACE "org.jostle.Sensors1.Sensor"
#define BROKER_NAME "org.jostle.Broker1"
#define BROKER_PATH "/org/jostle/Broker1"
#define BROKER_INTERFACE "org.jostle.Broker1"
#define APP_INTERFACE "org.jostle.Broker1.App"

enum {
    CHANNELS = 3,
    /* The most samples of one message. */
    MAX_BATCH = 1024,
};

/* What a Samples signal carries; the arrays point into the message. */
struct samples {
    uint64_t first;
    int count;
    const uint64_t *times;
    /* Row by row. */
    const double *values;
};

/* Reads a Samples signal; false if it is not one, or is not well formed. */
bool read_samples(DBusMessage *message, struct samples *samples);
/* A Samples signal for one claimant. */
DBusMessage *new_samples(const char *claimant, const struct samples *samples);

/* sqrt(x² + y²) of one sample. */
double planar(const struct samples *samples, int index);

struct event {
    uint64_t sequence;
    uint64_t epoch;
    uint64_t time;
    const char *detector;
    double peak;
};

bool read_event(DBusMessage *message, struct event *event);
DBusMessage *new_event(const char *app, const struct event *event);

/* Events that the app does not get, from the first number to the last. */
struct gap {
    uint64_t first;
    uint64_t last;
};

bool read_gap(DBusMessage *message, struct gap *gap);

/* Claims the accelerometer: a rate of 0 leaves the choice to the service, a latency of 0 wants each sample at once. */
void claim(struct bus *bus, const char *sensors, double rate, uint64_t latency_us);

/* A detector of the preset `shake.planar`, or of a condition; times in microseconds. */
struct detector {
    /* NULL: the preset. */
    const char *when;
    double threshold;
    /* 0: as often as is usual for it. */
    uint64_t every;
    uint64_t rest;
};

/* Owns the app id, registers with the broker and adds one detector named `shake`. */
void register_app(struct bus *bus, const char *app, const struct detector *detector);

void append_double_option(DBusMessageIter *options, const char *key, double value);
void append_count_option(DBusMessageIter *options, const char *key, uint64_t value);

#endif
