// What Swift cannot call of SQLite: functions that take SQLITE_TRANSIENT, which is a cast and no constant.
#pragma once

#include <sqlite3.h>

// Both copy what they are given before they return.
static inline int CSQLite_bind_text(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int CSQLite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
