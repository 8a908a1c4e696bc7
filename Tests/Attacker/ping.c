#include "attacker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INTERVAL_US = 50000,
    /* How long answers may still come in after the last call. */
    PATIENCE_US = 30000000,
};

/* Asks every 50 ms, whether or not the last answer is there: who does not answer for a second owes twenty answers. */
struct pinger {
    struct peer peer;
    uint64_t count;
    uint64_t sent;
    uint64_t answered;
    uint32_t first;
    uint64_t *times;
    uint64_t *delays;
};

static void take(struct pinger *pinger) {
    size_t at = 0;
    for (struct head head; peer_head(&pinger->peer, at, &head); at += head.size) {
        DBusMessage *message = dbus_message_demarshal((char *)pinger->peer.in.start + at, (int)head.size, NULL);
        if (message == NULL) continue;
        uint32_t index = dbus_message_get_reply_serial(message) - pinger->first;
        if (head.type == DBUS_MESSAGE_TYPE_METHOD_RETURN && index < pinger->sent && pinger->times[index] != 0) {
            pinger->delays[pinger->answered++] = now_us() - pinger->times[index];
            pinger->times[index] = 0;
        }
        dbus_message_unref(message);
    }
    peer_skip(&pinger->peer, at);
}

static int ascending(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static unsigned long long quantile(const struct pinger *pinger, double share) {
    if (pinger->answered == 0) return 0;
    uint64_t index = (uint64_t)(share * (double)pinger->answered);
    return pinger->delays[index < pinger->answered ? index : pinger->answered - 1];
}

int run_ping(const struct options *options) {
    static struct pinger pinger;
    if (options->to == NULL) die("ping needs --to NAME");
    peer_open(&pinger.peer, options->bus);
    pinger.count = options->seconds * 1000000 / INTERVAL_US;
    pinger.times = calloc(pinger.count + 1, sizeof *pinger.times);
    pinger.delays = calloc(pinger.count + 1, sizeof *pinger.delays);
    enough(pinger.times != NULL && pinger.delays != NULL);
    pinger.first = pinger.peer.serial + 1;
    printf("pinging\n");
    fflush(stdout);
    uint64_t start = now_us(), end = start + pinger.count * INTERVAL_US + PATIENCE_US;
    while (pinger.answered < pinger.count && now_us() < end) {
        uint64_t due = start + pinger.sent * INTERVAL_US, now = now_us();
        if (pinger.sent < pinger.count && now >= due) {
            pinger.times[pinger.sent++] = now;
            peer_queue(&pinger.peer, new_call(options->to, "/", DBUS_INTERFACE_PEER, "Ping"));
            continue;
        }
        if (!peer_write(&pinger.peer) || !peer_fill(&pinger.peer)) die("the bus closed the connection");
        take(&pinger);
        uint64_t next = pinger.sent < pinger.count ? due : end;
        struct pollfd polled = {
            .fd = pinger.peer.socket,
            .events = (short)(POLLIN | (pinger.peer.out.count > 0 ? POLLOUT : 0)),
        };
        now = now_us();
        int timeout = next > now ? (int)((next - now + 999) / 1000) : 0;
        if (pinger.answered < pinger.count && poll(&polled, 1, timeout) < 0 && errno != EINTR) {
            die("poll: %s", strerror(errno));
        }
    }
    qsort(pinger.delays, pinger.answered, sizeof *pinger.delays, ascending);
    printf("{\"pings\":%llu,\"answered\":%llu,\"p50_us\":%llu,\"p99_us\":%llu,\"max_us\":%llu}\n",
           (unsigned long long)pinger.sent, (unsigned long long)pinger.answered, quantile(&pinger, 0.5),
           quantile(&pinger, 0.99), quantile(&pinger, 1));
    return 0;
}
