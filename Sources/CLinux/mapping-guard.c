/*
 * Mapped files that others may cut short. Touching what is not there any more raises SIGBUS; here such a mapping gets
 * empty memory of our own in its place, the touch goes on, and whoever mapped it finds out by the count of strikes.
 *
 * Only mappings that were made by CLinux_guarded_mmap are treated so; for any other the signal does what it did before.
 */
#include "CLinux.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

/* SQLite maps 32 KiB at a time, which is enough for 16 MiB of a write-ahead log. */
enum { most_mappings = 2048 };

struct mapping {
    _Atomic uintptr_t start; /* 0: the place is free. */
    _Atomic size_t length;
    _Atomic int is_struck;
};

static struct mapping mappings[most_mappings];
/* The signal comes to the thread that touched the mapping, and so does the count: what is mapped belongs to one thread. Not
 * made when it is first touched, which a signal could not wait for. */
static _Thread_local volatile unsigned strikes __attribute__((tls_model("initial-exec")));
static struct sigaction before;

/* Runs on the thread that touched the mapping, in the middle of anything. */
static void on_bus_error(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    int kept = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (info->si_code == BUS_ADRERR) {
        for (int index = 0; index < most_mappings; index += 1) {
            uintptr_t start = atomic_load(&mappings[index].start);
            size_t length = atomic_load(&mappings[index].length);
            if (start == 0 || address < start || address - start >= length) continue;
            int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
            if (mmap((void *)start, length, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) break;
            atomic_store(&mappings[index].is_struck, 1);
            strikes += 1;
            errno = kept;
            return;
        }
    }
    /* Not ours: the same touch raises it again, for whoever saw to it before. */
    sigaction(SIGBUS, &before, NULL);
    errno = kept;
}

int CLinux_guard_mappings(void) {
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &before);
}

unsigned CLinux_mapping_strikes(void) {
    return strikes;
}

int CLinux_mapping_is_struck(const void *address) {
    for (int index = 0; index < most_mappings; index += 1) {
        uintptr_t start = atomic_load(&mappings[index].start);
        size_t length = atomic_load(&mappings[index].length);
        if (start == 0 || (uintptr_t)address < start || (uintptr_t)address - start >= length) continue;
        return atomic_load(&mappings[index].is_struck);
    }
    return 0;
}

void *CLinux_guarded_mmap(void *wanted, size_t length, int protection, int flags, int descriptor, off_t offset) {
    int index = 0;
    uintptr_t none = 0;
    /* Taken with a length of 0, which no address is within. */
    while (index < most_mappings && !atomic_compare_exchange_strong(&mappings[index].start, &none, 1)) {
        index += 1;
        none = 0;
    }
    if (index == most_mappings) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *start = mmap(wanted, length, protection, flags, descriptor, offset);
    if (start == MAP_FAILED) {
        atomic_store(&mappings[index].start, 0);
        return start;
    }
    atomic_store(&mappings[index].is_struck, 0);
    atomic_store(&mappings[index].start, (uintptr_t)start);
    atomic_store(&mappings[index].length, length);
    return start;
}

int CLinux_guarded_munmap(void *start, size_t length) {
    for (int index = 0; index < most_mappings; index += 1) {
        if (atomic_load(&mappings[index].start) != (uintptr_t)start) continue;
        atomic_store(&mappings[index].length, 0);
        int result = munmap(start, length);
        int kept = errno;
        atomic_store(&mappings[index].start, 0);
        errno = kept;
        return result;
    }
    return munmap(start, length);
}
