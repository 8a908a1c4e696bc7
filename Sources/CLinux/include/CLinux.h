/* What module Glibc does not show of Linux, as plain functions over plain integers.
 *
 * The header includes no system header that needs a feature macro: a _GNU_SOURCE here would clash with module Glibc.
 * Every function answers as the system call does: -1 and errno on failure. All descriptors are close-on-exec. */
#ifndef JOSTLE_CLINUX_H
#define JOSTLE_CLINUX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sockaddr;

/* epoll */

static const uint32_t CLinux_EPOLLIN = 0x001;
static const uint32_t CLinux_EPOLLOUT = 0x004;
static const uint32_t CLinux_EPOLLERR = 0x008;
static const uint32_t CLinux_EPOLLHUP = 0x010;

static const int CLinux_EPOLL_CTL_ADD = 1;
static const int CLinux_EPOLL_CTL_DEL = 2;
static const int CLinux_EPOLL_CTL_MOD = 3;

/* The most events that one CLinux_epoll_wait fetches. */
enum { CLinux_EPOLL_BATCH = 64 };

/* A fetched event. The kernel's own struct is packed on some machines and holds a union; this one is neither. */
struct CLinux_event {
    uint64_t token;
    uint32_t events;
};

int CLinux_epoll_create(void);
int CLinux_epoll_ctl(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);
/* Fetches at most CLinux_EPOLL_BATCH events. The timeout is in milliseconds; -1 waits for ever. */
int CLinux_epoll_wait(int epoll, struct CLinux_event *events, int count, int timeout);

/* timerfd, eventfd, signalfd */

int CLinux_timerfd_create(int clock);
/* Arms the timer for an absolute point, or disarms it when both are zero. Either way it is unreadable until it expires. */
int CLinux_timerfd_settime(int descriptor, int64_t seconds, int32_t nanoseconds);
/*
 * Arms a timer of CLOCK_REALTIME so that nothing makes it readable but somebody who sets that clock. Fails with ECANCELED, and has
 * armed it all the same, when the clock was set since it was armed last.
 */
int CLinux_timerfd_await_set(int descriptor);

int CLinux_eventfd(void);
/* Makes an eventfd readable. Keeps errno, and may be called from any thread and from a signal handler. */
void CLinux_eventfd_ring(int descriptor);
/* Makes an eventfd unreadable again. */
void CLinux_eventfd_drain(int descriptor);

/* Sets of signals are bit masks here: bit n - 1 for signal n. */
int CLinux_signalfd(int descriptor, uint64_t signals);
/* Fetches one pending signal: its number, 0 when there is none. */
int CLinux_signalfd_read(int descriptor);
/* Adds signals to the calling thread's mask. */
int CLinux_block_signals(uint64_t signals);
/* Whether one of these signals, which the calling thread blocks, has arrived and waits. */
int CLinux_is_pending(uint64_t signals);
/* Sends the calling thread a signal that it blocks, and returns when that has done what it does. It stays blocked. */
int CLinux_raise_unblocked(int signal);
/* Has a call in which the program was stopped fail with EINTR when it is to go on, instead of being made again. */
void CLinux_interrupt_at_continuing(void);
/* Whether a signal is ignored. */
int CLinux_is_ignored(int number);
/* Has calls of the calling thread that wait in the kernel fail with EINTR from so many milliseconds on, until CLinux_interrupt_no_more.
 * Does nothing in a program that makes use of SIGURG itself, which else nothing comes of. */
void CLinux_interrupt_after(int milliseconds);
void CLinux_interrupt_no_more(void);

/* descriptors */

/* What the kernel holds of what was written to a socket, its own costs included; -1 when it does not say. */
int CLinux_unread_by_peer(int descriptor);
/* How many bytes have come into a socket and were not read; -1 when the kernel does not say. */
int CLinux_unread_by_us(int descriptor);
/* Whose the process is at the other end of a Unix socket, by the number of its user; of a server, who began to listen. -1 when the
 * kernel does not say, as of a socket of another kind. */
int64_t CLinux_peer_user(int descriptor);
/* Whether a descriptor was opened with O_PATH: most calls take it for none. */
int CLinux_names_only(int descriptor);

/* How many bytes of memory are in use, as malloc counts them. */
size_t CLinux_malloc_held(void);
/* Gives memory that is free back to the system. */
int CLinux_malloc_trim(size_t pad);
/* Takes the pages of the program and its libraries that are as in their files out of memory; what runs next brings its own back. */
void CLinux_unmap_code(void);

int CLinux_pipe2(int descriptors[2], int flags);
int CLinux_accept4(int descriptor, struct sockaddr *address, uint32_t *length, int flags);
int CLinux_memfd_create(const char *name, unsigned int flags);

static const unsigned int CLinux_MFD_CLOEXEC = 0x0001U;
static const unsigned int CLinux_MFD_ALLOW_SEALING = 0x0002U;

/* input devices */

struct CLinux_axis {
    int32_t value;
    int32_t least;
    int32_t most;
    int32_t resolution;
};

/* Where an axis (ABS_X and its like) is, and how far it reaches. */
int CLinux_input_axis(int descriptor, unsigned int axis, struct CLinux_axis *answer);
/* The states of the first 32 switches: bit n for switch n. */
int CLinux_input_switches(int descriptor, uint32_t *answer);

/* processes */

int CLinux_pidfd_open(pid_t process);
int CLinux_pidfd_send_signal(int descriptor, int signal);
/* Reaps the process behind a pidfd. Answers 1 when it has ended and fills in how: *killed tells whether *status is a
 * signal or an exit code. Answers 0 when it still runs. */
int CLinux_pidfd_reap(int descriptor, int *killed, int *status);
/* posix_spawnp with a clean signal state: nothing blocked, everything at its default. The sources stand for standard
 * input, output and error; -1 leaves one as it is. No environment means that of this process. Answers 0 or an error
 * number, not through errno. */
int CLinux_spawn(
    pid_t *process, const char *program, char *const *arguments, char *const *environment, const int *sources,
    int own_group);

/* mapped files that others may cut short */

/* Sees to SIGBUS from now on: what is mapped by the next call and is not there any more becomes empty memory. To be
 * called once. */
int CLinux_guard_mappings(void);
/* How often that has happened to the thread that asks. */
unsigned CLinux_mapping_strikes(void);
/* Whether the mapping in which this address is was struck since it was made. */
int CLinux_mapping_is_struck(const void *address);
/* mmap and munmap of what is to be guarded. From any thread; what is mapped is touched by the same one only. */
void *CLinux_guarded_mmap(void *wanted, size_t length, int protection, int flags, int descriptor, off_t offset);
int CLinux_guarded_munmap(void *start, size_t length);

#endif
