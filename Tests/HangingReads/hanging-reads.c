/*
 * Files that do not answer; to be loaded into a program by LD_PRELOAD.
 *
 * A file that begins with the mark names a FIFO, and who reads it at an offset reads that FIFO in its place: it waits in
 * the kernel until somebody writes there, as it does for a driver whose device does not answer.
 */
#include "hanging_reads.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const size_t mark = sizeof HANGING_READS_MARK - 1;

ssize_t pread64(int fd, void *bytes, size_t count, off64_t offset) {
    char text[PATH_MAX];
    ssize_t length = syscall(SYS_pread64, fd, text, sizeof text - 1, offset);
    if (length < (ssize_t)mark || memcmp(text, HANGING_READS_MARK, mark) != 0)
        return syscall(SYS_pread64, fd, bytes, count, offset);
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    /* Not by the library's function: another one that is preloaded may hold a lock meanwhile. */
    int fifo = (int)syscall(SYS_openat, AT_FDCWD, text + mark, O_RDONLY | O_CLOEXEC);
    if (fifo < 0) return -1;
    ssize_t result = syscall(SYS_read, fifo, bytes, count);
    int code = errno;
    syscall(SYS_close, fifo);
    errno = code;
    return result;
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) { return pread64(fd, bytes, count, offset); }
