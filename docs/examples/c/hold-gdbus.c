/* Holds an assertion until it is ended, with code that gdbus-codegen makes: hold-gdbus APPID */
#include "broker.h"

#include <gio/gunixfdlist.h>
#include <stdio.h>
#include <unistd.h>

#define BROKER "org.jostle.Broker1"
#define NO_OPTIONS g_variant_new_parsed("@a{sv} {}")

static char *enroll(GDBusConnection *bus, const char *app_id, GError **error) {
    char *path = NULL;
    g_autoptr(JostleBroker1) broker =
        jostle_broker1_proxy_new_sync(bus, G_DBUS_PROXY_FLAGS_NONE, BROKER, "/org/jostle/Broker1", NULL, error);
    if (broker) jostle_broker1_call_register_sync(broker, app_id, NO_OPTIONS, &path, NULL, NULL, error);
    return path;
}

static int hold(JostleBroker1App *app, GError **error) {
    g_autoptr(GVariant) handle = NULL;
    g_autoptr(GUnixFDList) descriptors = NULL;
    if (!jostle_broker1_app_call_begin_assertion_sync(
            app, "example", NO_OPTIONS, NULL, &handle, NULL, &descriptors, NULL, error))
        return -1;
    /* The descriptor is the assertion: who drops the list ends it at once. */
    return g_unix_fd_list_get(descriptors, g_variant_get_handle(handle), error);
}

int main(int count, char **arguments) {
    const char *app_id = count > 1 ? arguments[1] : "org.example.Hold";
    g_autoptr(GError) error = NULL;
    g_autoptr(JostleBroker1App) app = NULL;
    g_autofree char *path = NULL;
    int assertion = -1;
    g_autoptr(GDBusConnection) bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, &error);
    if (bus) {
        /* What is sent after this reaches the bus after it. */
        g_bus_own_name_on_connection(bus, app_id, G_BUS_NAME_OWNER_FLAGS_NONE, NULL, NULL, NULL, NULL);
        path = enroll(bus, app_id, &error);
    }
    if (path)
        app = jostle_broker1_app_proxy_new_sync(bus, G_DBUS_PROXY_FLAGS_NONE, BROKER, path, NULL, &error);
    if (app) assertion = hold(app, &error);
    if (assertion < 0) {
        fprintf(stderr, "hold: %s\n", error->message);
        return 1;
    }
    puts("held");
    fflush(stdout);
    pause();
    close(assertion);
    return 0;
}
