#define _GNU_SOURCE

#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/input.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

_Static_assert(EPOLLIN == 0x001 && EPOLLOUT == 0x004 && EPOLLERR == 0x008 && EPOLLHUP == 0x010, "epoll events");
_Static_assert(EPOLL_CTL_ADD == 1 && EPOLL_CTL_DEL == 2 && EPOLL_CTL_MOD == 3, "epoll operations");
_Static_assert(MFD_CLOEXEC == 0x0001U && MFD_ALLOW_SEALING == 0x0002U, "memfd flags");

/* epoll */

int CLinux_epoll_create(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

int CLinux_epoll_ctl(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}

int CLinux_epoll_wait(int epoll, struct CLinux_event *events, int count, int timeout) {
    struct epoll_event fetched[CLinux_EPOLL_BATCH];
    int result = epoll_wait(epoll, fetched, count < CLinux_EPOLL_BATCH ? count : CLinux_EPOLL_BATCH, timeout);
    for (int index = 0; index < result; index++) {
        events[index].token = fetched[index].data.u64;
        events[index].events = fetched[index].events;
    }
    return result;
}

/* timerfd, eventfd, signalfd */

int CLinux_timerfd_create(int clock) {
    return timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK);
}

int CLinux_timerfd_settime(int descriptor, int64_t seconds, int32_t nanoseconds) {
    struct itimerspec value = {.it_value = {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &value, NULL);
}

int CLinux_timerfd_await_set(int descriptor) {
    /* The end of all time, which the kernel cuts to its own. */
    struct itimerspec value = {.it_value = {.tv_sec = INT64_MAX}};
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &value, NULL);
}

int CLinux_eventfd(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void CLinux_eventfd_ring(int descriptor) {
    int kept = errno;
    uint64_t one = 1;
    /* EAGAIN means that the counter is at its end, and so the descriptor readable already. */
    while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {
    }
    errno = kept;
}

void CLinux_eventfd_drain(int descriptor) {
    uint64_t count;
    while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

static void fill(sigset_t *set, uint64_t signals) {
    sigemptyset(set);
    for (int signal = 1; signal <= 64; signal++) {
        if (signals >> (signal - 1) & 1) {
            sigaddset(set, signal);
        }
    }
}

int CLinux_signalfd(int descriptor, uint64_t signals) {
    sigset_t set;
    fill(&set, signals);
    return signalfd(descriptor, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int CLinux_signalfd_read(int descriptor) {
    struct signalfd_siginfo info;
    ssize_t length = read(descriptor, &info, sizeof info);
    if (length < 0) {
        return errno == EAGAIN ? 0 : -1;
    }
    return length == sizeof info ? (int)info.ssi_signo : 0;
}

int CLinux_is_ignored(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int CLinux_block_signals(uint64_t signals) {
    sigset_t set;
    fill(&set, signals);
    int code = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (code != 0) {
        errno = code;
        return -1;
    }
    return 0;
}

int CLinux_is_pending(uint64_t signals) {
    sigset_t pending;
    if (sigpending(&pending) != 0) {
        return 0;
    }
    for (int signal = 1; signal <= 64; signal++) {
        if ((signals >> (signal - 1) & 1) != 0 && sigismember(&pending, signal) == 1) {
            return 1;
        }
    }
    return 0;
}

int CLinux_raise_unblocked(int signal) {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, signal);
    int code = pthread_sigmask(SIG_UNBLOCK, &set, &before);
    if (code == 0) {
        raise(signal);
        code = pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (code != 0) {
        errno = code;
        return -1;
    }
    return 0;
}

/* Of interrupts there is one signal for all threads, which nothing comes of by itself, and a timer for each. */
static pthread_once_t interrupts_once = PTHREAD_ONCE_INIT;
static _Thread_local int interrupts_run;
static _Thread_local timer_t interrupts_timer;
static _Thread_local sigset_t interrupts_mask;

static void interrupted(int number) {
    (void)number;
}

void CLinux_interrupt_at_continuing(void) {
    struct sigaction action = {.sa_handler = interrupted};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCONT, &action, NULL);
}

/* Once and for good: taken back in one thread, the signal would miss its handler in another. */
static void prepare_interrupts(void) {
    struct sigaction before, action = {.sa_handler = interrupted};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGURG, NULL, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0) {
        return;
    }
    if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
        sigaction(SIGURG, &action, NULL);
    }
}

/* A program may take the signal for itself later, and what it does with one of ours is not known. */
static int interrupts_are_ours(void) {
    struct sigaction now;
    return sigaction(SIGURG, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == interrupted;
}

void CLinux_interrupt_after(int milliseconds) {
    pthread_once(&interrupts_once, prepare_interrupts);
    if (interrupts_run || !interrupts_are_ours()) {
        return;
    }
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &interrupts_timer) != 0) {
        return;
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGURG);
    if (pthread_sigmask(SIG_UNBLOCK, &set, &interrupts_mask) != 0) {
        timer_delete(interrupts_timer);
        return;
    }
    interrupts_run = 1;
    /* Again and again: the first may come just before the call that is to be interrupted, or there are several. */
    struct itimerspec times = {
        .it_value = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L},
        .it_interval = {.tv_nsec = 10000000L},
    };
    timer_settime(interrupts_timer, 0, &times, NULL);
}

void CLinux_interrupt_no_more(void) {
    if (interrupts_run) {
        interrupts_run = 0;
        timer_delete(interrupts_timer);
        pthread_sigmask(SIG_SETMASK, &interrupts_mask, NULL);
    }
}

/* descriptors */

int CLinux_pipe2(int descriptors[2], int flags) {
    return pipe2(descriptors, flags | O_CLOEXEC);
}

int CLinux_accept4(int descriptor, struct sockaddr *address, uint32_t *length, int flags) {
    return accept4(descriptor, address, length, flags | SOCK_CLOEXEC);
}

int CLinux_memfd_create(const char *name, unsigned int flags) {
    return memfd_create(name, flags | MFD_CLOEXEC);
}

/* input devices */

int CLinux_input_axis(int descriptor, unsigned int axis, struct CLinux_axis *answer) {
    struct input_absinfo info = {0};
    if (ioctl(descriptor, EVIOCGABS(axis), &info) < 0) return -1;
    *answer = (struct CLinux_axis){info.value, info.minimum, info.maximum, info.resolution};
    return 0;
}

int CLinux_input_switches(int descriptor, uint32_t *answer) {
    /* The kernel's own words: those that we need stand in the first. */
    unsigned long bits[SW_MAX / (8 * sizeof(long)) + 1] = {0};
    if (ioctl(descriptor, EVIOCGSW(sizeof bits), bits) < 0) return -1;
    *answer = (uint32_t)bits[0];
    return 0;
}

/* processes */

int CLinux_pidfd_open(pid_t process) {
    return (int)syscall(SYS_pidfd_open, process, 0);
}

int CLinux_pidfd_send_signal(int descriptor, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 0);
}

int CLinux_pidfd_reap(int descriptor, int *killed, int *status) {
    siginfo_t info = {.si_pid = 0};
    if (waitid((idtype_t)P_PIDFD, (id_t)descriptor, &info, WEXITED | WNOHANG) < 0) {
        return -1;
    }
    if (info.si_pid == 0) {
        return 0;
    }
    *killed = info.si_code != CLD_EXITED;
    *status = info.si_status;
    return 1;
}

/* A parent may have left us with SIGCHLD ignored, and then the kernel would throw away how our children end. */
static void keep_endings(void) {
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) < 0) {
        return;
    }
    if (action.sa_handler == SIG_IGN) {
        action.sa_handler = SIG_DFL;
    } else if ((action.sa_flags & SA_NOCLDWAIT) == 0) {
        return;
    }
    action.sa_flags &= ~SA_NOCLDWAIT;
    sigaction(SIGCHLD, &action, NULL);
}

int CLinux_spawn(
    pid_t *process, const char *program, char *const *arguments, char *const *environment, const int *sources,
    int own_group) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int raised[3] = {-1, -1, -1};

    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) {
        return code;
    }
    code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }

    for (int target = 0; target < 3 && code == 0; target++) {
        int source = sources[target];
        if (source < 0) {
            continue;
        }
        /* A source that is itself one of the three might be overwritten before its turn: use a copy out of the way.
         * A source that is its own target stays; dup2 onto itself clears its close-on-exec. */
        if (source < 3 && source != target) {
            raised[target] = fcntl(source, F_DUPFD_CLOEXEC, 3);
            if (raised[target] < 0) {
                code = errno;
                break;
            }
            source = raised[target];
        }
        code = posix_spawn_file_actions_adddup2(&actions, source, target);
    }

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    /* Ours are all close-on-exec, but a library's or an inherited one need not be. */
    if (code == 0) {
        code = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    }
#endif

    if (code == 0) {
        short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (own_group ? POSIX_SPAWN_SETPGROUP : 0);
        sigemptyset(&none);
        sigfillset(&all);
        sigdelset(&all, SIGKILL);
        sigdelset(&all, SIGSTOP);
        posix_spawnattr_setflags(&attributes, flags);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setpgroup(&attributes, 0);
        keep_endings();
        code = posix_spawnp(
            process, program, &actions, &attributes, arguments, environment != NULL ? environment : environ);
    }

    for (int target = 0; target < 3; target++) {
        if (raised[target] >= 0) {
            close(raised[target]);
        }
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* descriptors of others */

int CLinux_names_only(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && (flags & O_PATH) != 0;
}

/* memory */

int CLinux_unread_by_peer(int descriptor) {
    int bytes = 0;
    return ioctl(descriptor, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

int CLinux_unread_by_us(int descriptor) {
    int bytes = 0;
    return ioctl(descriptor, SIOCINQ, &bytes) == 0 ? bytes : -1;
}

int64_t CLinux_peer_user(int descriptor) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer) return -1;
    return peer.uid == (uid_t)-1 ? -1 : (int64_t)peer.uid;
}

size_t CLinux_malloc_held(void) {
    const struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

int CLinux_malloc_trim(size_t pad) {
    return malloc_trim(pad);
}

static int unmap_code(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    const uintptr_t page = *(const uintptr_t *)context;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        /* What can be written is not as it is in the file. We have no relocations in code. */
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0) continue;
        const uintptr_t start = (object->dlpi_addr + segment->p_vaddr + page - 1) & ~(page - 1);
        const uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        /* Nothing depends on it: what cannot be done leaves all as it was. */
        if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void CLinux_unmap_code(void) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    dl_iterate_phdr(unmap_code, &page);
}
