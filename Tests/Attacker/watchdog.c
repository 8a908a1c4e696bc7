#include "attacker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Plays the service manager: hears the watchdog's pings, prints how long after the one before each comes, and says at SIGTERM
   how far they were apart. */
int run_watchdog(const struct options *options) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(options->bus) >= sizeof name.sun_path) die("the path is too long: %s", options->bus);
    strcpy(name.sun_path, options->bus);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct pollfd polled[] = {
        {.fd = signalfd(-1, &set, SFD_CLOEXEC), .events = POLLIN},
        {.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), .events = POLLIN},
    };
    if (polled[0].fd < 0 || bind(polled[1].fd, (struct sockaddr *)&name, sizeof name) < 0) {
        die("cannot listen at %s: %s", options->bus, strerror(errno));
    }
    printf("listening\n");
    fflush(stdout);
    uint64_t pings = 0, last = 0, longest = 0;
    bool ended = false;
    while (!ended) {
        if (poll(polled, 2, -1) < 0 && errno != EINTR) die("poll: %s", strerror(errno));
        ended = polled[0].revents != 0;
        char text[1024] = "";
        ssize_t count = polled[1].revents != 0 ? recv(polled[1].fd, text, sizeof text - 1, 0) : 0;
        bool pinged = count > 0 && strstr(text, "WATCHDOG=1") != NULL;
        if (!pinged && !ended) continue;
        uint64_t now = now_us();
        /* The time until we are asked counts as well: who is silent then may be silent for long. */
        uint64_t silence = last != 0 ? now - last : 0;
        if (silence > longest) longest = silence;
        last = now;
        if (!pinged) continue;
        pings++;
        printf("ping %llu\n", (unsigned long long)silence);
        fflush(stdout);
    }
    unlink(options->bus);
    printf("{\"pings\":%llu,\"longest_us\":%llu}\n", (unsigned long long)pings, (unsigned long long)longest);
    return 0;
}
