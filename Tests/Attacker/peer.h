#ifndef JOSTLE_ATTACKER_PEER_H
#define JOSTLE_ATTACKER_PEER_H

#include <dbus/dbus.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that wait at one side of a connection. */
struct bytes {
    unsigned char *start;
    size_t count;
    size_t room;
};

/* A connection to a bus that keeps none of the manners of a library: it writes any bytes, and reads when it likes. */
struct peer {
    int socket;
    uint32_t serial;
    char unique[64];
    struct bytes out;
    struct bytes in;
    /* A descriptor, or -1, and the message in `out` that it goes out with: where it begins and ends. */
    int descriptor;
    size_t descriptor_from, descriptor_to;
    uint64_t written;
    uint64_t read;
};

/* Says why and exits with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
/* libdbus reports nothing but want of memory by these. */
void enough(dbus_bool_t done);
uint64_t now_us(void);

/* Connects as the user that we are, says Hello and returns with the unique name. */
void peer_open(struct peer *peer, const char *address);
void peer_close(struct peer *peer);

/* What a message is on the wire; to be freed. */
struct bytes wire_of(DBusMessage *message);
/* Puts bytes of a whole message at the end of what goes out, under the next serial, which it returns. */
uint32_t peer_queue_bytes(struct peer *peer, const struct bytes *message);
/* The same with a message, which it takes over. */
uint32_t peer_queue(struct peer *peer, DBusMessage *message);
/* Writes what goes now; false when the bus has closed the connection. */
bool peer_write(struct peer *peer);
/* Reads what is there; false when the bus has closed the connection. */
bool peer_fill(struct peer *peer);

/* What the front of a message says. */
struct head {
    size_t size;
    int type;
    uint32_t serial;
};
/* The head of the message that has arrived whole at this place of `in`; false: none has. */
bool peer_head(const struct peer *peer, size_t at, struct head *head);
/* Forgets so many bytes at the front of `in`. */
void peer_skip(struct peer *peer, size_t count);

/* Sends what waits, and returns the answer to this call, return or error; NULL: not within so many microseconds. All
   else that arrives is dropped. */
DBusMessage *peer_answer(struct peer *peer, uint32_t serial, uint64_t timeout_us);

#endif
