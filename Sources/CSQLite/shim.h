/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// The declarations of SQLite's header. Those that Swift cannot see (variadic functions, macros with casts) have a name
// here that it can see. No logic.
#include <sqlite3.h>

/** Sets an option of a connection that is on or off. */
static inline int sqlite_configure(sqlite3 *connection, int option, int value) {
  return sqlite3_db_config(connection, option, value, (int *)0);
}
/** Binds a copy of the bytes; none of them is an empty text, not null. */
static inline int sqlite_bind_text(sqlite3_stmt *statement, int place, const void *bytes, sqlite3_uint64 size) {
  return sqlite3_bind_text64(statement, place, size ? (const char *)bytes : "", size, SQLITE_TRANSIENT, SQLITE_UTF8);
}
/** Binds a copy of the bytes; none of them is an empty blob, not null. */
static inline int sqlite_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, sqlite3_uint64 size) {
  return size ? sqlite3_bind_blob64(statement, place, bytes, size, SQLITE_TRANSIENT)
              : sqlite3_bind_zeroblob(statement, place, 0);
}
