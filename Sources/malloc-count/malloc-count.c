/*
 * Counts a program's heap allocations while it runs; to be loaded into it by LD_PRELOAD.
 *
 * The counts are kept in a file that is mapped and shared, so that whoever measures reads them whenever it likes, and the
 * program knows of nothing. A reallocation counts as one allocation, because it may be one.
 */
#include "malloc_count.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* What glibc itself calls: the usual way past an interposed function, dlsym, allocates. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Those of all threads, and those of the one that the program began with. */
enum { OF_ALL, OF_FIRST, COUNTS };

static _Atomic uint64_t unread[COUNTS];
static _Atomic uint64_t *counts = unread;
/* Reached without a call, which would allocate in its turn. */
static _Thread_local __attribute__((tls_model("initial-exec"))) int is_first;

__attribute__((constructor)) static void open_count(void) {
    is_first = 1;
    const char *path = getenv(MALLOC_COUNT_VARIABLE);
    if (path == NULL) return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *page = mmap(NULL, sizeof unread, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page != MAP_FAILED) counts = page;
}

static void note(void) {
    atomic_fetch_add_explicit(&counts[OF_ALL], 1, memory_order_relaxed);
    if (is_first) atomic_fetch_add_explicit(&counts[OF_FIRST], 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note();
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    note();
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *memory = memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *result = memory;
    return 0;
}
