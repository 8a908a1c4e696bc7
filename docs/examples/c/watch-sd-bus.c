/* Prints shakes, with sd-bus, and goes on when the broker is started anew. */
#include <error.h>
#include <stdio.h>
#include <systemd/sd-bus.h>

#define BROKER "org.jostle.Broker1"
/* The app's id, a name that it owns on the bus; "": an app without a name. */
#define APP ""

static sd_bus_slot *events;

static int heard(sd_bus_message *message, void *data, sd_bus_error *failure) {
    uint64_t sequence, epoch, time;
    const char *detector;
    double peak;
    if (sd_bus_message_enter_container(message, 'r', "tttsda{sv}") <= 0 ||
        sd_bus_message_read(message, "tttsd", &sequence, &epoch, &time, &detector, &peak) <= 0) return 0;
    printf("event %ju: %s, peak %.2f\n", (uintmax_t)sequence, detector, peak);
    /* Only some events want an answer; the others do not mind one. */
    return sd_bus_call_method_async(sd_bus_message_get_bus(message), NULL, BROKER, sd_bus_message_get_path(message),
        BROKER ".App", "Ack", NULL, NULL, "ttsa{sv}", sequence, epoch, "consume", 0);
}

/* Called for each broker that comes. */
static int join(sd_bus_message *message, void *bus, sd_bus_error *failure) {
    sd_bus_error why = SD_BUS_ERROR_NULL;
    sd_bus_message *reply = NULL;
    const char *app;
    events = sd_bus_slot_unref(events);
    /* By the unique name: anybody can send a signal, only the broker's counts. */
    if (sd_bus_call_method(bus, BROKER, "/org/jostle/Broker1", BROKER, "Register", &why, &reply, "sa{sv}", APP, 0) < 0 ||
        sd_bus_message_read(reply, "o", &app) < 0 ||
        sd_bus_match_signal(bus, &events, sd_bus_message_get_sender(reply), app, BROKER ".App", "Event", heard, NULL) < 0 ||
        sd_bus_call_method(bus, BROKER, app, BROKER ".App", "AddDetector", &why, NULL, "sa{sv}", "watch", 2,
            "preset", "s", "shake.planar", "threshold", "s", "2.5g") < 0)
        /* Where there is no broker yet, join is called again when there is. */
        error(!sd_bus_error_has_names(&why, SD_BUS_ERROR_SERVICE_UNKNOWN, SD_BUS_ERROR_NO_REPLY), 0, "%s", why.message);
    sd_bus_error_free(&why);
    sd_bus_message_unref(reply);
    return 0;
}

int main(void) {
    sd_bus *bus;
    const char *came = "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" BROKER "',arg1=''";
    if (sd_bus_default_user(&bus) < 0 || (*APP && sd_bus_request_name(bus, APP, 0) < 0) ||
        sd_bus_add_match(bus, NULL, came, join, bus) < 0) error(1, 0, "there is no bus, or the name '" APP "' is taken");
    setlinebuf(stdout);
    join(NULL, bus, NULL);
    while (sd_bus_process(bus, NULL) >= 0 && sd_bus_wait(bus, UINT64_MAX) >= 0) {}
}
