/*
 * A disk that fails on command; to be loaded into a program by LD_PRELOAD.
 *
 * What goes wrong is a byte in a file that is mapped and shared, so that a test can change it at any time. Only the calls
 * by which SQLite writes are looked at, those that list or watch a directory, and those that open files of policy and of
 * apps; other reading goes well.
 *
 * Besides, it can keep beside the files what would be left of them without power: of each what was in it when it was synced last.
 */
#include "disk_faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    case DISK_FAULT_QUOTA: return at_sync ? 0 : EDQUOT;
    case DISK_FAULT_SYNC: return at_sync ? EIO : 0;
    default: return 0;
    }
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if (strstr(path, ".conf") != NULL)
        while (*fault == DISK_FAULT_HANG) poll(NULL, 0, 5);
    if ((*fault == DISK_FAULT_NO_CONF && strstr(path, ".conf") != NULL)
        || (*fault == DISK_FAULT_NO_CURSOR && strstr(path, ".cursor") != NULL)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

typedef struct dirent *lister(DIR *);

struct dirent *readdir(DIR *directory) {
    static lister *next;
    if (*fault == DISK_FAULT_LIST) {
        errno = EIO;
        return NULL;
    }
    lister *real = next;
    if (!real) next = real = (lister *)dlsym(RTLD_NEXT, "readdir");
    return real(directory);
}

int inotify_init1(int flags) {
    if (*fault == DISK_FAULT_WATCH) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_inotify_init1, flags);
}

int inotify_add_watch(int fd, const char *path, uint32_t mask) {
    if (*fault == DISK_FAULT_NO_WATCHES) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_inotify_add_watch, fd, path, mask);
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

/* Writes to `path` where something of the file is kept; returns 0 when nothing is. */
static int kept(char *path, size_t size, const char *file, const char *suffix) {
    const char *directory = getenv(DISK_KEPT_VARIABLE);
    const char *name = strrchr(file, '/');
    return directory != NULL && name != NULL && snprintf(path, size, "%s%s%s", directory, name, suffix) < (int)size;
}

/*
 * Copies the file into the directory of what is kept, all of it or nothing. What cannot be copied was not kept: a test finds it
 * missing. The file is not opened again, because closing it would drop the locks that SQLite has on it.
 */
static void keep(int fd) {
    char link[64], path[PATH_MAX], part[PATH_MAX], whole[PATH_MAX], bytes[65536];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = '\0';
    if (!kept(whole, sizeof whole, path, "") || !kept(part, sizeof part, path, ".part")) return;
    int target = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (target < 0) return;
    off_t offset = 0;
    ssize_t count;
    while ((count = pread(fd, bytes, sizeof bytes, offset)) > 0) {
        if (write(target, bytes, (size_t)count) != count) break;
        offset += count;
    }
    if (count == 0) rename(part, whole);
    close(target);
}

/* SQLite syncs the directory after this: what is removed does not come back. */
int unlink(const char *path) {
    char whole[PATH_MAX];
    int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (result == 0 && kept(whole, sizeof whole, path, "")) syscall(SYS_unlinkat, AT_FDCWD, whole, 0);
    return result;
}

/* Whether something behind the first two pages of a database is to be read, which fails. */
static int is_unreadable(int fd, off64_t offset) {
    char link[64], path[PATH_MAX];
    if (*fault != DISK_FAULT_READ || offset < 2 * 4096) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    return length > 3 && memcmp(path + length - 3, ".db", 3) == 0;
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t offset) {
    if (is_unreadable(fd, offset)) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, bytes, count, offset);
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
    return pread64(fd, bytes, count, offset);
}

/* Whether a file is as large as what begins a -wal, and two pages with what stands before each. */
static int has_two_commits(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size == 32 + 2 * (24 + 4096);
}

static int sync_with(long number, int fd) {
    int code = strike(1);
    if (*fault == DISK_FAULT_SLOW) poll(NULL, 0, 300);
    if (*fault == DISK_FAULT_SECOND_COMMIT && has_two_commits(fd)) code = EIO;
    if (code != 0) {
        errno = code;
        return -1;
    }
    int result = (int)syscall(number, fd);
    if (result == 0) {
        int before = errno;
        keep(fd);
        errno = before;
    }
    return result;
}

int fsync(int fd) {
    return sync_with(SYS_fsync, fd);
}

int fdatasync(int fd) {
    return sync_with(SYS_fdatasync, fd);
}
