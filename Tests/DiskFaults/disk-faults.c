/*
 * A disk that fails on command; to be loaded into a program by LD_PRELOAD.
 *
 * What goes wrong is a byte in a file that is mapped and shared, so that a test can change it at any time. Only the calls
 * by which SQLite writes are looked at; reading goes well.
 */
#include "disk_faults.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char none = DISK_FAULT_NONE;
static const volatile char *fault = &none;

__attribute__((constructor)) static void open_control(void) {
    const char *path = getenv(DISK_FAULTS_VARIABLE);
    if (path == NULL) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    void *page = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) fault = page;
    close(fd);
}

/* Waits as long as nothing is to answer. Returns the error to fail with, or 0. */
static int strike(int at_sync) {
    while (*fault == DISK_FAULT_STALL) poll(NULL, 0, 5);
    switch (*fault) {
    case DISK_FAULT_WRITE: return at_sync ? 0 : EIO;
    case DISK_FAULT_FULL: return at_sync ? 0 : ENOSPC;
    case DISK_FAULT_SYNC: return at_sync ? EIO : 0;
    default: return 0;
    }
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    int code = strike(0);
    if (code != 0) {
        errno = code;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    return pwrite64(fd, bytes, count, offset);
}

static int sync_with(long number, int fd) {
    int code = strike(1);
    if (code != 0) {
        errno = code;
        return -1;
    }
    return (int)syscall(number, fd);
}

int fsync(int fd) {
    return sync_with(SYS_fsync, fd);
}

int fdatasync(int fd) {
    return sync_with(SYS_fdatasync, fd);
}
