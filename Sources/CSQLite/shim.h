// What Swift cannot call of SQLite: functions that take SQLITE_TRANSIENT, which is a cast and no constant, and those with
// any number of arguments or with pointers to functions of any kind.
#pragma once

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>
#include <unistd.h>

// Has SQLite count no memory. To be called before anything else of it.
static inline int CSQLite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// Both copy what they are given before they return.
static inline int CSQLite_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int CSQLite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int CSQLite_stop(void *unused) { return unused == 0; }

// Has each statement end with SQLITE_INTERRUPT when it has taken so many steps of SQLite's machine; 0: none does.
static inline void CSQLite_limit_steps(sqlite3 *database, int steps) {
    sqlite3_progress_handler(database, steps, CSQLite_stop, (void *)0);
}

// Whether closing the file leaves what stands in -wal there.
static inline int CSQLite_keep_wal_unmerged(sqlite3 *database, int is_kept) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_kept, (int *)0);
}

// Reads of a file that SQLite has open: the database itself (SQLITE_FCNTL_FILE_POINTER) or -wal (SQLITE_FCNTL_JOURNAL_POINTER).
// SQLITE_NOTFOUND while there is none.
static inline int CSQLite_read(sqlite3 *database, int which, void *bytes, int count, sqlite3_int64 from) {
    sqlite3_file *file = (sqlite3_file *)0;
    int result = sqlite3_file_control(database, "main", which, &file);
    if (result != SQLITE_OK) return result;
    if (file == 0 || file->pMethods == 0) return SQLITE_NOTFOUND;
    return file->pMethods->xRead(file, bytes, count, from);
}

// A piece, of 32 KiB, of the index of -wal that SQLite shares with others (-shm), where it has it mapped; NULL where there is none.
static inline const void *CSQLite_shared_piece(sqlite3 *database, int index) {
    sqlite3_file *file = (sqlite3_file *)0;
    sqlite3_file *wal = (sqlite3_file *)0;
    void volatile *piece = (void volatile *)0;
    if (sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal) != SQLITE_OK) return 0;
    if (wal == 0 || wal->pMethods == 0) return 0;
    if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return 0;
    if (file == 0 || file->pMethods == 0 || file->pMethods->iVersion < 2 || file->pMethods->xShmMap == 0) return 0;
    if (file->pMethods->xShmMap(file, index, 32768, 0, &piece) != SQLITE_OK) return 0;
    return (const void *)piece;
}

// Whether the first piece begins as one does, in both copies of its header; 0: somebody cut it short, and SQLite made it longer again.
static inline int CSQLite_begins_as_shared(const void *piece) {
    const volatile unsigned *words = (const volatile unsigned *)piece;
    return words[0] != 0 && words[12] != 0;
}

// As pread. Where a disk fails, SQLite says of these errors that the file is damaged, and of others that it could not be read.
static inline ssize_t CSQLite_pread(int fd, void *bytes, size_t count, off_t from) {
    ssize_t result = pread(fd, bytes, count, from);
    if (result < 0 && (errno == EIO || errno == ENXIO)) errno = EREMOTEIO;
    return result;
}

// What SQLite says then.
static const int CSQLite_unread = SQLITE_IOERR_READ;

// As pwrite. Of a quota that is used up SQLite says that the disk fails, and only of a disk that is full that room is missing.
static inline ssize_t CSQLite_pwrite(int fd, const void *bytes, size_t count, off_t to) {
    ssize_t result = pwrite(fd, bytes, count, to);
    if (result < 0 && errno == EDQUOT) errno = ENOSPC;
    return result;
}

// Has SQLite read and write by these, from the next file on that is opened. It may have been built for either name.
static inline int CSQLite_tell_apart(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find((const char *)0);
    if (vfs == 0 || vfs->iVersion < 3 || vfs->xSetSystemCall == 0 || sizeof(off_t) != 8) return SQLITE_NOTFOUND;
    int result = vfs->xSetSystemCall(vfs, "pread", (sqlite3_syscall_ptr)CSQLite_pread);
    if (result == SQLITE_OK) result = vfs->xSetSystemCall(vfs, "pread64", (sqlite3_syscall_ptr)CSQLite_pread);
    if (result == SQLITE_OK) result = vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)CSQLite_pwrite);
    return result != SQLITE_OK ? result : vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)CSQLite_pwrite);
}

// Has SQLite map and unmap files by other functions, from the next file on that is opened. They are as mmap and munmap.
static inline int CSQLite_map_with(
    void *(*map)(void *, size_t, int, int, int, long), int (*unmap)(void *, size_t)) {
    sqlite3_vfs *vfs = sqlite3_vfs_find((const char *)0);
    if (vfs == 0 || vfs->iVersion < 3 || vfs->xSetSystemCall == 0) return SQLITE_NOTFOUND;
    int result = vfs->xSetSystemCall(vfs, "mmap", (sqlite3_syscall_ptr)map);
    return result != SQLITE_OK ? result : vfs->xSetSystemCall(vfs, "munmap", (sqlite3_syscall_ptr)unmap);
}
