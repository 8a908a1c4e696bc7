/*
 * test-dbus-broker: starts dbus-broker as a private session bus, without systemd.
 *
 *     test-dbus-broker SOCKET [SERVICE-DIRECTORY [BYTES]]
 *
 * dbus-broker routes messages and nothing else: whoever starts it hands it the listening socket, the policy and the
 * names that may be activated, over a D-Bus connection of its own, the controller. libdbus opens connections by address
 * only, so the controller is a socket beside SOCKET that exists until both ends of it do.
 *
 * Prints the bus address when clients may connect, as dbus-daemon --print-address does. Ends at SIGTERM.
 */
#include <dbus/dbus.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_SERVICES = 32 };

/* A name that may be activated, as its service file has it. */
struct service {
    char path[64];
    char name[256];
    char command[1024];
    /* What was started last and has not ended, or 0. */
    pid_t pid;
    /* Which request it answers; dbus-broker wants it back when the start fails. */
    uint64_t serial;
};

struct launcher {
    DBusConnection *controller;
    pid_t broker;
    int signals;
    const char *address;
    /* What all connections of one user together may have in the bus. */
    const char *bytes;
    struct service services[MAX_SERVICES];
    int service_count;
};

static void fail(const char *what, const char *why) {
    fprintf(stderr, "test-dbus-broker: %s: %s\n", what, why);
    exit(1);
}

static void check(bool done, const char *what) {
    if (!done) fail(what, strerror(errno));
}

/* libdbus reports nothing but want of memory by these. */
static void enough(dbus_bool_t done) {
    if (!done) fail("libdbus", "out of memory");
}

static int listen_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) fail(path, "the path is too long for a socket");
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    check(fd >= 0, "socket");
    check(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, path);
    check(listen(fd, SOMAXCONN) == 0, "listen");
    return fd;
}

/* Forks with the signals as they were and a death that follows ours. */
static pid_t fork_tied(void) {
    pid_t parent = getpid();
    pid_t pid = fork();
    check(pid >= 0, "fork");
    if (pid > 0) return pid;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent) _exit(126);
    return 0;
}

static void start_broker(struct launcher *launcher, const char *socket_path) {
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    int length = snprintf(path, sizeof path, "%s.controller", socket_path);
    if (length < 0 || (size_t)length >= sizeof path) fail(socket_path, "the path is too long for a socket");
    char address[sizeof path + 16];
    snprintf(address, sizeof address, "unix:path=%s", path);

    int listener = listen_at(path);
    DBusError error = DBUS_ERROR_INIT;
    launcher->controller = dbus_connection_open_private(address, &error);
    if (launcher->controller == NULL) fail("cannot open the controller", error.message);
    dbus_connection_set_exit_on_disconnect(launcher->controller, FALSE);
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    check(fd >= 0, "accept4");
    close(listener);
    unlink(path);

    char number[16];
    snprintf(number, sizeof number, "%d", fd);
    launcher->broker = fork_tied();
    if (launcher->broker == 0) {
        /* The defaults count per user, and a test is one user: the connection limit of 128 would be met first. */
        execlp("dbus-broker", "dbus-broker", "--controller", number, "--max-bytes", launcher->bytes, "--max-fds", "100000",
               "--max-matches", "1000000", "--max-objects", "1000000", "--machine-id",
               "0123456789abcdef0123456789abcdef", (char *)NULL);
        fprintf(stderr, "test-dbus-broker: cannot run dbus-broker: %s\n", strerror(errno));
        _exit(127);
    }
    close(fd);

    /* libdbus authenticates as it goes, and descriptors can be sent only then. */
    while (!dbus_connection_get_is_authenticated(launcher->controller)) {
        if (!dbus_connection_read_write(launcher->controller, 10000)) fail("controller", "dbus-broker closed it");
    }
}

/* Sends a call and waits for its reply; takes over the message. */
static bool call(struct launcher *launcher, DBusMessage *message, char *why, size_t size) {
    DBusError error = DBUS_ERROR_INIT;
    DBusMessage *reply = dbus_connection_send_with_reply_and_block(launcher->controller, message, 10000, &error);
    dbus_message_unref(message);
    if (reply != NULL) {
        dbus_message_unref(reply);
        return true;
    }
    snprintf(why, size, "%s: %s", error.name, error.message);
    dbus_error_free(&error);
    return false;
}

static void open_container(DBusMessageIter *outer, int type, const char *signature, DBusMessageIter *inner) {
    enough(dbus_message_iter_open_container(outer, type, signature, inner));
}

static void close_container(DBusMessageIter *outer, DBusMessageIter *inner) {
    enough(dbus_message_iter_close_container(outer, inner));
}

static void append(DBusMessageIter *iterator, int type, const void *value) {
    enough(dbus_message_iter_append_basic(iterator, type, value));
}

/* One rule that lets everything be sent or received: verdict, priority, and what it matches, which is anything. */
static void append_transmission(DBusMessageIter *batch) {
    DBusMessageIter array, rule;
    const dbus_bool_t yes = TRUE;
    const dbus_uint64_t priority = 1, fewest_fds = 0, most_fds = UINT64_MAX;
    const dbus_uint32_t any = 0;
    const char *anything = "";
    open_container(batch, DBUS_TYPE_ARRAY, "(btssssuutt)", &array);
    open_container(&array, DBUS_TYPE_STRUCT, NULL, &rule);
    append(&rule, DBUS_TYPE_BOOLEAN, &yes);
    append(&rule, DBUS_TYPE_UINT64, &priority);
    for (int field = 0; field < 4; field++) append(&rule, DBUS_TYPE_STRING, &anything);
    append(&rule, DBUS_TYPE_UINT32, &any);
    append(&rule, DBUS_TYPE_UINT32, &any);
    append(&rule, DBUS_TYPE_UINT64, &fewest_fds);
    append(&rule, DBUS_TYPE_UINT64, &most_fds);
    close_container(&array, &rule);
    close_container(batch, &array);
}

#define BATCH "bta(btbs)a(btssssuutt)a(btssssuutt)"
#define USERS "a(u(" BATCH "))"
#define GROUPS "a(buu(" BATCH "))"
#define POLICY "(" USERS GROUPS "a(ss)bs)"

/* The policy of a session bus: everybody may connect, own, send and receive. */
static void append_policy(DBusMessageIter *message) {
    DBusMessageIter variant, policy, users, user, batch, array, rule;
    const dbus_bool_t yes = TRUE, no = FALSE;
    const dbus_uint64_t priority = 1;
    const dbus_uint32_t every_user = UINT32_MAX;
    const char *every_name = "", *type = "session";
    open_container(message, DBUS_TYPE_VARIANT, POLICY, &variant);
    open_container(&variant, DBUS_TYPE_STRUCT, NULL, &policy);

    open_container(&policy, DBUS_TYPE_ARRAY, "(u(" BATCH "))", &users);
    open_container(&users, DBUS_TYPE_STRUCT, NULL, &user);
    append(&user, DBUS_TYPE_UINT32, &every_user);
    open_container(&user, DBUS_TYPE_STRUCT, NULL, &batch);
    append(&batch, DBUS_TYPE_BOOLEAN, &yes);
    append(&batch, DBUS_TYPE_UINT64, &priority);
    open_container(&batch, DBUS_TYPE_ARRAY, "(btbs)", &array);
    open_container(&array, DBUS_TYPE_STRUCT, NULL, &rule);
    append(&rule, DBUS_TYPE_BOOLEAN, &yes);
    append(&rule, DBUS_TYPE_UINT64, &priority);
    append(&rule, DBUS_TYPE_BOOLEAN, &yes);
    append(&rule, DBUS_TYPE_STRING, &every_name);
    close_container(&array, &rule);
    close_container(&batch, &array);
    append_transmission(&batch);
    append_transmission(&batch);
    close_container(&user, &batch);
    close_container(&users, &user);
    close_container(&policy, &users);

    open_container(&policy, DBUS_TYPE_ARRAY, "(buu(" BATCH "))", &array);
    close_container(&policy, &array);
    /* No SELinux contexts, no AppArmor. */
    open_container(&policy, DBUS_TYPE_ARRAY, "(ss)", &array);
    close_container(&policy, &array);
    append(&policy, DBUS_TYPE_BOOLEAN, &no);
    append(&policy, DBUS_TYPE_STRING, &type);

    close_container(&variant, &policy);
    close_container(message, &variant);
}

static DBusMessage *new_call(const char *path, const char *interface, const char *member) {
    DBusMessage *message = dbus_message_new_method_call(NULL, path, interface, member);
    enough(message != NULL);
    return message;
}

static void add_listener(struct launcher *launcher, int fd) {
    DBusMessage *message = new_call("/org/bus1/DBus/Broker", "org.bus1.DBus.Broker", "AddListener");
    DBusMessageIter iterator;
    const char *path = "/org/bus1/DBus/Listener/0";
    dbus_message_iter_init_append(message, &iterator);
    append(&iterator, DBUS_TYPE_OBJECT_PATH, &path);
    append(&iterator, DBUS_TYPE_UNIX_FD, &fd);
    append_policy(&iterator);
    char why[512];
    if (!call(launcher, message, why, sizeof why)) fail("AddListener", why);
}

static void add_name(struct launcher *launcher, const struct service *service) {
    DBusMessage *message = new_call("/org/bus1/DBus/Broker", "org.bus1.DBus.Broker", "AddName");
    DBusMessageIter iterator;
    const char *path = service->path, *name = service->name;
    const dbus_uint32_t user = getuid();
    dbus_message_iter_init_append(message, &iterator);
    append(&iterator, DBUS_TYPE_OBJECT_PATH, &path);
    append(&iterator, DBUS_TYPE_STRING, &name);
    append(&iterator, DBUS_TYPE_UINT32, &user);
    char why[512];
    if (!call(launcher, message, why, sizeof why)) fail(name, why);
}

/* Reads Name= and Exec= of one service file; false when one of them is missing. */
static bool read_service(const char *directory, const char *entry, struct service *service) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, entry);
    FILE *file = fopen(path, "re");
    check(file != NULL, path);
    char line[sizeof service->command + 16];
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "Name=", 5) == 0) {
            snprintf(service->name, sizeof service->name, "%.*s", (int)sizeof service->name - 1, line + 5);
        } else if (strncmp(line, "Exec=", 5) == 0) {
            const int room = (int)sizeof service->command - 6;
            snprintf(service->command, sizeof service->command, "exec %.*s", room, line + 5);
        }
    }
    fclose(file);
    return service->name[0] != '\0' && service->command[0] != '\0';
}

static void add_services(struct launcher *launcher, const char *directory) {
    DIR *entries = opendir(directory);
    check(entries != NULL, directory);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".service") != 0) continue;
        if (launcher->service_count == MAX_SERVICES) fail(directory, "too many service files");
        struct service *service = &launcher->services[launcher->service_count];
        if (!read_service(directory, entry->d_name, service)) fail(entry->d_name, "no Name= or no Exec=");
        snprintf(service->path, sizeof service->path, "/org/bus1/DBus/Name/%d", launcher->service_count);
        launcher->service_count++;
        add_name(launcher, service);
    }
    closedir(entries);
}

static void activate(struct launcher *launcher, DBusMessage *message) {
    for (int index = 0; index < launcher->service_count; index++) {
        struct service *service = &launcher->services[index];
        if (!dbus_message_has_path(message, service->path)) continue;
        dbus_uint64_t serial = 0;
        if (!dbus_message_get_args(message, NULL, DBUS_TYPE_UINT64, &serial, DBUS_TYPE_INVALID)) return;
        service->serial = serial;
        service->pid = fork_tied();
        if (service->pid > 0) return;
        setenv("DBUS_SESSION_BUS_ADDRESS", launcher->address, 1);
        setenv("DBUS_STARTER_ADDRESS", launcher->address, 1);
        setenv("DBUS_STARTER_BUS_TYPE", "session", 1);
        /* The address is ours alone to print. */
        dup2(2, 1);
        execl("/bin/sh", "sh", "-c", service->command, (char *)NULL);
        _exit(127);
    }
}

/* A started program ended. If it never took its name, those who wait for it must hear so. */
static void ended(struct launcher *launcher, struct service *service) {
    service->pid = 0;
    DBusMessage *message = new_call(service->path, "org.bus1.DBus.Name", "Reset");
    const dbus_uint64_t serial = service->serial;
    const char *reason = "org.bus1.DBus.Name.Error.StartupFailure";
    enough(dbus_message_append_args(message, DBUS_TYPE_UINT64, &serial, DBUS_TYPE_STRING, &reason,
                                    DBUS_TYPE_INVALID));
    dbus_message_set_no_reply(message, TRUE);
    enough(dbus_connection_send(launcher->controller, message, NULL));
    dbus_connection_flush(launcher->controller);
    dbus_message_unref(message);
}

/* Reaps children; false when the bus itself has ended. */
static bool reap(struct launcher *launcher) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == launcher->broker) {
            fprintf(stderr, "test-dbus-broker: dbus-broker ended with status %#x\n", (unsigned)status);
            return false;
        }
        for (int index = 0; index < launcher->service_count; index++) {
            if (launcher->services[index].pid == pid) ended(launcher, &launcher->services[index]);
        }
    }
    return true;
}

/* Answers dbus-broker until SIGTERM, or until it ends. */
static int serve(struct launcher *launcher) {
    int fd = -1;
    enough(dbus_connection_get_unix_fd(launcher->controller, &fd));
    struct pollfd polled[] = {{.fd = fd, .events = POLLIN}, {.fd = launcher->signals, .events = POLLIN}};
    for (;;) {
        dbus_connection_read_write(launcher->controller, 0);
        for (DBusMessage *message; (message = dbus_connection_pop_message(launcher->controller)) != NULL;) {
            if (dbus_message_is_signal(message, "org.bus1.DBus.Name", "Activate")) activate(launcher, message);
            dbus_message_unref(message);
        }
        if (!dbus_connection_get_is_connected(launcher->controller)) polled[0].fd = -1;
        if (poll(polled, 2, -1) < 0 && errno != EINTR) fail("poll", strerror(errno));
        struct signalfd_siginfo signal;
        if (polled[1].revents == 0 || read(launcher->signals, &signal, sizeof signal) != sizeof signal) continue;
        if (signal.ssi_signo == SIGTERM) {
            kill(launcher->broker, SIGTERM);
            waitpid(launcher->broker, NULL, 0);
            return 0;
        }
        if (!reap(launcher)) return 1;
    }
}

int main(int count, char **arguments) {
    if (count < 2 || count > 4) fail("usage", "test-dbus-broker SOCKET [SERVICE-DIRECTORY [BYTES]]");
    static struct launcher launcher;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    launcher.signals = signalfd(-1, &set, SFD_CLOEXEC);
    check(launcher.signals >= 0, "signalfd");

    char address[256];
    snprintf(address, sizeof address, "unix:path=%s", arguments[1]);
    launcher.address = address;
    launcher.bytes = count == 4 ? arguments[3] : "1000000000";
    int listener = listen_at(arguments[1]);
    start_broker(&launcher, arguments[1]);
    add_listener(&launcher, listener);
    close(listener);
    if (count >= 3) add_services(&launcher, arguments[2]);
    printf("%s\n", address);
    fflush(stdout);
    int status = serve(&launcher);
    dbus_connection_close(launcher.controller);
    dbus_connection_unref(launcher.controller);
    return status;
}
