/*
 * test-tether: runs one program for a test and lets nothing outlive it.
 *
 *     test-tether [--remove DIRECTORY] [PROGRAM ARGUMENT...]
 *
 * Descriptor 3 is the lifeline, a socket whose other end only the test process holds. A byte in it is a signal to pass
 * on to the program; its end, which comes even when the test process crashes, ends the program. PR_SET_PDEATHSIG alone
 * cannot do this for a test: it follows the thread that started the child, and the threads of a pool come and go.
 *
 * Descriptor 4 takes the report: "pid N" once the program runs or "failed ERRNO" if it cannot be started, then
 * "exited N" or "killed N". It is closed when every descendant is gone and the directory removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LIFELINE = 3,
    REPORT = 4,
    /* How long a program may take to end by itself after SIGTERM. */
    GRACE_MS = 5000,
};

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void die(const char *what) {
    fprintf(stderr, "test-tether: %s: %s\n", what, strerror(errno));
    exit(126);
}

/* The reader may be gone: that is one of the cases this program exists for. */
static void report(const char *word, int value) {
    dprintf(REPORT, "%s %d\n", word, value);
}

static pid_t start(char **arguments) {
    /* The program's end of this pipe closes by itself at a successful exec. */
    int trouble[2];
    if (pipe2(trouble, O_CLOEXEC) < 0) die("pipe2");
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) {
        /* This process has one thread, so the death signal means the process here. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) {
            sigset_t none;
            sigemptyset(&none);
            sigprocmask(SIG_SETMASK, &none, NULL);
            signal(SIGPIPE, SIG_DFL);
            execvp(arguments[0], arguments);
        }
        int error = errno;
        if (write(trouble[1], &error, sizeof error) < 0) _exit(126);
        _exit(127);
    }
    close(trouble[1]);
    int error;
    ssize_t count;
    do count = read(trouble[0], &error, sizeof error);
    while (count < 0 && errno == EINTR);
    close(trouble[0]);
    if (count == sizeof error) {
        report("failed", error);
    } else {
        report("pid", pid);
    }
    return pid;
}

/* Signals the children this process has now: the program, or orphans it left, which the kernel hands to us. */
static void signal_children(int number) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (file == NULL) return;
    int pid;
    while (fscanf(file, "%d", &pid) == 1) kill(pid, number);
    fclose(file);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *position) {
    (void)status, (void)kind, (void)position;
    return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

/* Programs on other tethers may still be writing there while they end, so a directory that fills again is retried. */
static bool remove_directory(const char *path) {
    long long deadline = now_ms() + GRACE_MS;
    while (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0) {
        if (errno == ENOENT) return true;
        if (errno != ENOTEMPTY || now_ms() >= deadline) return false;
        poll(NULL, 0, 10);
    }
    return true;
}

struct tether {
    /* The program, or 0 when it has been reaped and its pid may belong to another. */
    pid_t program;
    bool ending;
    long long deadline;
};

/* Reaps what has ended; false when no child is left. */
static bool reap(struct tether *tether) {
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == 0) return true;
        if (pid < 0) return errno != ECHILD;
        if (pid != tether->program) continue;
        tether->program = 0;
        if (WIFSIGNALED(status)) {
            report("killed", WTERMSIG(status));
        } else {
            report("exited", WEXITSTATUS(status));
        }
    }
}

static void begin_end(struct tether *tether) {
    if (tether->ending) return;
    tether->ending = true;
    tether->deadline = now_ms() + GRACE_MS;
    if (tether->program > 0) kill(tether->program, SIGTERM);
}

/* Passes signals on; false at the end of the lifeline. */
static bool read_lifeline(const struct tether *tether) {
    unsigned char numbers[16];
    ssize_t count = read(LIFELINE, numbers, sizeof numbers);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    for (ssize_t index = 0; index < count; index++) {
        if (tether->program > 0) kill(tether->program, numbers[index]);
    }
    return count > 0;
}

static void supervise(struct tether *tether, int signals) {
    struct pollfd polled[] = {{.fd = LIFELINE, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    while (reap(tether)) {
        /* What the program leaves behind ends with it. */
        if (tether->program == 0) begin_end(tether);
        int timeout = -1;
        if (tether->ending) {
            /* Orphans become our children when their parent ends, and SIGCHLD wakes us then. */
            long long left = tether->deadline - now_ms();
            if (left <= 0) {
                if (tether->program > 0) kill(tether->program, SIGKILL);
                signal_children(SIGKILL);
                left = GRACE_MS;
            } else if (tether->program == 0) {
                signal_children(SIGTERM);
            }
            timeout = (int)left;
        }
        if (poll(polled, 2, timeout) < 0 && errno != EINTR) die("poll");
        if (polled[1].revents != 0) {
            struct signalfd_siginfo signal;
            ssize_t count = read(signals, &signal, sizeof signal);
            if (count == sizeof signal && signal.ssi_signo != SIGCHLD) begin_end(tether);
        }
        if (polled[0].revents != 0 && !read_lifeline(tether)) {
            polled[0].fd = -1;
            begin_end(tether);
        }
    }
}

/* Without a program there is nothing to do but to wait for the end of the lifeline. */
static void wait_for_end(int signals) {
    struct pollfd polled[] = {{.fd = LIFELINE, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        if (poll(polled, 2, -1) < 0 && errno != EINTR) die("poll");
        struct tether none = {0};
        if (polled[1].revents != 0) return;
        if (polled[0].revents != 0 && !read_lifeline(&none)) return;
    }
}

int main(int count, char **arguments) {
    const char *directory = NULL;
    char **program = arguments + 1;
    if (count >= 3 && strcmp(arguments[1], "--remove") == 0) {
        directory = arguments[2];
        program = arguments + 3;
    }
    if (fcntl(LIFELINE, F_SETFD, FD_CLOEXEC) < 0 || fcntl(REPORT, F_SETFD, FD_CLOEXEC) < 0) die("descriptors 3 and 4");
    /* What the test process was given without close-on-exec is none of the program's business. */
    close_range(REPORT + 1, ~0U, 0);
    signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) die("signalfd");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) die("prctl");
    if (*program != NULL) {
        struct tether tether = {.program = start(program)};
        /* Only the program may hold its pipes open, or their readers would wait for us. */
        close(0), close(1);
        supervise(&tether, signals);
    } else {
        wait_for_end(signals);
    }
    if (directory != NULL && !remove_directory(directory)) die("cannot remove the directory");
    return 0;
}
