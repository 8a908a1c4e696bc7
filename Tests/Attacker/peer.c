#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("test-attacker: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void enough(dbus_bool_t done) {
    if (!done) die("out of memory");
}

uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void append(struct bytes *bytes, const void *more, size_t count) {
    if (bytes->count + count > bytes->room) {
        bytes->room = 2 * (bytes->count + count);
        bytes->start = realloc(bytes->start, bytes->room);
        enough(bytes->start != NULL);
    }
    memcpy(bytes->start + bytes->count, more, count);
    bytes->count += count;
}

static void drop(struct bytes *bytes, size_t count) {
    bytes->count -= count;
    memmove(bytes->start, bytes->start + count, bytes->count);
}

static void wait_for(struct peer *peer, short events, uint64_t deadline) {
    uint64_t now = now_us();
    struct pollfd polled = {.fd = peer->socket, .events = events};
    if (poll(&polled, 1, now < deadline ? (int)((deadline - now + 999) / 1000) : 0) < 0 && errno != EINTR) {
        die("poll: %s", strerror(errno));
    }
}

/* One step of the handshake: says this, and expects a line that begins so. */
static void shake_hands(struct peer *peer, const char *said, size_t count, const char *expected) {
    if (send(peer->socket, said, count, MSG_NOSIGNAL) != (ssize_t)count) die("handshake: %s", strerror(errno));
    if (expected == NULL) return;
    char line[256] = "";
    for (size_t length = 0; strchr(line, '\n') == NULL;) {
        ssize_t more = length < sizeof line - 1 ? recv(peer->socket, line + length, 1, 0) : 0;
        if (more <= 0) die("handshake: no answer");
        length += (size_t)more;
        line[length] = '\0';
    }
    if (strncmp(line, expected, strlen(expected)) != 0) die("handshake: %s", line);
}

static void authenticate(struct peer *peer) {
    char user[16], said[64];
    int digits = snprintf(user, sizeof user, "%u", geteuid());
    size_t length = (size_t)snprintf(said, sizeof said, "%cAUTH EXTERNAL ", 0);
    for (int index = 0; index < digits; index++) {
        length += (size_t)snprintf(said + length, sizeof said - length, "%02x", user[index]);
    }
    length += (size_t)snprintf(said + length, sizeof said - length, "\r\n");
    shake_hands(peer, said, length, "OK");
    shake_hands(peer, "NEGOTIATE_UNIX_FD\r\n", 19, "AGREE");
    shake_hands(peer, "BEGIN\r\n", 7, NULL);
}

void peer_open(struct peer *peer, const char *address) {
    static const char prefix[] = "unix:path=";
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t length = strcspn(address, ",;");
    if (strncmp(address, prefix, sizeof prefix - 1) != 0 || length - sizeof prefix + 1 >= sizeof name.sun_path) {
        die("no address of a bus here: %s", address);
    }
    memcpy(name.sun_path, address + sizeof prefix - 1, length - sizeof prefix + 1);
    *peer = (struct peer){.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), .descriptor = -1};
    if (peer->socket < 0 || connect(peer->socket, (struct sockaddr *)&name, sizeof name) < 0) {
        die("cannot connect to %s: %s", address, strerror(errno));
    }
    authenticate(peer);
    fcntl(peer->socket, F_SETFL, O_NONBLOCK);

    uint32_t hello = peer_queue(
        peer, dbus_message_new_method_call(DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS, "Hello"));
    DBusMessage *answer = peer_answer(peer, hello, 10000000);
    const char *unique;
    if (answer == NULL || !dbus_message_get_args(answer, NULL, DBUS_TYPE_STRING, &unique, DBUS_TYPE_INVALID)) {
        die("no answer to Hello");
    }
    snprintf(peer->unique, sizeof peer->unique, "%s", unique);
    dbus_message_unref(answer);
}

void peer_close(struct peer *peer) {
    close(peer->socket);
    free(peer->out.start);
    free(peer->in.start);
    *peer = (struct peer){.socket = -1, .descriptor = -1};
}

struct bytes wire_of(DBusMessage *message) {
    enough(message != NULL);
    /* Any serial, which is replaced when it is sent. */
    if (dbus_message_get_serial(message) == 0) dbus_message_set_serial(message, 1);
    char *start;
    int count;
    enough(dbus_message_marshal(message, &start, &count));
    struct bytes bytes = {0};
    append(&bytes, start, (size_t)count);
    dbus_free(start);
    return bytes;
}

uint32_t peer_queue_bytes(struct peer *peer, const struct bytes *message) {
    size_t at = peer->out.count;
    append(&peer->out, message->start, message->count);
    peer->serial++;
    /* We and libdbus write in the machine's own order. */
    memcpy(peer->out.start + at + 8, &peer->serial, sizeof peer->serial);
    return peer->serial;
}

uint32_t peer_queue(struct peer *peer, DBusMessage *message) {
    struct bytes bytes = wire_of(message);
    dbus_message_unref(message);
    uint32_t serial = peer_queue_bytes(peer, &bytes);
    free(bytes.start);
    return serial;
}

bool peer_write(struct peer *peer) {
    while (peer->out.count > 0) {
        struct iovec part = {.iov_base = peer->out.start, .iov_len = peer->out.count};
        union {
            struct cmsghdr header;
            char space[CMSG_SPACE(sizeof(int))];
        } control = {0};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        bool waits = peer->descriptor >= 0 && peer->descriptor_from > 0;
        /* With no bytes but its message's: dbus-broker takes it for part of the last message that it comes with, and ends a
         * connection whose messages do not have what they say. */
        if (waits) {
            part.iov_len = peer->descriptor_from;
        } else if (peer->descriptor >= 0) {
            part.iov_len = peer->descriptor_to;
            message.msg_control = &control;
            message.msg_controllen = sizeof control;
            struct cmsghdr *header = CMSG_FIRSTHDR(&message);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(sizeof(int));
            memcpy(CMSG_DATA(header), &peer->descriptor, sizeof(int));
        }
        ssize_t count = sendmsg(peer->socket, &message, MSG_NOSIGNAL);
        if (count < 0) return errno == EAGAIN || errno == EINTR;
        if (waits) {
            peer->descriptor_from -= (size_t)count;
            peer->descriptor_to -= (size_t)count;
        } else {
            peer->descriptor = -1;
        }
        peer->written += (uint64_t)count;
        drop(&peer->out, (size_t)count);
    }
    return true;
}

bool peer_fill(struct peer *peer) {
    for (;;) {
        static unsigned char buffer[1 << 18];
        ssize_t count = recv(peer->socket, buffer, sizeof buffer, 0);
        if (count < 0) return errno == EAGAIN || errno == EINTR;
        if (count == 0) return false;
        peer->read += (uint64_t)count;
        append(&peer->in, buffer, (size_t)count);
        if ((size_t)count < sizeof buffer) return true;
    }
}

bool peer_head(const struct peer *peer, size_t at, struct head *head) {
    if (peer->in.count - at < 16) return false;
    uint32_t body, fields;
    const unsigned char *start = peer->in.start + at;
    memcpy(&body, start + 4, sizeof body);
    memcpy(&head->serial, start + 8, sizeof head->serial);
    memcpy(&fields, start + 12, sizeof fields);
    head->type = start[1];
    head->size = 16 + ((size_t)fields + 7) / 8 * 8 + body;
    return head->size <= peer->in.count - at;
}

void peer_skip(struct peer *peer, size_t count) {
    drop(&peer->in, count);
}

DBusMessage *peer_answer(struct peer *peer, uint32_t serial, uint64_t timeout_us) {
    uint64_t deadline = now_us() + timeout_us;
    DBusMessage *answer = NULL;
    for (;;) {
        if (!peer_write(peer) || !peer_fill(peer)) die("the bus closed the connection");
        size_t at = 0;
        for (struct head head; answer == NULL && peer_head(peer, at, &head); at += head.size) {
            if (head.type == DBUS_MESSAGE_TYPE_SIGNAL) continue;
            DBusMessage *message = dbus_message_demarshal((char *)peer->in.start + at, (int)head.size, NULL);
            /* One with a descriptor cannot be read so, and is no answer that anybody here asks for. */
            if (message == NULL) continue;
            if (head.type == DBUS_MESSAGE_TYPE_METHOD_CALL) {
                /* Whoever is asked for a sign of life gives one. */
                peer_queue(peer, dbus_message_new_method_return(message));
                dbus_message_unref(message);
            } else if (dbus_message_get_reply_serial(message) == serial) {
                answer = message;
            } else {
                dbus_message_unref(message);
            }
        }
        peer_skip(peer, at);
        if (answer != NULL) return answer;
        if (now_us() >= deadline) return NULL;
        wait_for(peer, (short)(POLLIN | (peer->out.count > 0 ? POLLOUT : 0)), deadline);
    }
}
