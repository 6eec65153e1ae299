/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/**
 * segue.h: Handoff on Linux, for any language.
 *
 * An app states what its user is doing (an ACTIVITY: type, title, state, web page). Any other app of the same team,
 * on any device of the same user, can CONTINUE it: same document, same page, same cursor. This header is the only
 * public one, and it is the manual. Rule numbers (R3.2) are those of docs/handoff.md.
 *
 *     segue_app *app;
 *     segue_activity *activity;
 *     check(segue_app_create("com.example.notes", SEGUE_NUL_TERMINATED, &app));
 *     check(segue_app_open(app));
 *     check(segue_activity_create(app, "com.example.notes.editing", SEGUE_NUL_TERMINATED, &activity));
 *     check(segue_activity_set_title(activity, "Shopping list", SEGUE_NUL_TERMINATED));
 *     check(segue_activity_become_current(activity));
 *     while (running) check(segue_app_dispatch(app, -1, NULL));
 *
 * where check is yours: for a status other than SEGUE_OK it shows the text of segue_last_error, and gives up. Without
 * it a program whose app cannot open (a runtime folder that is not safe, a name that is empty) does nothing, silently.
 *
 * CONCEPTS
 *   app           one open of the library: identifier, team, the activity types that it can continue
 *   team          a name that the apps of one maker share: they may continue each other's activities. An app that names
 *                 none is a team of its own
 *   activity      what the user is doing in an app; while it is current, it is offered to other apps
 *   offer         the small description of an activity that other apps get; an app sees those that it could continue
 *   origin        the app that offers an activity, and gives its state to receivers
 *   receiver      the app that continues it
 *   continuation  one attempt of a receiver to take an activity over from its origin
 *   snapshot      the activity as it was last saved; receivers get it
 *   payload       the encoded snapshot, on its way to a receiver
 *   receipt       the record of how a continuation ended, for the origin
 *   hub           connects the apps of a device; it runs inside the first app that opens, and moves when that app ends
 *   agent         segue-agent, a process of the user that carries the hub instead, if one runs (docs/agent.md)
 *   delegate      the callbacks of an app or of an activity
 *   responder     an object of the app, such as a window, that has an activity (section 11)
 *   document      an open file, which has a responder (section 12)
 *   value         immutable data: what user_info holds. A value is its deterministic encoding (CBOR, RFC 8949 4.2.1)
 *
 * SHAPE. segue_status segue_<noun>_<verb>(self, inputs..., outputs...). Zero is success. Outputs are written only on
 * success, and every output pointer may be NULL unless its text says "required". Every pointer, length, UTF-8 string,
 * enumerator and handle is checked: bad input is an error with a message (segue_last_error), never a crash.
 *
 * HANDLES. segue_activity * and similar types are tickets, not addresses: never dereference them or calculate with
 * them. A handle that is NULL, released, of another type or junk gives SEGUE_ERROR_INVALID_HANDLE. An object has one
 * handle for life, so handles can be compared (but two offers may describe one activity: compare segue_offer_get_id).
 * Handles are counted: create gives one count, segue_retain adds one, segue_release takes one. One release too many is
 * SEGUE_ERROR_INVALID_HANDLE. What the last release of an object ends is said at its type.
 *
 * OWNERSHIP. Each pointer parameter is described with one of these words:
 *   owned      yours: release a handle with segue_release, memory with segue_free
 *   borrowed   used during this call only (in a callback: valid until the callback returns; retain it to keep it)
 *   copied     read during this call, never kept
 *   retained   the library takes its own count; yours stays yours
 *   attached   a delegate: the library uses it until your last release, so keep your count
 *   kept       a context: the library stores the pointer until its destroy runs
 *   out        written on success
 * Getters give copies or counted immutable objects. These stay valid, whatever other threads do (R1.13).
 *
 * STRINGS are UTF-8 with a length in bytes. NUL bytes inside are legal; pass SEGUE_NUL_TERMINATED as the length of a
 * C string. Strings that the library returns have a NUL after their length. Dates are seconds since
 * 1970-01-01T00:00:00Z as a double; SEGUE_NO_DATE (not a number) means none. Durations are milliseconds.
 * timeout_ms bounds a call, or the work that the call begins, which then fails; 0 stands for the default that the
 * function names. wait_ms bounds a wait for work. A wait that ends without work is no error.
 *
 * THREADS. Every function may be called from any thread. The first segue_app_open starts one library thread for all
 * sockets and timers, with all signals blocked. An attachment transfer has one or two threads of its own. YOUR
 * callbacks run where you choose, app by app:
 *   SEGUE_DELIVER_HOST    (default) inside segue_app_dispatch, on the thread that calls it; nothing else runs them,
 *                         but segue_app_close and the last release of the app run those that end pending work.
 *                         segue_app_fd tells you when to call it.
 *   SEGUE_DELIVER_THREAD  on a second library thread that belongs to the app: one callback at a time, in order.
 *
 * CALLBACKS are a function and a context. `destroy` is called exactly once with the context, when the library will
 * never use it again, also when the registration fails. It may run on any thread, also one of the library's, and inside
 * the call that releases or replaces the callback. If the registering call fails, the callback never runs. The library
 * holds no lock while it calls you. A callback may call every function but these, which give SEGUE_ERROR_BUSY:
 * segue_app_dispatch and segue_app_close of its own app; segue_app_close of an app that waits for this callback; and
 * those that advance a fleet (section 16). Calls that ask the agent work (section 14), but no callback of the app runs
 * until they return. A log callback calls segue_version only.
 *
 * WHAT THE LIBRARY DOES TO YOUR PROCESS. It starts only the threads named above. It installs no signal handler, raises
 * no SIGPIPE, writes no environment variable and no locale, and prints nothing, unless SEGUE_LOG asks for it, or a
 * program links both libraries in the wrong order (section 16). All its descriptors are close-on-exec. They have the
 * lowest free numbers: a process that closes 0, 1 or 2 should open /dev/null there first. After fork in a process that
 * has opened an app, these work in the child: the functions of section 2, segue_retain and segue_release of their
 * handles, segue_free, segue_version, segue_last_error, segue_status_name and segue_status_foundation_code. All others
 * give SEGUE_ERROR_FORKED there; exec is fine. After fork in a process that has opened no app, all functions work in
 * the child. An object that another thread was using at the moment of the fork does not, nor does a fleet so used, with
 * all that is on it. An idle app causes no wake-ups if the process gets one inotify instance; without one the app
 * checks the runtime folder every 5 s. While the device is linked, its hub pings the other every 10 s, which wakes up
 * the app that carries the hub. The library stays loaded once loaded (-z nodelete). It reads these environment
 * variables:
 *   SEGUE_RUNTIME_DIR  folder of the hub's sockets; else $XDG_RUNTIME_DIR/segue; else segue in /run/user/<uid>, if that
 *                      belongs to the user and has mode 0700; else segue-<uid> in $TMPDIR, or in /tmp. If the folder or
 *                      its contents are deleted, the apps create it again and reconnect there; open apps keep working
 *                      while it cannot be created
 *   SEGUE_LOG          error | info | debug: also write log lines to standard error; a program with more rights than
 *                      its user (setuid) ignores it, like the other variables
 * and, only to pass them to a program that the agent starts for a call of section 14 or 15: DISPLAY, WAYLAND_DISPLAY,
 * XAUTHORITY, DBUS_SESSION_BUS_ADDRESS, XDG_SESSION_ID, LANG, XDG_ACTIVATION_TOKEN, DESKTOP_STARTUP_ID.
 *
 * LIMITS OF THE SYSTEM. If the system refuses something when an app opens (descriptors, random numbers, pipes,
 * write, the folder), segue_app_open gives SEGUE_ERROR_SYSTEM or SEGUE_ERROR_UNSAFE_FOLDER. segue_app_get_connection
 * reports what it refuses later; the library retries after 1 s, 2 s ... 16 s. But libuv ends the process (abort) if the
 * system refuses, once an app has opened, epoll_ctl (ENOSPC: the user's limit of epoll watches is reached; ENOMEM) or
 * epoll_wait. A sandbox that is set up later, and refuses read or write, has to allow readv and writev: by these the
 * threads of the library wake each other. Memory: bytes, texts and values of 128 KiB or more that you pass in, put
 * together or ask for are checked beforehand (SEGUE_ERROR_SYSTEM). No size that a peer names is allocated: memory grows
 * with the bytes that have come, up to the limits (handoff.md section 9), unchecked. If an unchecked allocation fails,
 * the process ends. Files: RLIMIT_FSIZE gives SEGUE_ERROR_SYSTEM, and raises no SIGXFSZ. Threads: a calling thread
 * needs 64 KiB of stack, plus what your callbacks need. pthread_cancel never ends a thread inside a call of this
 * library, or inside a callback. A cancellation takes effect when one of these calls returns: segue_app_dispatch (which
 * segue_app_wake makes return), segue_fleet_step, _run, _advance, _wait or _play. Other calls leave it pending.
 * Asynchronous cancellation must be off.
 *
 * TWO LIBRARIES. Apps link libsegue.so.0. Tests may link libsegue-fleet.so.0 in its place, which has the virtual fleet
 * (section 16), too.
 *
 * VERSIONS. SEGUE_VERSION is the version that you compiled against, segue_version() the one that you run with. The
 * soname changes when the interface breaks. Before 1.0 that may happen with each minor version; CHANGELOG.md has an
 * ABI line for each release.
 */
#ifndef SEGUE_H
#define SEGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------------------------
 * 1. Basics
 * --------------------------------------------------------------------------------------------------------------- */

/** major << 16 | minor << 8 | patch */
#define SEGUE_VERSION 0x000100

/** Pass this as the length of a NUL-terminated string. */
#define SEGUE_NUL_TERMINATED SIZE_MAX

/** No date: not a number. Every NaN counts as SEGUE_NO_DATE. */
#define SEGUE_NO_DATE ((double)(0.0 / 0.0))

/** A buffer of this many bytes holds any message of segue_last_error, NUL included. */
#define SEGUE_MESSAGE_SIZE 512

/** Bytes in an identifier of an activity, offer or continuation. */
#define SEGUE_ID_SIZE 16

/**
 * The result of a call. segue_status_foundation_code maps these to numbers of Apple's Foundation
 * (NSCocoaErrorDomain, R3.11):
 *   SEGUE_ERROR_HANDOFF_FAILED 4608, SEGUE_ERROR_CONNECTION_UNAVAILABLE 4609,
 *   SEGUE_ERROR_REMOTE_APPLICATION_TIMED_OUT 4610, SEGUE_ERROR_USER_INFO_TOO_LARGE 4611,
 *   SEGUE_ERROR_USER_CANCELLED 3072
 */
typedef int32_t segue_status;
#define SEGUE_OK 0
/** An argument is NULL, empty, out of range, not UTF-8 or not allowed here. */
#define SEGUE_ERROR_INVALID_ARGUMENT 1
/** A handle is NULL, released, of another type, or junk. */
#define SEGUE_ERROR_INVALID_HANDLE 2
/** Not an absolute RFC 3986 URL, or its scheme is not allowed here. */
#define SEGUE_ERROR_INVALID_URL 3
/** The call does not fit the state of the object: twice, too early, too late. */
#define SEGUE_ERROR_INVALID_STATE 4
/** The activity was invalidated, or the app closed. */
#define SEGUE_ERROR_INVALIDATED 5
/** user_info cannot hold this (R1.2): bignum, undefined, other simple value or tag, a number out of range. */
#define SEGUE_ERROR_UNSUPPORTED_VALUE 6
/** The bytes are malformed: truncated, wrong lengths, duplicate keys, trailing bytes. */
#define SEGUE_ERROR_MALFORMED 7
/** No such entry. */
#define SEGUE_ERROR_NOT_FOUND 8
/** The value is of another kind, or the number does not fit the type asked for. */
#define SEGUE_ERROR_WRONG_KIND 9
/** A text, a value, a count or a depth is larger than its published limit. */
#define SEGUE_ERROR_LIMIT_EXCEEDED 10
/** The call is not allowed inside a callback; another thread is in the same call; the agent cannot do it just now. */
#define SEGUE_ERROR_BUSY 11
/** This process is a fork of one that has opened an app. */
#define SEGUE_ERROR_FORKED 12
/** The operating system refused something; the message says what and why. */
#define SEGUE_ERROR_SYSTEM 13
/** The runtime folder cannot be trusted: owned by another user, open to others, or a symbolic link. */
#define SEGUE_ERROR_UNSAFE_FOLDER 14
/** The app was closed before this ended. */
#define SEGUE_ERROR_CANCELLED 15
/**
 * The receiver, the user of another device or its settings declined, or the origin refused a request; the reason is in
 * the message or receipt.
 */
#define SEGUE_ERROR_DECLINED 16
/** The other side speaks another protocol version. */
#define SEGUE_ERROR_UNSUPPORTED_VERSION 17
/** The file of a container is not there yet; synchronisation may bring it: try again later (R5.4). */
#define SEGUE_ERROR_NOT_THERE_YET 18
/**
 * The file is outside of the containers, is neither a file nor a folder, or the system forbids it (R5.4). In a call
 * about devices: the call is for the manager of the account, or what is asked for is private, no longer valid, or out
 * of date; see section 15.
 */
#define SEGUE_ERROR_NOT_ALLOWED 19
/** The continuation failed on the other side. Foundation: 4608. */
#define SEGUE_ERROR_HANDOFF_FAILED 20
/** The origin or the hub cannot be reached. Foundation: 4609. */
#define SEGUE_ERROR_CONNECTION_UNAVAILABLE 21
/** The origin did not answer in time. Foundation: 4610. */
#define SEGUE_ERROR_REMOTE_APPLICATION_TIMED_OUT 22
/** user_info is larger than its limit; the message names the largest entries. Foundation: 4611. */
#define SEGUE_ERROR_USER_INFO_TOO_LARGE 23
/** The user, or a newer continuation of the same app, cancelled. Foundation: 3072. */
#define SEGUE_ERROR_USER_CANCELLED 24

/** Called once with a context that the library will not use again. May be NULL. */
typedef void (*segue_destroy)(void *context);

/**
 * Adds a count to a handle of any type.
 *   handle  borrowed
 * Errors: LIMIT_EXCEEDED (16777215 counts; callbacks that would be lent such a handle do not run).
 */
segue_status segue_retain(const void *handle);

/**
 * Takes a count of a handle of any type. When the last one is gone, the object ends, unless something else keeps it;
 * its type says which. The last release of an app waits for a callback that runs on another thread, as segue_app_close
 * does.
 *   handle  owned, may be NULL: then nothing happens
 * Errors: BUSY (a writer or reader that another thread is using).
 */
segue_status segue_release(const void *handle);

/** Returns SEGUE_VERSION of the loaded library. Works in every state, also after fork. */
uint32_t segue_version(void);

/** Returns the name of a status without its prefix, such as "INVALID_HANDLE"; "UNKNOWN" for others. Static memory. */
const char *segue_status_name(segue_status status);

/** Returns the Foundation number of a status (R3.11), 0 if it has none. */
int32_t segue_status_foundation_code(segue_status status);

/**
 * Returns the status of the last failing call of this thread, SEGUE_OK if none has failed yet.
 *   buffer    out, may be NULL: one line of UTF-8, NUL-terminated, that names the argument and what was wrong with it
 *   capacity  bytes in buffer; SEGUE_MESSAGE_SIZE is enough; a longer message is cut at a character
 */
segue_status segue_last_error(char *buffer, size_t capacity);

/**
 * Frees memory that a getter returned.
 *   memory  owned, may be NULL: exactly a pointer that the library returned, once
 */
void segue_free(void *memory);

/** Limits that can be read and, if marked "settable", set for this process (handoff.md section 9). */
typedef int32_t segue_limit;
/** bytes; validate reports a larger payload as a problem; 3072 */
#define SEGUE_LIMIT_ADVISED_PAYLOAD 1
/** bytes of encoded user_info; 262144; settable 1024...16777216 */
#define SEGUE_LIMIT_USER_INFO 2
/** levels of nesting; 64 */
#define SEGUE_LIMIT_NESTING 3
/** bytes; 1024 */
#define SEGUE_LIMIT_TITLE 4
/** bytes; 255 */
#define SEGUE_LIMIT_TYPE 5
/** bytes; 255 */
#define SEGUE_LIMIT_IDENTIFIER 6
/** bytes; 8192 */
#define SEGUE_LIMIT_URL 7
/** ms for an app to answer will_save; 5000; settable 1...600000 */
#define SEGUE_LIMIT_SAVE_MS 8
/** ms for a whole continuation; 20000; settable 1...3600000 */
#define SEGUE_LIMIT_CONTINUATION_MS 9
/** ms from the last change of a current activity to its save; 2000; 0: only when pulled; settable 0...3600000 */
#define SEGUE_LIMIT_SAVE_DELAY_MS 10
/** ms from the first unsaved change to its save; 10000; settable 0...3600000 */
#define SEGUE_LIMIT_SAVE_LATEST_MS 11
/** ms between two updates of one offer; 100 */
#define SEGUE_LIMIT_OFFER_UPDATE_MS 12
/** bytes of a request, and of its answer, sent or taken; 1048576; settable 1024...16777216 */
#define SEGUE_LIMIT_REQUEST 13
/** ms for which a stopped attachment is retried, or kept for a silent receiver; 60000; settable 0...3600000 */
#define SEGUE_LIMIT_TRANSFER_RESUME_MS 14

/**
 * Reads a limit.
 *   value  out
 * Errors: INVALID_ARGUMENT (no such limit).
 */
segue_status segue_limit_get(segue_limit limit, uint64_t *value);

/**
 * Sets a limit for this process. Times and the size of requests apply to apps that open afterwards, other sizes at
 * once.
 * Errors: INVALID_ARGUMENT (no such limit, not settable, or out of its range).
 */
segue_status segue_limit_set(segue_limit limit, uint64_t value);

typedef int32_t segue_log_level;
#define SEGUE_LOG_ERROR 1
#define SEGUE_LOG_INFO 2
#define SEGUE_LOG_DEBUG 3

/**
 * Gets one line of log. Runs on any thread, also the library's: return quickly, and call no function of the library
 * except segue_version.
 *   message  borrowed: UTF-8, NUL-terminated
 */
typedef void (*segue_log_function)(void *context, segue_log_level level, const char *message, size_t message_length);

/**
 * Sets the process's log callback and replaces the former one, whose context is destroyed when no thread runs it.
 *   most      the most detailed level that the function gets: with SEGUE_LOG_INFO it gets error and info, not debug.
 *             SEGUE_LOG does not change it
 *   function  may be NULL: no callback
 *   context   kept
 * Errors: INVALID_ARGUMENT (no such level).
 */
segue_status segue_log_set(segue_log_level most, segue_log_function function, void *context, segue_destroy destroy);

/**
 * Counts the live handles, for leak checks in tests.
 *   count  out
 */
segue_status segue_debug_live_handles(size_t *count);

/* ------------------------------------------------------------------------------------------------------------------
 * 2. Values: what user_info holds (R1.2)
 *
 * A value is immutable and is its deterministic encoding: two values are equal if and only if those bytes are. Kinds:
 * null, bool, integer (-2^63 ... 2^64-1), double (NaN, infinities and -0.0 survive), string, data, date, URL, UUID,
 * array, dictionary (any kind may be a key) and set. Make one with a writer, or from CBOR or JSON. Look into it by key
 * (segue_dictionary_get_...), by index (segue_array_get_value) or by path (segue_value_find_...), or read all of it
 * with a reader.
 *
 *     segue_writer *writer = NULL;                    // three fields: only the last call needs a check
 *     segue_value *info = NULL;
 *     segue_writer_create(&writer);
 *     segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
 *     segue_writer_put_string(writer, "text", SEGUE_NUL_TERMINATED);
 *     segue_writer_put_string(writer, text, SEGUE_NUL_TERMINATED);
 *     segue_writer_put_string(writer, "line", SEGUE_NUL_TERMINATED);
 *     segue_writer_put_int64(writer, line);
 *     segue_writer_put_string(writer, "done", SEGUE_NUL_TERMINATED);
 *     segue_writer_put_bool(writer, done);
 *     segue_writer_end(writer);
 *     segue_status status = segue_writer_finish(writer, &info);    // the first error of all these calls
 *     segue_release(writer);
 *
 *     char *found = NULL;
 *     if (status == SEGUE_OK)
 *       status = segue_value_find_string(info, "text", SEGUE_NUL_TERMINATED, &found, NULL);    // or "tasks/0/text"
 *     segue_free(found);
 *     segue_release(info);
 * --------------------------------------------------------------------------------------------------------------- */

/** Immutable data. */
typedef struct segue_value segue_value;
/** Makes a value. */
typedef struct segue_writer segue_writer;
/** Reads a value from its start to its end. */
typedef struct segue_reader segue_reader;

typedef int32_t segue_kind;
/** Only from a reader: the end of the current container. */
#define SEGUE_KIND_END 0
#define SEGUE_KIND_NULL 1
#define SEGUE_KIND_BOOL 2
#define SEGUE_KIND_INTEGER 3
#define SEGUE_KIND_DOUBLE 4
#define SEGUE_KIND_STRING 5
#define SEGUE_KIND_DATA 6
#define SEGUE_KIND_DATE 7
#define SEGUE_KIND_URL 8
#define SEGUE_KIND_UUID 9
#define SEGUE_KIND_ARRAY 10
#define SEGUE_KIND_DICTIONARY 11
#define SEGUE_KIND_SET 12

/**
 * Decodes a value from one CBOR item, deterministic or not: lengths, number sizes and order are normalised.
 *   cbor   copied
 *   value  out, owned: release with segue_release
 * Errors: MALFORMED or UNSUPPORTED_VALUE, with the offset; LIMIT_EXCEEDED (nesting; 16 MiB).
 */
segue_status segue_value_decode(const uint8_t *cbor, size_t length, segue_value **value);

/**
 * Encodes a value as deterministic CBOR.
 *   cbor  out, owned: free with segue_free
 */
segue_status segue_value_encode(const segue_value *value, uint8_t **cbor, size_t *length);

/**
 * Describes a value in CBOR diagnostic notation (RFC 8949 section 8), for people.
 *   text  out, owned: free with segue_free
 */
segue_status segue_value_describe(const segue_value *value, char **text, size_t *length);

/** Gets the kind of a value. */
segue_status segue_value_get_kind(const segue_value *value, segue_kind *kind);

/**
 * Counts the elements of an array or set, the entries of a dictionary, the bytes of a string, data or URL.
 * Errors: WRONG_KIND (any other kind).
 */
segue_status segue_value_get_count(const segue_value *value, size_t *count);

/** Tells whether two values are equal: their encodings are the same bytes. */
segue_status segue_value_is_equal(const segue_value *value, const segue_value *other, bool *equal);

/**
 * Looks up the entry whose key is this string, and copies it out.
 *   key     copied
 *   result  out; of segue_dictionary_get_value owned: release with segue_release;
 *           of ..._string (string or URL) and ..._data (data, or the 16 bytes of a UUID) owned: free with segue_free
 * Errors: NOT_FOUND (the message names the key); WRONG_KIND (not a dictionary; the entry is of another kind; the
 * integer does not fit).
 * segue_dictionary_get_double also accepts an integer that a double represents exactly.
 */
segue_status segue_dictionary_get_bool(const segue_value *dictionary, const char *key, size_t key_length, bool *result);
segue_status segue_dictionary_get_int64(const segue_value *dictionary, const char *key, size_t key_length,
                                        int64_t *result);
segue_status segue_dictionary_get_double(const segue_value *dictionary, const char *key, size_t key_length,
                                         double *result);
segue_status segue_dictionary_get_date(const segue_value *dictionary, const char *key, size_t key_length,
                                       double *result);
segue_status segue_dictionary_get_string(const segue_value *dictionary, const char *key, size_t key_length,
                                         char **result, size_t *length);
segue_status segue_dictionary_get_data(const segue_value *dictionary, const char *key, size_t key_length,
                                       uint8_t **result, size_t *length);
segue_status segue_dictionary_get_value(const segue_value *dictionary, const char *key, size_t key_length,
                                        segue_value **result);

/**
 * Gets an element of an array, or of a set in the order of its encoding. For a number or text, pass the index as a
 * path: segue_value_find_int64(array, "3", ...).
 *   index   from 0; higher indices take longer: use a reader to go through a large array
 *   result  out, owned: release with segue_release
 * Errors: NOT_FOUND (index out of range); WRONG_KIND (neither array nor set).
 */
segue_status segue_array_get_value(const segue_value *array, size_t index, segue_value **result);

/**
 * Looks up a nested value by its path, and copies it out as segue_dictionary_get_... does. A path is string keys and
 * indices, separated by "/", such as "tasks/0/text". In a key "~1" means "/", and "~0" means "~" (RFC 6901). The empty
 * path is the value itself.
 *   path  copied
 * Errors: NOT_FOUND (the message names the first missing part); WRONG_KIND (a part before the last is neither
 * dictionary, array nor set; the last is of another kind); INVALID_ARGUMENT (another character after "~"; not UTF-8).
 */
segue_status segue_value_find_bool(const segue_value *value, const char *path, size_t path_length, bool *result);
segue_status segue_value_find_int64(const segue_value *value, const char *path, size_t path_length, int64_t *result);
segue_status segue_value_find_double(const segue_value *value, const char *path, size_t path_length, double *result);
segue_status segue_value_find_date(const segue_value *value, const char *path, size_t path_length, double *result);
segue_status segue_value_find_string(const segue_value *value, const char *path, size_t path_length, char **result,
                                     size_t *length);
segue_status segue_value_find_data(const segue_value *value, const char *path, size_t path_length, uint8_t **result,
                                   size_t *length);
segue_status segue_value_find_value(const segue_value *value, const char *path, size_t path_length,
                                    segue_value **result);

/**
 * Looks up the entry with a key of any kind.
 *   key     borrowed
 *   result  out, owned: release with segue_release
 * Errors: NOT_FOUND, WRONG_KIND (not a dictionary).
 */
segue_status segue_dictionary_find(const segue_value *dictionary, const segue_value *key, segue_value **result);

/**
 * Creates a writer. Put one item, or begin a container, put its items, end it; then finish. A dictionary takes key,
 * value, key, value ... with the keys in any order. The first error is sticky: all later calls return it and do
 * nothing, and so does segue_writer_finish. So only that call needs a check. Use a writer on one thread at a time:
 * while one call with it runs, every other call, its release too, gives SEGUE_ERROR_BUSY; that error and INVALID_HANDLE
 * are not sticky.
 *   writer  out, required, owned: release with segue_release
 */
segue_status segue_writer_create(segue_writer **writer);
segue_status segue_writer_put_null(segue_writer *writer);
segue_status segue_writer_put_bool(segue_writer *writer, bool value);
segue_status segue_writer_put_int64(segue_writer *writer, int64_t value);
segue_status segue_writer_put_uint64(segue_writer *writer, uint64_t value);
segue_status segue_writer_put_double(segue_writer *writer, double value);
/** string  copied: UTF-8 */
segue_status segue_writer_put_string(segue_writer *writer, const char *string, size_t length);
/** data  copied; may be NULL if length is 0 */
segue_status segue_writer_put_data(segue_writer *writer, const uint8_t *data, size_t length);
/** Seconds since 1970, finite (else INVALID_ARGUMENT). */
segue_status segue_writer_put_date(segue_writer *writer, double seconds);
/** url  copied: absolute, RFC 3986, any scheme, kept byte for byte (else INVALID_URL) */
segue_status segue_writer_put_url(segue_writer *writer, const char *url, size_t length);
/** uuid  copied: 16 bytes */
segue_status segue_writer_put_uuid(segue_writer *writer, const uint8_t *uuid);
/** value  borrowed: inserted as one item */
segue_status segue_writer_put_value(segue_writer *writer, const segue_value *value);
/** Begins an array, dictionary or set. Errors: LIMIT_EXCEEDED (nesting). */
segue_status segue_writer_begin(segue_writer *writer, segue_kind kind);
/**
 * Ends the innermost open container.
 * Errors: INVALID_STATE (none is open; a key without a value); INVALID_ARGUMENT (a duplicate key, or element of a set;
 * the message names it).
 */
segue_status segue_writer_end(segue_writer *writer);
/**
 * Gives the value that was written, or the first error. Either way the writer is empty again and can be reused.
 *   value  out, required, owned: release with segue_release
 * Errors: that of an earlier call; INVALID_STATE (nothing was put, or a container is still open).
 */
segue_status segue_writer_finish(segue_writer *writer, segue_value **value);

/** One step of a reader. */
typedef struct segue_item {
  /** SEGUE_KIND_... */
  segue_kind kind;
  /** number of enclosing containers: 0 for the outermost value */
  uint32_t depth;
  /** elements (array, set), entries (dictionary), bytes (string, data, URL: read with segue_reader_copy); else 0 */
  size_t count;
  /** kind INTEGER: true if the number is negative, and in as.int64; otherwise it is in as.uint64 */
  bool negative;
  /** the number by kind: bool, int64/uint64, real (DOUBLE; DATE in seconds since 1970), uuid */
  union {
    bool boolean;
    int64_t int64;
    uint64_t uint64;
    double real;
    uint8_t uuid[16];
  } as;
} segue_item;

/**
 * Creates a reader at the start of a value. It reads the whole value without a handle for each part. Use a reader on
 * one thread at a time: while one call with it runs, every other call, its release too, gives SEGUE_ERROR_BUSY.
 *   value   retained
 *   reader  out, required, owned: release with segue_release
 */
segue_status segue_reader_create(const segue_value *value, segue_reader **reader);
/**
 * Gives the next item, depth first. A dictionary gives key, value, key, value ...; SEGUE_KIND_END (at the depth of the
 * container) follows the last item of a container.
 *   item      out, required
 *   buffer    out, may be NULL: the bytes of a string, data or URL, without a final NUL, if they fit
 *   capacity  bytes in buffer; if item.count is larger, use segue_reader_copy
 * Errors: NOT_FOUND (the whole value has been read).
 */
segue_status segue_reader_next(segue_reader *reader, segue_item *item, uint8_t *buffer, size_t capacity);
/**
 * Copies the bytes of the current string, data or URL, without a final NUL.
 *   buffer    out: at least item.count bytes; may be NULL if that is 0
 * Errors: INVALID_STATE (no such item); INVALID_ARGUMENT (capacity too small: nothing is written).
 */
segue_status segue_reader_copy(segue_reader *reader, uint8_t *buffer, size_t capacity);
/**
 * Gives the current item as a value of its own. If it is a container, the reader then skips its contents and its END.
 *   value  out, required, owned: release with segue_release
 * Errors: INVALID_STATE (before the first item, or at an END).
 */
segue_status segue_reader_take(segue_reader *reader, segue_value **value);

/**
 * The mapping of values and JSON text (RFC 8259). All modes: UTF-8 without a byte order mark; objects are dictionaries;
 * digits without point and exponent are integers (-0 is 0), every other number is a double, and is written with one of
 * them, by the fewest digits that are read as the same double. Entries are written in the order of the value. The
 * locale does not matter.
 */
typedef int32_t segue_json_mode;
/** The values that JSON has, and no others: data, dates, URLs, UUIDs, sets, NaN, infinities and keys that are no
 *  strings are refused. "$" means nothing. */
#define SEGUE_JSON_PLAIN 1
/**
 * Every value, and the same value again when it is decoded. A value that JSON lacks is an object with one entry:
 *   {"$date": seconds since 1970}  {"$data": "base64, RFC 4648 section 4"}  {"$url": "..."}  {"$uuid": "..."}
 *   {"$set": [...]}  {"$dict": [[key, value], ...]} (a key is no string)  {"$double": "NaN", "Infinity" or "-Infinity"}
 *   {"$int": "digits"} (decoded only)
 * In an ordinary object with one entry, a key that begins with "$" gets another "$" in front. Other objects with one
 * entry whose key begins with "$" are an error.
 */
#define SEGUE_JSON_TAGGED 2
/** The same, but integers below -2^53 or above 2^53 are written as {"$int": "digits"}: for JavaScript and other readers
 *  that keep numbers as doubles. */
#define SEGUE_JSON_TAGGED_INTEGERS 3
/** Indented, for people. A value that JSON lacks becomes text or an array, so that it cannot be decoded again; two keys
 *  of an object may then be equal. */
#define SEGUE_JSON_FOR_PEOPLE 4

/**
 * Decodes a value from JSON text.
 *   json   copied: UTF-8, up to 144 MiB
 *   mode   not SEGUE_JSON_FOR_PEOPLE
 *   value  out, owned: release with segue_release
 * Errors, with the offset in bytes and the path (RFC 6901) of what is wrong: MALFORMED (not JSON; half of a pair of
 * surrogates; a key twice in an object; tagged: an unknown or wrong tag, an element twice in a set, base64 that is not
 * canonical); UNSUPPORTED_VALUE (an integer of more than 64 bits, a double that would be infinite); LIMIT_EXCEEDED
 * (nesting; 16 MiB as CBOR).
 */
segue_status segue_value_decode_json(const char *json, size_t length, segue_json_mode mode, segue_value **value);

/**
 * Encodes a value as JSON text, without white space unless it is for people. Equal values give equal text.
 *   json  out, owned: free with segue_free
 * Errors: UNSUPPORTED_VALUE (plain: what JSON lacks, with its path, RFC 6901); LIMIT_EXCEEDED (for people: 144 MiB).
 */
segue_status segue_value_encode_json(const segue_value *value, segue_json_mode mode, char **json, size_t *length);

/* ------------------------------------------------------------------------------------------------------------------
 * 3. Activities (R1)
 * --------------------------------------------------------------------------------------------------------------- */

/**
 * One open of the library. The last release closes it as segue_app_close does, callbacks included. Calls of other
 * threads with it end. Inside a callback of the app, it closes when the callback has returned.
 */
typedef struct segue_app segue_app;
/**
 * An activity of the app, or one that it continues. The last release invalidates it (R1.15), unless a responder has it
 * (section 11). An activity that its last responder gives up is invalidated although you hold it.
 * segue_activity_set_keeps_offering says what the agent keeps.
 */
typedef struct segue_activity segue_activity;
/**
 * The callbacks of activities. The last release detaches it everywhere: its callbacks never run again (R1.15), also
 * not continuation_ended of an attempt that is under way. See segue_activity_delegate_leave.
 */
typedef struct segue_activity_delegate segue_activity_delegate;

/**
 * Creates an activity; a new one needs saving (R1.4).
 *   app       borrowed, may be NULL: then it can be read, written and encoded, but never become current
 *   type      copied: reverse DNS by convention, 1...255 bytes of UTF-8 (R1.1); NULL: the first type that the app or
 *             its manifest declares. The app learns its installed manifest from an agent, when it becomes READY (R6.1)
 *   activity  out, required, owned: release with segue_release
 * Errors: INVALID_ARGUMENT, LIMIT_EXCEEDED (the type); INVALIDATED (the app is closed).
 */
segue_status segue_activity_create(segue_app *app, const char *type, size_t type_length, segue_activity **activity);

/**
 * Decodes an activity from the bytes of segue_activity_encode: every property, a new identifier, clean.
 *   app       borrowed, may be NULL: as in segue_activity_create
 *   document  copied
 *   activity  out, required, owned: release with segue_release
 * Errors: MALFORMED, UNSUPPORTED_VALUE, UNSUPPORTED_VERSION, LIMIT_EXCEEDED, INVALID_URL, USER_INFO_TOO_LARGE.
 */
segue_status segue_activity_decode(segue_app *app, const uint8_t *document, size_t length, segue_activity **activity);
/**
 * Encodes the activity document: a self-describing, deterministic CBOR item (docs/protocol.md). Runs no callback.
 *   document  out, owned: free with segue_free
 */
segue_status segue_activity_encode(const segue_activity *activity, uint8_t **document, size_t *length);
/**
 * Describes the activity document in CBOR diagnostic notation, for people.
 *   text  out, owned: free with segue_free
 */
segue_status segue_activity_describe(const segue_activity *activity, char **text, size_t *length);
/**
 * Lists all problems of an activity (R1.14). If they have more than 1 MiB, the last one says how many are left out.
 *   problems  out, required, owned: release with segue_release; an array (empty if there are none) of
 *             dictionaries
 *             {"path": string (a property, such as title; inside user_info each step follows a "/": an index, or a key
 *             in CBOR diagnostic notation, as in user_info/"lines"/0), "status": integer, "message": string}
 */
segue_status segue_activity_validate(const segue_activity *activity, segue_value **problems);

/**
 * Offers the activity from now on, in place of the app's former current activity (R1.11, R1.12).
 * Errors: INVALIDATED; INVALID_STATE (no app, or it is not open).
 */
segue_status segue_activity_become_current(segue_activity *activity);
/** Saves the activity and stops offering it; it may become current again. Errors: INVALIDATED. */
segue_status segue_activity_resign_current(segue_activity *activity);
/** Withdraws every offer of the activity, for ever. A second call succeeds and has no effect. */
segue_status segue_activity_invalidate(segue_activity *activity);
/** Tells whether this is its app's current activity. */
segue_status segue_activity_get_current(const segue_activity *activity, bool *current);
/** Tells whether the activity has not been invalidated. */
segue_status segue_activity_get_valid(const segue_activity *activity, bool *valid);

/**
 * Sets the delegate in place of the former one; a delegate may serve several activities.
 *   delegate  attached, may be NULL: that of the app (segue_app_set_activity_delegate), if it has one.
 *             segue_activity_delegate_leave gives your count up without detaching
 */
segue_status segue_activity_set_delegate(segue_activity *activity, segue_activity_delegate *delegate);

/** Gets the identifier under which the activity is offered. id  out: SEGUE_ID_SIZE bytes */
segue_status segue_activity_get_id(const segue_activity *activity, uint8_t *id);
/**
 * The type of an activity that is a web page, of any site: it has a webpage_url. On a device where an app is associated
 * with the site, that app continues it, otherwise the browser (R6.3, R6.4, R12.2).
 */
#define SEGUE_ACTIVITY_TYPE_BROWSING_WEB "NSUserActivityTypeBrowsingWeb"
/**
 * Types of activities that programs of different makers share (R13.2): docs/public-types.md has their keys. Activities
 * of these types, and of SEGUE_ACTIVITY_TYPE_BROWSING_WEB, are public (segue_activity_set_public).
 */
#define SEGUE_ACTIVITY_TYPE_EDITING_TEXT "SegueActivityTypeEditingText"
#define SEGUE_ACTIVITY_TYPE_PLAYING_MEDIA "SegueActivityTypePlayingMedia"
#define SEGUE_ACTIVITY_TYPE_READING_DOCUMENT "SegueActivityTypeReadingDocument"
#define SEGUE_ACTIVITY_TYPE_USING_TERMINAL "SegueActivityTypeUsingTerminal"
/** type  out, owned: free with segue_free */
segue_status segue_activity_get_type(const segue_activity *activity, char **type, size_t *length);

/**
 * Strings that may be absent. Setting: copied; NULL clears. Getting: out, owned: free with segue_free; NULL if absent.
 * Limits: title 1 KiB, identifiers 255 bytes, URLs 8 KiB (LIMIT_EXCEEDED). URLs are absolute http or https, kept byte
 * for byte (INVALID_URL, and the old one stays: R1.5). The target content identifier does not set needs_save (R1.7).
 */
segue_status segue_activity_set_title(segue_activity *activity, const char *title, size_t length);
segue_status segue_activity_get_title(const segue_activity *activity, char **title, size_t *length);
segue_status segue_activity_set_webpage_url(segue_activity *activity, const char *url, size_t length);
segue_status segue_activity_get_webpage_url(const segue_activity *activity, char **url, size_t *length);
segue_status segue_activity_set_referrer_url(segue_activity *activity, const char *url, size_t length);
segue_status segue_activity_get_referrer_url(const segue_activity *activity, char **url, size_t *length);
segue_status segue_activity_set_target_content_identifier(segue_activity *activity, const char *identifier,
                                                          size_t length);
segue_status segue_activity_get_target_content_identifier(const segue_activity *activity, char **identifier,
                                                          size_t *length);
segue_status segue_activity_set_persistent_identifier(segue_activity *activity, const char *identifier, size_t length);
segue_status segue_activity_get_persistent_identifier(const segue_activity *activity, char **identifier,
                                                      size_t *length);

/**
 * The app's state: a dictionary.
 *   user_info  setting: retained; NULL clears. Getting: out, owned: release with segue_release; NULL if absent
 * Errors: WRONG_KIND (not a dictionary); USER_INFO_TOO_LARGE (the message names the largest entries; the old one
 * stays).
 */
segue_status segue_activity_set_user_info(segue_activity *activity, const segue_value *user_info);
segue_status segue_activity_get_user_info(const segue_activity *activity, segue_value **user_info);
/** Merges a dictionary; for the same key the new value wins (R1.10). entries  borrowed. Errors: as for setting. */
segue_status segue_activity_add_user_info_entries(segue_activity *activity, const segue_value *entries);
/**
 * user_info as CBOR in one call: for bindings.
 *   cbor  setting: copied; NULL clears. Getting: out, owned: free with segue_free; NULL if absent
 * Errors: as for segue_value_decode and segue_activity_set_user_info.
 */
segue_status segue_activity_set_user_info_cbor(segue_activity *activity, const uint8_t *cbor, size_t length);
segue_status segue_activity_get_user_info_cbor(const segue_activity *activity, uint8_t **cbor, size_t *length);
/**
 * user_info as JSON text.
 *   json  setting: copied, an object; NULL clears. Getting: out, owned: free with segue_free; NULL if absent
 * Errors: as for segue_value_decode_json, segue_value_encode_json and segue_activity_set_user_info.
 */
segue_status segue_activity_set_user_info_json(segue_activity *activity, const char *json, size_t length,
                                               segue_json_mode mode);
segue_status segue_activity_get_user_info_json(const segue_activity *activity, segue_json_mode mode, char **json,
                                               size_t *length);

/**
 * Sets of strings.
 *   keys, keywords  setting: retained, a set or array of strings; NULL: absent (keys: all are required, R1.3; keywords:
 *                   empty). Getting: out, owned: release with segue_release; a set; keys: NULL if absent
 */
segue_status segue_activity_set_required_user_info_keys(segue_activity *activity, const segue_value *keys);
segue_status segue_activity_get_required_user_info_keys(const segue_activity *activity, segue_value **keys);
segue_status segue_activity_set_keywords(segue_activity *activity, const segue_value *keywords);
segue_status segue_activity_get_keywords(const segue_activity *activity, segue_value **keywords);

/**
 * Says whether user_info is older than what the app shows. Timed saves (R2.2), and under SEGUE_SAVE_WHEN_NEEDED all
 * saves, run will_save only if it is true. SEGUE_SAVE_WHEN_PULLED, the default, runs will_save for each continuation
 * unless the app itself has set it to false since the last change (R2.9). Setting it is cheap: a thousand calls cause
 * one will_save (R2.3). Set it whenever your document changes, so that it is saved before a receiver waits for it.
 */
segue_status segue_activity_set_needs_save(segue_activity *activity, bool needs_save);
segue_status segue_activity_get_needs_save(const segue_activity *activity, bool *needs_save);
/** Past this date the activity is neither offered nor found (R1.6). SEGUE_NO_DATE: none. Infinite: INVALID_ARGUMENT. */
segue_status segue_activity_set_expiration_date(segue_activity *activity, double seconds);
segue_status segue_activity_get_expiration_date(const segue_activity *activity, double *seconds);
/** false at first. true: receivers may ask for streams (R7.1), if the delegate has did_receive_stream. */
segue_status segue_activity_set_supports_continuation_streams(segue_activity *activity, bool supports);
segue_status segue_activity_get_supports_continuation_streams(const segue_activity *activity, bool *supports);
/**
 * Whether the activity stays on this device (R10.2); false at first. No other device is told of it, neither those of
 * the account nor those that an app has linked. A device that receives its offer anyway refuses to continue it. It is
 * still offered to apps of this device, and is not saved for search: what was saved of it before is deleted, as by
 * segue_app_delete_saved, also under its persistent identifier. What was saved stays if only SEGUE_ELIGIBLE_FOR_SEARCH
 * becomes false. Types, apps and the device are kept off the devices of the account by the request
 * "set-devices" (section 15).
 */
segue_status segue_activity_set_private(segue_activity *activity, bool is_private);
segue_status segue_activity_get_private(const segue_activity *activity, bool *is_private);
/**
 * Whether apps of other teams may continue the activity, too, if they declare its type (R13.1). At first true for the
 * types that programs share (SEGUE_ACTIVITY_TYPE_EDITING_TEXT and those beside it), false for others. It says which
 * programs of the same user get the offer, on the devices that get it: never other users. A private activity is offered
 * to them on this device only. The app that is chosen where several fit: of the same bundle identifier, the user's
 * choice, of the same team, the desktop's default for the string under "contentType" in user_info (a MIME type, which
 * the offer carries), the most recently used. A hub or an app of an earlier version takes the activity for one that is
 * not public. A receiver does not continue an activity that has ceased to be public after it was offered.
 */
segue_status segue_activity_set_public(segue_activity *activity, bool is_public);
segue_status segue_activity_get_public(const segue_activity *activity, bool *is_public);
/**
 * Whether the activity stays offered when its app has ended (R2.5); false at first. When the app goes to the
 * background, closes, or releases the current activity, the agent stores its last snapshot, and offers it after the app
 * has ended: for 12 h, or until the activity expires, another process of the app makes another activity current, or the
 * user withdraws it. This property is not part of the document. Its attachments are kept with it, at most 64 MiB in the
 * order of attaching, and can be fetched from the agent; the log names those that are not kept (too large, changed, or
 * not on a file system of this device), and fetching one of these fails with NOT_FOUND. Receivers get no streams and
 * requests of what the agent offers. Without an agent the log has CONNECTION_UNAVAILABLE at level error.
 * segue_activity_resign_current, segue_activity_invalidate and false withdraw what the agent has stored. The agent
 * stores nothing of a chooser.
 */
segue_status segue_activity_set_keeps_offering(segue_activity *activity, bool keeps_offering);
segue_status segue_activity_get_keeps_offering(const segue_activity *activity, bool *keeps_offering);
/** The app's own version of its user_info layout; the offer carries it (R1.9). */
segue_status segue_activity_set_payload_version(segue_activity *activity, uint32_t version);
segue_status segue_activity_get_payload_version(const segue_activity *activity, uint32_t *version);

typedef int32_t segue_eligibility;
/** true by default; false: never offered (R1.8) */
#define SEGUE_ELIGIBLE_FOR_HANDOFF 1
/** false by default; true: the agent saves the activity for search (section 14) */
#define SEGUE_ELIGIBLE_FOR_SEARCH 2
/** false by default; the document carries it, and nothing uses it yet */
#define SEGUE_ELIGIBLE_FOR_PUBLIC_INDEXING 3
/** false by default; the document carries it, and nothing uses it yet */
#define SEGUE_ELIGIBLE_FOR_PREDICTION 4
segue_status segue_activity_set_eligible(segue_activity *activity, segue_eligibility what, bool eligible);
segue_status segue_activity_get_eligible(const segue_activity *activity, segue_eligibility what, bool *eligible);

/**
 * Tells where a continued activity came from (R3.12).
 *   origin  out, owned: release with segue_release; NULL if this app created it; else a dictionary
 *           {"continuation_id": UUID, "activity_id": UUID, "device_name": string, "app_name": string,
 *           "bundle_identifier": string, "stale": bool,
 *           "stale_reason": string (one line: why it is stale; absent if it is not, or the reason is unknown, as of
 *           what has waited in the inbox of the agent),
 *           "redelivered": bool (the agent has begun to deliver it before: R3.8),
 *           "activation_token": string (at most 1,024 bytes; absent if there is none: by the click of the user on this
 *           device the window may come to the front, as by XDG_ACTIVATION_TOKEN and DESKTOP_STARTUP_ID. The app ran
 *           already: one that was started has both in its environment instead),
 *           "document": bool (the URL of its document came as that of a container that this app has: section 12)}
 */
segue_status segue_activity_get_continued_from(const segue_activity *activity, segue_value **origin);

/* ------------------------------------------------------------------------------------------------------------------
 * 4. The delegate of an activity
 * --------------------------------------------------------------------------------------------------------------- */

/** A save that is under way. If it is released unanswered, the activity counts as up to date. */
typedef struct segue_save segue_save;
/** The record of how an attempt ended, for the origin. Immutable. */
typedef struct segue_receipt segue_receipt;
/** The local end of a stream. The last release aborts one that was not opened; an opened one continues. */
typedef struct segue_stream segue_stream;
/** A request, at either end. The last release fails another app's request that has no answer. */
typedef struct segue_request segue_request;
/** An attachment that is being fetched. A release does not cancel it. */
typedef struct segue_transfer segue_transfer;

/**
 * Returned by a callback that may answer later. Another number is an error of the callback, which the log names at
 * level error: will_save or update_state has failed, and any other callback has answered NO.
 */
typedef int32_t segue_reply;
/**
 * will_save, update_state: same as YES; call segue_save_fail to report a failure. continue: not handled. open_document:
 * the document cannot be opened. will_resume_back: the activity stays as it is.
 */
#define SEGUE_REPLY_NO 0
/**
 * will_save, update_state: the activity is up to date. continue: handled. open_document: the same as NO, unless it has
 * called segue_continuation_complete_opening. will_resume_back: the state may be replaced.
 */
#define SEGUE_REPLY_YES 1
/**
 * The answer comes later, from any thread, on a retained handle: segue_save_complete (will_save, update_state),
 * segue_continuation_complete (continue), segue_continuation_complete_opening (open_document) or segue_request_complete
 * (will_resume_back). Without a retained handle a save counts as done, and a continuation waits for its deadline.
 */
#define SEGUE_REPLY_LATER 2

/**
 * Brings the activity up to date: a receiver continues it, or a save is due (R2.2, R2.9). Changes made here do not set
 * needs_save (R1.7). Without an answer within SEGUE_LIMIT_SAVE_MS the last snapshot is used, marked stale (R2.4).
 *
 * Runs once at a time for each activity. A receiver that continues the activity before a will_save has begun shares it.
 * A later receiver waits for its answer, and then for another will_save if the save policy asks for one. If
 * SEGUE_LIMIT_SAVE_MS passes without an answer, another will_save may run although the first is unanswered: answers
 * that come too late have no effect. segue_app_close runs it, and does not wait for a later answer. It does not run for
 * a continued activity whose continuation has not been answered: until then the activity is passed on as received
 * (R4.2).
 *   activity, save  borrowed
 */
typedef segue_reply (*segue_will_save_function)(void *context, segue_activity *activity, segue_save *save);
/**
 * was_continued: another app continued the activity and restored everything that it was sent (R3.6). The origin may
 * discard its state here ("move"), unless segue_receipt_get_stale gives true: then the other app has an older state,
 * and only the origin has the newest. The receiver may have made its own activity current before that: its offer can
 * appear here first.
 * continuation_ended: runs exactly once for each continuation, whatever its outcome; after was_continued, if the
 * outcome is restored. Both run also if the activity was invalidated after the continuation had begun: by a call, by
 * its last release, or with its last responder or document (R4.4, R5.2). The library keeps the activity until then. The
 * delegate must stay attached: keep your count, or call segue_activity_delegate_leave. A continuation begins when this
 * app receives its fetch. An activity that is invalidated before that gets no receipt.
 *   activity, receipt  borrowed
 */
typedef void (*segue_receipt_function)(void *context, segue_activity *activity, segue_receipt *receipt);
/**
 * An app that continued the activity asks for a stream (R7.1, section 9). If you neither open nor retain the stream, it
 * is aborted when this callback returns, and the other side reads the end of file.
 *   activity, stream  borrowed
 */
typedef void (*segue_did_receive_stream_function)(void *context, segue_activity *activity, segue_stream *stream);
/**
 * An app that continued the activity sends a request (R7.5, section 9). Answer with segue_request_respond or
 * segue_request_refuse, here or later, from any thread, on a retained handle. Releasing it unanswered fails the
 * request.
 *   activity, request  borrowed
 *   bytes              borrowed: the bytes of the request; may be NULL if length is 0
 */
typedef void (*segue_request_function)(void *context, segue_activity *activity, segue_request *request,
                                       const uint8_t *bytes, size_t length);

/**
 * The state that segue_activity_resume_back asks for has come, and would replace the activity's (R3.10). YES: it may;
 * NO: the activity stays as it is, and the call ends with DECLINED. LATER: segue_request_complete answers, from any
 * thread, on a retained request. Without this function, or without an answer within SEGUE_LIMIT_SAVE_MS, an activity
 * that has changed stays, and the call ends with DECLINED ("the app that takes it back has unsaved changes"); one that
 * has not changed is replaced. If it changes after this has said "not changed", it stays, too, whatever the answer.
 *   activity, request  borrowed; request: that of the call
 *   changed            whether the activity has changed since the other app got it: a save, for which will_save has
 *                      just run by the save policy (R2.9), gives other bytes, or has failed. Attachments do not count:
 *                      they stay
 */
typedef segue_reply (*segue_will_resume_back_function)(void *context, segue_activity *activity, bool changed,
                                                       segue_request *request);
/**
 * The activity was replaced by the state that it has in the app that had continued it: segue_activity_resume_back has
 * succeeded (R3.10). Show it, in each responder of the activity, too: their restore functions do not run, and the next
 * save writes what they hold (section 11).
 *   activity  borrowed
 *   stale     that app's will_save failed or did not answer in time, so it is an older state (R2.4)
 */
typedef void (*segue_did_resume_back_function)(void *context, segue_activity *activity, bool stale);

/**
 * Creates a delegate for activities.
 *   context   kept
 *   delegate  out, required, owned: release with segue_release
 */
segue_status segue_activity_delegate_create(void *context, segue_destroy destroy, segue_activity_delegate **delegate);
/** Set these before the delegate is given to an activity (later: INVALID_STATE). function  may be NULL: none */
segue_status segue_activity_delegate_on_will_save(segue_activity_delegate *delegate, segue_will_save_function function);
segue_status segue_activity_delegate_on_was_continued(segue_activity_delegate *delegate,
                                                      segue_receipt_function function);
segue_status segue_activity_delegate_on_continuation_ended(segue_activity_delegate *delegate,
                                                           segue_receipt_function function);
segue_status segue_activity_delegate_on_will_resume_back(segue_activity_delegate *delegate,
                                                         segue_will_resume_back_function function);
segue_status segue_activity_delegate_on_did_resume_back(segue_activity_delegate *delegate,
                                                        segue_did_resume_back_function function);
/** Without this callback, receivers that ask for a stream get INVALID_STATE. */
segue_status segue_activity_delegate_on_did_receive_stream(segue_activity_delegate *delegate,
                                                           segue_did_receive_stream_function function);
/** Without this callback, receivers that send a request get INVALID_STATE. */
segue_status segue_activity_delegate_on_request(segue_activity_delegate *delegate, segue_request_function function);
/**
 * Gives your count to the activities that have the delegate. It serves them until the last of them and its
 * continuations have ended (R3.6); then destroy runs.
 */
segue_status segue_activity_delegate_leave(segue_activity_delegate *delegate);

/**
 * Answers will_save, or update_state of a responder, later: the activity is up to date. Too late, it succeeds and has
 * no effect.
 * Errors: INVALID_STATE (answered before).
 */
segue_status segue_save_complete(segue_save *save);
/**
 * Answers either, inside the callback (whose return value then does not count) or later: the save failed. Waiting
 * receivers get the last snapshot, marked stale, or HANDOFF_FAILED if there is none; needs_save is set (R2.4).
 *   reason  copied, may be NULL: why, for people; cut and mended as in segue_continuation_decline. It goes to those
 *           that wait for this save, and to no others: to apps that may continue the activity (of the same team, and
 *           choosers: R6.2) on the user's devices, as the message of did_fail or as the stale_reason of
 *           segue_activity_get_continued_from; and, by the agent, to the program that has asked it to continue the
 *           activity. The receipts and the log of this app have it, too. Put nothing into it that these may not read.
 * Errors: as for segue_save_complete.
 */
segue_status segue_save_fail(segue_save *save, const char *reason, size_t length);

typedef int32_t segue_outcome;
/** handled, and every restorable object restored */
#define SEGUE_OUTCOME_RESTORED 1
/** the receiver refused it, before the payload moved (with a reason) or after (not handled) */
#define SEGUE_OUTCOME_DECLINED 2
#define SEGUE_OUTCOME_FAILED 3
/** the answer was lost; it may or may not have been restored */
#define SEGUE_OUTCOME_UNKNOWN 4

segue_status segue_receipt_get_outcome(const segue_receipt *receipt, segue_outcome *outcome);
/** SEGUE_OK if restored, otherwise the cause. */
segue_status segue_receipt_get_status(const segue_receipt *receipt, segue_status *status);
/**
 * The reason or error in one line; of a stale state that was restored, why the save failed; may be empty.
 *   reason  out, owned: free with segue_free
 */
segue_status segue_receipt_get_reason(const segue_receipt *receipt, char **reason, size_t *length);
/** Names of the receiver. name, identifier  out, owned: free with segue_free */
segue_status segue_receipt_get_device_name(const segue_receipt *receipt, char **name, size_t *length);
segue_status segue_receipt_get_app_name(const segue_receipt *receipt, char **name, size_t *length);
segue_status segue_receipt_get_bundle_identifier(const segue_receipt *receipt, char **identifier, size_t *length);
/** id  out: SEGUE_ID_SIZE bytes, the same at both ends */
segue_status segue_receipt_get_continuation_id(const segue_receipt *receipt, uint8_t *id);
/** The date at which the origin learned the outcome. */
segue_status segue_receipt_get_date(const segue_receipt *receipt, double *seconds);
/** Tells whether an older snapshot was handed over, because will_save failed or did not answer in time (R2.4). */
segue_status segue_receipt_get_stale(const segue_receipt *receipt, bool *stale);

/* ------------------------------------------------------------------------------------------------------------------
 * 5. Apps
 * --------------------------------------------------------------------------------------------------------------- */

/** The callbacks of an app. The last release detaches it everywhere: its callbacks never run again (R1.15). */
typedef struct segue_app_delegate segue_app_delegate;
/** The description of an activity of another app. Immutable. */
typedef struct segue_offer segue_offer;
/** An attempt to continue an activity. A release does not cancel it. */
typedef struct segue_continuation segue_continuation;
/** A status and its message. Immutable. */
typedef struct segue_error segue_error;

typedef int32_t segue_delivery;
#define SEGUE_DELIVER_HOST 0
#define SEGUE_DELIVER_THREAD 1

/**
 * Creates an app. Set its properties, then open it.
 *   bundle_identifier  copied: 1...255 bytes of UTF-8
 *   app                out, required, owned: release with segue_release
 */
segue_status segue_app_create(const char *bundle_identifier, size_t length, segue_app **app);

/*
 * The following set the properties of an app, before segue_app_open only (else INVALID_STATE). Strings: copied, not
 * empty (INVALID_ARGUMENT), at most 255 bytes (LIMIT_EXCEEDED).
 */

/** The name for people; by default the bundle identifier. */
segue_status segue_app_set_name(segue_app *app, const char *name, size_t length);
/**
 * Apps of one team can continue each other's activities (R6.2), those of other teams public ones only (R13.1). Default:
 * a team of its bundle identifier.
 */
segue_status segue_app_set_team_identifier(segue_app *app, const char *team, size_t length);
/**
 * Declares a type that the app can continue, one per call. Originating needs no declaration (R1.1).
 * Errors: LIMIT_EXCEEDED (the app declares 256 types already, or they have more than 32768 bytes together).
 */
segue_status segue_app_add_activity_type(segue_app *app, const char *type, size_t length);
/**
 * Takes name, team, types and document types from a manifest (docs/manifests.md): a property list, or a .desktop file
 * with keys of Segue's, whose name ends with .desktop. An agent does the same by itself for an app whose manifest is
 * installed, when it welcomes the app: name and team of the manifest hold, its types are added to those of the app, all
 * from SEGUE_CONNECTION_READY on, and until the app is closed (R6.1). Without an agent only this call and those above
 * count: of name and team what was set last, here or above, and of types all. Reading XML loads libexpat.so.1.
 *   path  copied: at most 4095 bytes
 * Errors: SYSTEM (the file cannot be read, or there is no expat), WRONG_KIND (no regular file), LIMIT_EXCEEDED,
 * MALFORMED (the message names the line or the key), INVALID_ARGUMENT (it describes another app).
 */
segue_status segue_app_load_manifest(segue_app *app, const char *path, size_t length);
/**
 * A chooser sees the offers of all apps of the user, of any team and type (R2.6): for docks, agents, command lines. No
 * hub takes one that runs in a Flatpak or a Snap (R13.8): segue_app_get_connection has NOT_ALLOWED, also for an app
 * there whose bundle identifier is not that of its sandbox.
 */
segue_status segue_app_set_chooser(segue_app *app, bool chooser);
segue_status segue_app_set_delivery(segue_app *app, segue_delivery delivery);
/** The folder of the hub's sockets, in place of the environment's: for tests. folder  copied: absolute path */
segue_status segue_app_set_runtime_folder(segue_app *app, const char *folder, size_t length);
/**
 * If set in the app that carries the hub, the device offers its frontmost activity only (R1.12). An agent that carries
 * the hub offers the activities of all apps.
 */
segue_status segue_app_set_offers_frontmost_only(segue_app *app, bool only);

/** When will_save runs (R2.9). Saves that are due by time (R2.2) follow needs_save under both policies. */
typedef int32_t segue_save_policy;
/**
 * The default: will_save runs each time that the activity is continued, and when its app goes to the background or
 * closes, whatever the value of needs_save. So an app that forgets to set it never hands over old state. If the app
 * sets needs_save to false, that holds until the next change.
 */
#define SEGUE_SAVE_WHEN_PULLED 0
/** Only if needs_save is set, as Apple does: two continuations with no change between them cause one will_save. */
#define SEGUE_SAVE_WHEN_NEEDED 1
/** Errors: INVALID_ARGUMENT (no such policy). */
segue_status segue_app_set_save_policy(segue_app *app, segue_save_policy policy);

/* Label and delegates can be set at any time, also while the app is open. */

/**
 * A short text for people that tells apps of one bundle identifier apart, such as the name of a window or terminal
 * (R13.6). Lists of offers show it; it chooses no app.
 *   label  copied, may be NULL or empty: none, as at first; at most 128 bytes of UTF-8 (LIMIT_EXCEEDED)
 */
segue_status segue_app_set_label(segue_app *app, const char *label, size_t length);
/** delegate  attached, may be NULL: none */
segue_status segue_app_set_delegate(segue_app *app, segue_app_delegate *delegate);
/**
 * Sets the delegate of every activity of the app that has none of its own, continued activities too (R3.12).
 *   delegate  attached, may be NULL: none
 */
segue_status segue_app_set_activity_delegate(segue_app *app, segue_activity_delegate *delegate);

/**
 * Opens the app. It connects to the device's hub in the background, or its process runs the hub if there is none;
 * on_connection reports when.
 * Errors: UNSAFE_FOLDER, SYSTEM (the app is as before, and the call can be repeated); INVALID_STATE (the app is open,
 * or was closed: create another one).
 */
segue_status segue_app_open(segue_app *app);
/**
 * Closes the app. Saves and withdraws the current activity, ends the app's continuations, and calls of other threads
 * that wait for the agent, with CANCELLED, and disconnects. Pending callbacks that end something run before it returns,
 * and none afterwards. A hub in this process stays for the process's other apps, otherwise it moves to another process.
 * A second call succeeds and has no effect. The call waits for a callback of the app that runs on another thread, and
 * up to 250 ms for unsent messages if the hub does not read.
 * Errors: BUSY (a callback of this app makes the call; or a callback of another app does, and a callback of this app
 * waits for its end).
 */
segue_status segue_app_close(segue_app *app);

/**
 * Runs the callbacks that are due (SEGUE_DELIVER_HOST), after waiting for the first of them.
 *   wait_ms    0: do not wait; negative: wait for ever
 *   delivered  out: the number of callbacks that ran; 0 if the time is up, or segue_app_wake was called
 * Errors: BUSY (inside a callback; another thread is in this call); INVALID_STATE (not open; delivery by thread);
 * INVALIDATED (closed).
 */
segue_status segue_app_dispatch(segue_app *app, int32_t wait_ms, size_t *delivered);
/**
 * Makes a waiting segue_app_dispatch return; if none waits, the next one does not wait. Safe in a signal handler, as
 * long as no thread releases the app meanwhile: takes no lock, allocates nothing, keeps errno, leaves no message if it
 * fails.
 */
segue_status segue_app_wake(segue_app *app);
/**
 * Gets a descriptor that is readable while segue_app_dispatch has something to do: for poll, asyncio, GLib, Qt. It
 * belongs to the library: do not read or close it. It is valid until segue_app_close: remove it from your loop before
 * that. Errors: INVALID_STATE (not open; delivery by thread).
 */
segue_status segue_app_fd(segue_app *app, int *fd);

/**
 * Reports that the app comes to the foreground or goes to the background (R2.5). In the foreground its current activity
 * becomes the frontmost. In the background that is saved, and stays offered. The agent stores its snapshot if
 * segue_activity_set_keeps_offering asks for that.
 * Errors: INVALID_STATE (not open), INVALIDATED (closed).
 */
segue_status segue_app_set_foreground(segue_app *app, bool foreground);

typedef int32_t segue_connection;
/** looking for a hub, or becoming it; known offers stay listed for some seconds. When a hub ends, its apps are READY at
 * the next one within 2 s, the slowest of 1,000 too; offers that are not there any longer vanish up to 1.5 s later. A
 * hub in an app takes as many apps as three quarters of the descriptors of its process, an agent as many as the system
 * allows; those for which there is no room are told LIMIT_EXCEEDED, and ask again each second */
#define SEGUE_CONNECTION_SEARCHING 0
/** registered with a hub, and all offers that the hub knew at that time have arrived. If the hub has just moved, an app
 * that was never READY before becomes so up to 500 ms later, when the other apps have registered again */
#define SEGUE_CONNECTION_READY 1
/**
 * Tells whether the app is connected, and if not, why. The app retries at once when something changes; after what the
 * system refuses, after 1, 2, 4, 8 and then each 16 s; after LIMIT_EXCEEDED each second.
 *   connection  out
 *   problem     out: the last known cause for not being READY: SYSTEM (the system refused something), UNSAFE_FOLDER,
 *               CONNECTION_UNAVAILABLE, UNSUPPORTED_VERSION, MALFORMED (what the hub sent), LIMIT_EXCEEDED (the hub has
 *               no room for this app); SEGUE_OK if there is none
 *   message     out, owned: free with segue_free; one line about the problem; NULL if there is none
 */
segue_status segue_app_get_connection(const segue_app *app, segue_connection *connection, segue_status *problem,
                                      char **message, size_t *message_length);

/**
 * Lists the offers that this app could continue (R2.6), frontmost first.
 *   offers    out, may be NULL if capacity is 0: the first of them, at most capacity, each owned: release with
 *             segue_release
 *   count     out, required: the number of all offers, which may exceed capacity: call again with a larger array then
 */
segue_status segue_app_get_offers(const segue_app *app, segue_offer **offers, size_t capacity, size_t *count);

/**
 * Describes the state of an app for people: identity, runtime folder, hub, offers, continuations, recent events.
 *   text  out, owned: free with segue_free
 */
segue_status segue_app_describe(const segue_app *app, char **text, size_t *length);

/** A link to another device. A release does not end it. */
typedef struct segue_link segue_link;

/** A flag of segue_app_link: the other end of the socket need not be a local process of this user. */
#define SEGUE_LINK_ANY_USER 1

/**
 * Runs where the app's callbacks run: once when the link is established, with the name of the other device and no
 * error; and finally once with the error that ended the link (or prevented it), and no name.
 *   device_name  borrowed, or NULL
 *   error        borrowed, or NULL
 * Errors: CONNECTION_UNAVAILABLE (the connection broke, or a hub or the other side's app ended),
 * REMOTE_APPLICATION_TIMED_OUT (the other end sends nothing, or is not a hub), UNSUPPORTED_VERSION, INVALID_STATE (both
 * ends are the same device, or another connection of segue_app_link links the two devices: retry later, in case that
 * one ends; a link of the user's account does not count),
 * LIMIT_EXCEEDED (this process has 64 links), MALFORMED, USER_CANCELLED (segue_link_cancel), CANCELLED (this app was
 * closed).
 */
typedef void (*segue_link_function)(void *context, segue_app *app, const char *device_name, size_t length,
                                    const segue_error *error);

/**
 * Links this device with another over a connection that you supply, until that ends, segue_link_cancel, or the app
 * closes. Offers, continuations and receipts pass between all apps of both devices, and on to devices that those are
 * linked with. Pass the other end of the connection to segue_app_link there. A broken connection can be replaced within
 * 60 s: everything in progress resumes where it was. A connection that both devices consider alive is not replaced. So
 * a program that maintains a link makes a new one when it has ended, and waits longer after each failure.
 *   fd        owned by the library if the call succeeds, yours if not: a connected stream socket (Unix or TCP); it is
 *             made non-blocking and close-on-exec
 *   flags     0, or SEGUE_LINK_ANY_USER: without it the other end must be a local process of this user, as `ssh -L` and
 *             `socat` are. The other end sees all offers of this device but those of private activities, and can
 *             continue them: encrypt what leaves the machine
 *   function  may be NULL
 *   context   kept
 *   link      out, owned: release with segue_release, at any time; the link stays
 * Errors: INVALID_ARGUMENT (no connected stream socket; another user's, or not known whose), INVALID_STATE (the app is
 * not open, or is in a virtual fleet, which links devices by segue_fleet_device_set_linked), INVALIDATED (it is
 * closed).
 */
segue_status segue_app_link(segue_app *app, int fd, uint32_t flags, segue_link_function function, void *context,
                            segue_destroy destroy, segue_link **link);
/**
 * Ends a link, or the attempt to make it: function runs once more, with USER_CANCELLED. The app at the other end gets
 * CONNECTION_UNAVAILABLE; what was in progress over the link fails, and cannot be resumed. After its end this has no
 * effect.
 */
segue_status segue_link_cancel(segue_link *link);

/**
 * Gets the result of segue_activity_explain; runs once, where the app's callbacks run.
 *   reasons  borrowed: an array, in the order below, of dictionaries {"reason": string such as "not current",
 *            "app": string, only if it concerns one app, "device": string, the name of the one other device concerned,
 *            "message": string}; empty: every app of this device gets the offer, and every device of the account
 */
typedef void (*segue_explain_function)(void *context, segue_app *app, const segue_value *reasons);

/**
 * Answers "why is it not offered there?" (R6.5). Reasons that this app knows, in this order: "invalidated", "not
 * current", "expired", "not eligible", "no hub". If there is none, the hub adds: "not frontmost" (the device offers
 * another activity), "private" (it is kept off other devices); if an agent carries the hub, what concerns the web page,
 * in the words of the request "route" ("not listed by the site" and the like name the app in their message); for each
 * device of the account "not linked" (the request "account" says when it was last seen); for each app of this device
 * "team differs" or "type not declared"; at last "no other app" (neither on this device, nor is one linked). The apps
 * of other devices are not asked: whether these fit is known there.
 *   context  kept
 * Errors: INVALID_STATE (the activity has no app, or it is not open).
 */
segue_status segue_activity_explain(segue_activity *activity, segue_explain_function function, void *context,
                                    segue_destroy destroy);

/* ------------------------------------------------------------------------------------------------------------------
 * 6. The delegate of an app
 * --------------------------------------------------------------------------------------------------------------- */

typedef int32_t segue_offer_event;
#define SEGUE_OFFER_APPEARED 1
#define SEGUE_OFFER_CHANGED 2
#define SEGUE_OFFER_GONE 3

/** An offer appeared, changed (title, version, order ...) or is gone (R2.7). offer  borrowed */
typedef void (*segue_offer_function)(void *context, segue_app *app, segue_offer_event event, segue_offer *offer);
/** The connection to the hub changed. */
typedef void (*segue_connection_function)(void *context, segue_app *app, segue_connection connection);
/**
 * A continuation begins; no data has arrived yet (R3.1). Show progress until continue or did_fail runs. Only this
 * callback may call segue_continuation_decline.
 *   type, continuation  borrowed
 */
typedef void (*segue_will_continue_function)(void *context, segue_app *app, const char *type, size_t type_length,
                                             segue_continuation *continuation);
/**
 * The activity has arrived: restore it (R3.4). It is a live object of this app: retain it to keep it (R3.12).
 *   activity, continuation  borrowed
 */
typedef segue_reply (*segue_continue_function)(void *context, segue_app *app, segue_activity *activity,
                                               segue_continuation *continuation);
/**
 * Without this callback, and without a log callback (segue_log_set), failures of a C app are silent: the library prints
 * nothing unless SEGUE_LOG asks for it. The continuation failed; no other callback follows (R3.2). Without this
 * callback the error goes to the log, at level error (R3.13). A failure after continue goes to opening_failed (section
 * 12), by the same rules: set that too, with or without documents. A cancel by the user (USER_CANCELLED) is no error:
 * the log has it at level info. The agent keeps the last 16 failures of which no function and no log was told, and
 * `segue doctor` shows them (the request "failures").
 *   type, error, continuation  borrowed
 */
typedef void (*segue_did_fail_function)(void *context, segue_app *app, const char *type, size_t type_length,
                                        const segue_error *error, segue_continuation *continuation);

/**
 * Creates a delegate for apps.
 *   context   kept
 *   delegate  out, required, owned: release with segue_release
 */
segue_status segue_app_delegate_create(void *context, segue_destroy destroy, segue_app_delegate **delegate);
/** Set these before the delegate is given to an app (later: INVALID_STATE). function  may be NULL: none */
segue_status segue_app_delegate_on_offer(segue_app_delegate *delegate, segue_offer_function function);
segue_status segue_app_delegate_on_connection(segue_app_delegate *delegate, segue_connection_function function);
segue_status segue_app_delegate_on_will_continue(segue_app_delegate *delegate, segue_will_continue_function function);
segue_status segue_app_delegate_on_continue(segue_app_delegate *delegate, segue_continue_function function);
segue_status segue_app_delegate_on_did_fail(segue_app_delegate *delegate, segue_did_fail_function function);

segue_status segue_error_get_status(const segue_error *error, segue_status *status);
/** One line. message  out, owned: free with segue_free */
segue_status segue_error_get_message(const segue_error *error, char **message, size_t *length);

/* ------------------------------------------------------------------------------------------------------------------
 * 7. Offers: immutable descriptions (R2.1)
 * --------------------------------------------------------------------------------------------------------------- */

/**
 * The same for all offers of one activity by one device. An offer of a device of the user's account has another id than
 * segue_activity_get_id gives there.
 *   id  out: SEGUE_ID_SIZE bytes
 */
segue_status segue_offer_get_id(const segue_offer *offer, uint8_t *id);
/** Strings are out, owned: free with segue_free. The title is NULL if absent. */
segue_status segue_offer_get_type(const segue_offer *offer, char **type, size_t *length);
segue_status segue_offer_get_title(const segue_offer *offer, char **title, size_t *length);
segue_status segue_offer_get_device_name(const segue_offer *offer, char **name, size_t *length);
segue_status segue_offer_get_app_name(const segue_offer *offer, char **name, size_t *length);
segue_status segue_offer_get_bundle_identifier(const segue_offer *offer, char **identifier, size_t *length);
/**
 * The origin of the activity's webpage_url (R12.1): scheme, host and port, never a path, as in https://example.com or
 * http://[::1]:8080. The host is in lower case, without a trailing dot; the scheme's own port is left out.
 *   origin  out, owned: free with segue_free; NULL if the activity has no page, its origin does not say so, or the
 *           agent has delivered it
 */
segue_status segue_offer_get_web_origin(const segue_offer *offer, char **origin, size_t *length);
/**
 * The label of the origin (segue_app_set_label), the name of a window or terminal of its program.
 *   label  out, owned: free with segue_free; NULL if it has none, or the agent offers or has delivered the activity
 */
segue_status segue_offer_get_label(const segue_offer *offer, char **label, size_t *length);
/** Whether apps of other teams may continue the activity, too (R13.1): its origin says so (segue_activity_set_public).
 * False of what the agent has delivered. */
segue_status segue_offer_is_public(const segue_offer *offer, bool *is_public);
segue_status segue_offer_get_payload_version(const segue_offer *offer, uint32_t *version);
/** Bytes of the current user_info. */
segue_status segue_offer_get_size_hint(const segue_offer *offer, uint64_t *bytes);
/** Time since the activity became current or its app came to the foreground. */
segue_status segue_offer_get_age_ms(const segue_offer *offer, uint64_t *age_ms);
/** The date by this device's clock; SEGUE_NO_DATE if the activity does not expire. */
segue_status segue_offer_get_expiration_date(const segue_offer *offer, double *seconds);
segue_status segue_offer_get_supports_continuation_streams(const segue_offer *offer, bool *supports);

/* ------------------------------------------------------------------------------------------------------------------
 * 8. Continuing (R3)
 *
 *   segue_app_continue -> will_continue -> (the origin's will_save runs) -> continue -> the origin's was_continued
 * --------------------------------------------------------------------------------------------------------------- */

/** An object of the app that takes state. */
typedef struct segue_restorable segue_restorable;

/**
 * Continues an offer in this app, and cancels the app's current continuation (R3.3), unless that was answered with
 * "handled" or segue_continuation_fail, or its document is open. One that the agent delivers (section 14) goes on, once
 * its continue has run. If the call succeeds, will_continue runs, and then exactly one of continue and did_fail. If
 * continue is not answered in time, opening_failed (section 12) runs; not for what the agent delivers, which may be
 * answered later, too (R3.8). An app without continue opens the document of the activity (section 12); did_fail runs if
 * there is none that it can open. An activity of another type than that of the offer, which the app does not declare,
 * is MALFORMED.
 *   offer         borrowed
 *   timeout_ms    for the whole continuation; 0: SEGUE_LIMIT_CONTINUATION_MS
 *   continuation  out, owned: release with segue_release
 * Errors: INVALID_STATE (not open), INVALIDATED (closed), INVALID_ARGUMENT (the timeout is over 3600000).
 */
segue_status segue_app_continue(segue_app *app, segue_offer *offer, uint32_t timeout_ms,
                                segue_continuation **continuation);

/**
 * Ends the continuation: did_fail gets USER_CANCELLED, or, once continue has run, opening_failed does (section 12).
 * Once it is answered with "handled" or segue_continuation_fail, its document is open, or it has ended, the call
 * succeeds and has no effect.
 */
segue_status segue_continuation_cancel(segue_continuation *continuation);
/**
 * Declines, inside will_continue only: no payload moves, the origin sees the reason, and did_fail gets DECLINED.
 *   reason  copied, may be NULL. The library cuts it after the last whole character within 255 bytes. Bytes that are
 *           not UTF-8 become U+FFFD. So a reason never makes the call fail
 * Errors: INVALID_STATE (will_continue has returned).
 */
segue_status segue_continuation_decline(segue_continuation *continuation, const char *reason, size_t length);
/**
 * The restoration handler: call it inside continue or later, at most once. Each object's function runs where the app's
 * callbacks run, in order. If called before the answer (return value or segue_continuation_complete), or before a
 * document is opened in its place, the results of the functions count for the outcome: "handled" waits for them, and so
 * does a document that is opened. Other answers do not wait. An object that was not restored is told to the origin
 * alone, in its receipt: no callback of this app follows.
 *   restorables  retained: count handles
 * Errors: INVALID_STATE (before continue, or a second time); LIMIT_EXCEEDED (more than 65536 restorables);
 * REMOTE_APPLICATION_TIMED_OUT (after its end without an answer); INVALIDATED (the app is closed).
 */
segue_status segue_continuation_restore(segue_continuation *continuation, segue_restorable *const *restorables,
                                        size_t count);
/**
 * Answers continue later. If the deadline passes without an answer, the origin's receipt says failed, and
 * opening_failed runs (section 12). A delivery by the agent may be answered after its deadline: the origin's receipt
 * then says unknown (R3.8).
 * Errors: INVALID_STATE (before continue; answered before), REMOTE_APPLICATION_TIMED_OUT (it has ended, by its
 * deadline, a cancel or the app's next continuation: the origin was told that the attempt failed), INVALIDATED (the app
 * is closed).
 */
segue_status segue_continuation_complete(segue_continuation *continuation, bool handled);
/**
 * Answers continue, inside of it (the return value then does not count) or later: the app broke. The origin's receipt
 * says failed. A continuation that the agent has delivered waits in its inbox, and comes again (R3.8): then the receipt
 * says unknown, with the reason.
 *   reason  copied, may be NULL: for the receipt; cut and mended as in segue_continuation_decline
 * Errors: as for segue_continuation_complete.
 */
segue_status segue_continuation_fail(segue_continuation *continuation, const char *reason, size_t length);
/** id  out: SEGUE_ID_SIZE bytes, the same at both ends */
segue_status segue_continuation_get_id(const segue_continuation *continuation, uint8_t *id);
/** Bytes of the payload: total is 0 until it is known. After the end of the continuation, the last figures. */
segue_status segue_continuation_get_progress(const segue_continuation *continuation, uint64_t *received,
                                             uint64_t *total);
/**
 * Tells whether the library opens the document of the activity: continue has answered "not handled", or the delegate
 * has no continue (R3.5). Once true, it stays so.
 */
segue_status segue_continuation_get_opens_document(const segue_continuation *continuation, bool *opens);
/** offer  out, required, owned: release with segue_release */
segue_status segue_continuation_get_offer(const segue_continuation *continuation, segue_offer **offer);

/** Restores one object (a window, a document) from the activity; true: restored. activity  borrowed */
typedef bool (*segue_restore_state_function)(void *context, segue_activity *activity);

/**
 * Creates an object for segue_continuation_restore.
 *   function    required
 *   context     kept
 *   restorable  out, required, owned: release with segue_release
 */
segue_status segue_restorable_create(segue_restore_state_function function, void *context, segue_destroy destroy,
                                     segue_restorable **restorable);

/**
 * Gets the result of segue_activity_resume_back; runs once, where the app's callbacks run, at the latest at the
 * deadline. On success the activity has been replaced, and did_resume_back of its delegate has run.
 *   activity  borrowed
 *   stale     as for did_resume_back
 *   error     borrowed, or NULL
 * Errors: DECLINED (will_resume_back said no, or the activity has unsaved changes), HANDOFF_FAILED (the other app has
 * released or invalidated what it continued, or could not save it and has no older snapshot), CONNECTION_UNAVAILABLE
 * (the other app, or a hub, is gone), REMOTE_APPLICATION_TIMED_OUT, LIMIT_EXCEEDED (too many continuations in
 * progress), INVALIDATED (the activity was invalidated meanwhile), USER_CANCELLED (segue_request_cancel), CANCELLED
 * (this app was closed).
 */
typedef void (*segue_resume_back_function)(void *context, segue_activity *activity, bool stale,
                                           const segue_error *error);
/**
 * Takes the state of an activity back from the app that last continued it, as it is there now (R3.10), as long as that
 * app keeps the continued activity. Works whether or not either app has it as its current activity, and whether or not
 * it is still offered. The will_save of that app runs, by its save policy (R2.9), and its delegate gets was_continued
 * and a receipt, as for any continuation: it may discard the activity there. Then will_save runs here, by the save
 * policy, and will_resume_back of the delegate says whether the state may be replaced; without it, changes that were
 * made here since the other app got the activity stay. If so, all properties but the type, the attachments and the URL
 * of its document are replaced, needs_save is false, and did_resume_back of the delegate runs before the function.
 * Otherwise the other app's receipt says declined.
 *   timeout_ms  for all of it; 0: SEGUE_LIMIT_CONTINUATION_MS
 *   function    required
 *   context     kept
 *   request     out, owned: release with segue_release, at any time; segue_request_cancel cancels
 * Errors: NOT_FOUND (no app has continued the activity, or only apps that declined or failed), INVALID_STATE (its state
 * is coming back already; its app is not open), INVALIDATED, INVALID_ARGUMENT (the timeout is over 3600000).
 */
segue_status segue_activity_resume_back(segue_activity *activity, uint32_t timeout_ms,
                                        segue_resume_back_function function, void *context, segue_destroy destroy,
                                        segue_request **request);

/* ------------------------------------------------------------------------------------------------------------------
 * 9. Streams and requests: for data that is too large for user_info, or takes time (R7)
 *
 *   receiver: segue_activity_ask_stream -> stream -> segue_stream_open
 *   origin:   did_receive_stream -> segue_stream_open
 *
 * A stream connects the two sides of a continuation: what one writes the other reads, in both directions at the same
 * time. Once opened it is an ordinary blocking descriptor that you own: read, write, poll and shutdown it, add it to an
 * event loop, close it. A slow reader blocks the writer. Until the other side opens its end, your bytes wait in the
 * socket's buffer. A write to a stream whose other side has ended raises SIGPIPE, which ends the program: ignore that
 * signal, or write with send(fd, ..., MSG_NOSIGNAL).
 *
 * ENDING. State how you end, then close: segue_stream_finish (all is written) or segue_stream_abort (with a code of
 * yours). shutdown(fd, SHUT_WR) is equivalent to segue_stream_finish if the descriptor stays open until the other side
 * has read the end. A bare close is an abort with code 0. The kernel reports all of these, and a crash, in the same
 * way: so when read has returned 0 or an error, call segue_stream_ask_result to find out whether the data is complete.
 *
 * BETWEEN DEVICES. On one device the stream is a socket pair. On a link between devices the hubs forward the bytes, up
 * to 256 KiB in flight per direction, and bridge cuts of up to 60 s. If the link is gone for longer, or an app that
 * carries a hub closes or dies, the stream is broken at both ends, never ended. The calls are the same.
 *
 *   receiver: segue_activity_request -> response
 *   origin:   on_request -> segue_request_respond
 *
 * A REQUEST is the common case in one call: bytes to the origin, and bytes back, whole or not at all, within a
 * deadline. Many requests can be in progress at a time; they are answered in any order.
 * --------------------------------------------------------------------------------------------------------------- */

/**
 * Gets the stream; runs once, where the app's callbacks run.
 *   activity  borrowed
 *   stream    borrowed: retain it, and open it; or NULL
 *   error     borrowed, or NULL
 * Errors: INVALID_STATE (the activity does not support streams; its app takes none), HANDOFF_FAILED (the activity was
 * invalidated; the continuation is not among the last 64 of this app with that origin), CONNECTION_UNAVAILABLE (its
 * app, or a hub, is gone), REMOTE_APPLICATION_TIMED_OUT, LIMIT_EXCEEDED, CANCELLED (this app was closed).
 */
typedef void (*segue_stream_function)(void *context, segue_activity *activity, segue_stream *stream,
                                      const segue_error *error);

/**
 * Asks the origin of a continued activity for a stream. Each call asks for another stream (R7.1).
 *   timeout_ms  for the answer; 0: SEGUE_LIMIT_CONTINUATION_MS
 *   function    required
 *   context     kept
 * Errors: INVALID_STATE (it was not continued; its app is not open), INVALIDATED, SYSTEM, INVALID_ARGUMENT (the timeout
 * is over 3600000).
 */
segue_status segue_activity_ask_stream(segue_activity *activity, uint32_t timeout_ms, segue_stream_function function,
                                       void *context, segue_destroy destroy);

/**
 * Opens your end, at most once (else INVALID_STATE).
 *   fd  out, required, owned: a connected stream socket, blocking, close-on-exec; close it with close
 */
segue_status segue_stream_open(segue_stream *stream, int *fd);
/**
 * States that all is written, and shuts the descriptor down for writing. You can still read.
 * Errors: INVALID_STATE (not open).
 */
segue_status segue_stream_finish(segue_stream *stream);
/**
 * Aborts the stream, open or not: the other side reads its end and gets the code, even after segue_stream_finish,
 * unless the other side was already told that the stream ended. Close the descriptor if you have opened it.
 */
segue_status segue_stream_abort(segue_stream *stream, uint32_t code);

typedef int32_t segue_stream_result;
/** the other side has written all of its data, and you have read it */
#define SEGUE_STREAM_ENDED 1
/** the other side aborted, with the code; or closed its end without stating how it ended (code 0) */
#define SEGUE_STREAM_ABORTED 2
/** the other side's process, or the connection to it, is gone */
#define SEGUE_STREAM_BROKEN 3

/** Runs once, where the app's callbacks run, within 1 s. stream  borrowed; code  of segue_stream_abort, else 0 */
typedef void (*segue_stream_result_function)(void *context, segue_stream *stream, segue_stream_result result,
                                             uint32_t code);
/**
 * Asks how the other side has ended, after read has returned 0 or an error, before or after you close the descriptor
 * (R7.3).
 *   function  required
 *   context   kept
 * Errors: INVALID_STATE (not open; the other side has not ended), INVALIDATED (the app is closed).
 */
segue_status segue_stream_ask_result(segue_stream *stream, segue_stream_result_function function, void *context,
                                     segue_destroy destroy);

/**
 * Gets the answer; runs once, where the app's callbacks run, at the latest at the deadline.
 *   activity  borrowed
 *   bytes     borrowed: the answer; may be NULL if length is 0
 *   error     borrowed, or NULL: there is an answer
 * Errors: DECLINED (the origin refused, with this reason), INVALID_STATE (the origin answers no requests),
 * HANDOFF_FAILED (the activity was invalidated; the origin released the request unanswered; the continuation is not
 * among the last 64 of this app with that origin), CONNECTION_UNAVAILABLE (the origin, or a hub, is gone; the origin
 * may have acted on the request), REMOTE_APPLICATION_TIMED_OUT, LIMIT_EXCEEDED (the request is larger than the origin
 * accepts, the answer larger than this app accepts, this app has 128 requests in progress, or the origin holds 16
 * requests of the largest size from this process, or 64 from all), USER_CANCELLED (segue_request_cancel), CANCELLED
 * (this app was closed).
 */
typedef void (*segue_response_function)(void *context, segue_activity *activity, const uint8_t *bytes, size_t length,
                                        const segue_error *error);
/**
 * Sends a request to the origin of a continued activity (R7.5).
 *   bytes       copied: at most SEGUE_LIMIT_REQUEST of them; may be NULL if length is 0
 *   timeout_ms  until the whole answer has arrived; 0: SEGUE_LIMIT_CONTINUATION_MS
 *   function    required
 *   context     kept
 *   request     out, owned: release with segue_release, at any time; the request continues
 * Errors: INVALID_STATE (it was not continued; its app is not open), INVALIDATED, LIMIT_EXCEEDED (more bytes than may
 * be sent), INVALID_ARGUMENT (the timeout is over 3600000).
 */
segue_status segue_activity_request(segue_activity *activity, const uint8_t *bytes, size_t length, uint32_t timeout_ms,
                                    segue_response_function function, void *context, segue_destroy destroy,
                                    segue_request **request);
/**
 * Stops waiting for the answer, or for the state that segue_activity_resume_back asks for: the callback gets
 * USER_CANCELLED. After the callback has run, this has no effect. The origin is not told of a request's cancel, and its
 * answer is dropped. Errors: INVALID_STATE (another app's request).
 */
segue_status segue_request_cancel(segue_request *request);
/**
 * Answers another app's request. Too late, it succeeds and has no effect.
 *   bytes  copied: at most SEGUE_LIMIT_REQUEST of them; may be NULL if length is 0
 * Errors: INVALID_STATE (this app's own request; answered before); LIMIT_EXCEEDED (the request still needs an answer).
 */
segue_status segue_request_respond(segue_request *request, const uint8_t *bytes, size_t length);
/**
 * Refuses another app's request, which gets DECLINED.
 *   reason  copied, may be NULL: cut and mended as in segue_continuation_decline
 * Errors: INVALID_STATE (this app's own request; answered before).
 */
segue_status segue_request_refuse(segue_request *request, const char *reason, size_t length);
/**
 * Answers will_resume_back, inside of it (the return value then does not count) or after it has returned LATER. No
 * effect once the time for the answer is over.
 *   request  that of segue_activity_resume_back
 *   yes      the state may be replaced
 * Errors: INVALID_STATE (another request; will_resume_back has not begun; answered before).
 */
segue_status segue_request_complete(segue_request *request, bool yes);

/* ------------------------------------------------------------------------------------------------------------------
 * 10. Attachments: files of any size that belong to an activity (R7.6)
 *
 *   origin:   segue_activity_attach_file
 *   receiver: segue_activity_get_attachments, segue_activity_fetch_attachment
 *
 * Names and sizes travel with the activity. The bytes follow when the receiver fetches them, as often as it likes,
 * while it holds the activity and until the origin invalidates it (transfers in progress then still complete). If the
 * origin invalidates in was_continued, nothing is left to fetch: fetch first, then complete the continuation. The
 * origin's app does nothing: its library sends. Each transfer has a thread at either end. If the bytes are sent and
 * there are 4 MiB or more of them, the receiver uses a second thread. All signals are blocked in these threads.
 *
 * The receiver gets the bytes that were attached, or an error. A file that was written to after it was attached (its
 * size or modification time differ) does not arrive until the origin attaches it again. It may be renamed or deleted.
 * Into a file on the same device the kernel copies, from a read-only descriptor of the origin; otherwise the bytes are
 * sent, and both sides compare the SHA-256 of the whole. A transfer that breaks, or is silent for 10 s, is retried for
 * up to SEGUE_LIMIT_TRANSFER_RESUME_MS, and resumes where it was.
 *
 * SHA-256 comes from OpenSSL: the first call that attaches or fetches loads libcrypto.so.3 (else SYSTEM).
 * --------------------------------------------------------------------------------------------------------------- */

/**
 * Attaches a file, in place of an attachment of the same name. Counts as a change of the activity (R1.7); at most 64.
 *   name  copied: 1...255 bytes of UTF-8 that are valid as a file name: without "/", not "." or ".."
 *   path  copied: opened now, and read when a receiver fetches it
 * Errors: INVALID_ARGUMENT (the name; no regular file that can be read), SYSTEM, LIMIT_EXCEEDED.
 */
segue_status segue_activity_attach_file(segue_activity *activity, const char *name, size_t name_length,
                                        const char *path, size_t path_length);
/** Attaches a regular file that is open for reading. fd stays yours; its offset is not used. Otherwise the same. */
segue_status segue_activity_attach_fd(segue_activity *activity, const char *name, size_t name_length, int fd);
/**
 * Attaches bytes. Otherwise the same.
 *   bytes  copied, into a file in memory; may be NULL if length is 0; at most 1 GiB
 */
segue_status segue_activity_attach_bytes(segue_activity *activity, const char *name, size_t name_length,
                                         const uint8_t *bytes, size_t length);
/**
 * Removes an attachment. Transfers in progress still complete.
 *   name  copied
 * Errors: NOT_FOUND.
 */
segue_status segue_activity_remove_attachment(segue_activity *activity, const char *name, size_t name_length);
/**
 * Lists the attachments. When this app offers a continued activity itself, the activity still lists the attachments of
 * its former origin, but others cannot fetch them: fetch them, and attach the files that you have got.
 *   attachments  out, required, owned: release with segue_release; a dictionary {name: bytes}, empty if there is
 *                none
 */
segue_status segue_activity_get_attachments(const segue_activity *activity, segue_value **attachments);

/**
 * Reports progress where the app's callbacks run: at most ten calls per second and one queued. On success a final call
 * with received == total precedes fetched.
 *   activity  borrowed
 */
typedef void (*segue_progress_function)(void *context, segue_activity *activity, uint64_t received, uint64_t total);
/**
 * Reports the end of a transfer; runs once, where the app's callbacks run.
 *   activity  borrowed
 *   error     borrowed, or NULL: the attachment is complete
 * Errors: NOT_FOUND (no longer attached), HANDOFF_FAILED (the file was changed after it had been attached; the origin
 * cannot read it; the activity was invalidated; the continuation is not among the last 64 of this app with that
 * origin), MALFORMED (the digests differ), SYSTEM (disk full, file too large, ...), INVALID_ARGUMENT (something else
 * than a file has come to the path meanwhile), LIMIT_EXCEEDED (the origin sends 64 to this process, or 256 in all),
 * CONNECTION_UNAVAILABLE (the origin, or the connection to it, is gone),
 * USER_CANCELLED (segue_transfer_cancel), CANCELLED (this app was closed).
 */
typedef void (*segue_fetched_function)(void *context, segue_activity *activity, const segue_error *error);
/**
 * Fetches an attachment of a continued activity into a file. The file replaces an existing one of that name only when
 * all of it is on the disk. Until then, and after an error, no new file exists (on a file system without unnamed files,
 * a hidden file beside it, which is left over only if this process is killed). Nothing but a regular file is replaced:
 * a device, a pipe, a socket, a folder and a symbolic link, which is not followed either, are refused.
 *   name      copied
 *   path      copied: its folder is opened now
 *   progress  may be NULL
 *   fetched   required
 *   context   kept
 *   transfer  out, owned: release with segue_release, at any time; the transfer continues
 * Errors: NOT_FOUND (segue_activity_get_attachments), INVALID_STATE (it was not continued; its app is not open),
 * INVALIDATED, LIMIT_EXCEEDED (this app fetches 64), INVALID_ARGUMENT (what is at the path is no regular file: fetch
 * into its descriptor), SYSTEM (no such folder; no OpenSSL).
 */
segue_status segue_activity_fetch_attachment(segue_activity *activity, const char *name, size_t name_length,
                                             const char *path, size_t path_length, segue_progress_function progress,
                                             segue_fetched_function fetched, void *context, segue_destroy destroy,
                                             segue_transfer **transfer);
/**
 * Fetches into a file, pipe or socket that is open for writing. Bytes written before an error stay written.
 *   fd        stays yours, and may be closed; the transfer waits while its reader is slow
 *   progress  may be NULL
 *   fetched   required
 *   context   kept
 *   transfer  out, owned: release with segue_release, at any time; the transfer continues
 */
segue_status segue_activity_fetch_attachment_to_fd(segue_activity *activity, const char *name, size_t name_length,
                                                   int fd, segue_progress_function progress,
                                                   segue_fetched_function fetched, void *context, segue_destroy destroy,
                                                   segue_transfer **transfer);
/** Ends the transfer with USER_CANCELLED and leaves nothing behind. After its end this has no effect. */
segue_status segue_transfer_cancel(segue_transfer *transfer);

/* ------------------------------------------------------------------------------------------------------------------
 * 11. Responders: windows and views, each with an activity (R4)
 *
 *   the user turns to a window: segue_app_set_main_responder -> its activity is current
 *   a save: will_save -> update_state of each responder of the activity -> did_update of the app
 *
 * A responder stands for an object of yours that the user works in. Give it an activity, and the library MANAGES that:
 * makes it current, saves and invalidates it. Several responders may have one activity; each adds what it shows.
 *
 * Responders form a chain by their next responders, such as a text view, the pane around it, the window. The main
 * responder is where it starts: the one that has the focus. The app's current activity is that of the first responder
 * in the chain that has one (R4.3). This is looked at again in each of the calls below, and when the app comes to the
 * foreground; between them segue_activity_become_current and _resign_current do as they say. If no responder in the
 * chain has an activity, the current one resigns if it is managed. When your app loses the focus, leave the main
 * responder as it is: the user may be turning to the receiver.
 *
 * The restore function of a responder runs for segue_continuation_restore, and that of a document when the document is
 * opened. It does not run for segue_activity_resume_back: let did_resume_back bring all responders of the activity up
 * to date, or the next save puts the old state back.
 *
 * An activity that no responder has any longer is invalidated, even if you hold it, when the next callbacks are
 * delivered (R4.4): so it can be moved from one responder to another. As long as one has it, you need not hold it.
 * --------------------------------------------------------------------------------------------------------------- */

/**
 * An object of the app that has an activity. The last release of one that segue_responder_create gave detaches it: its
 * functions never run again, it has no activity any longer, and a chain that leads to it ends there. A document's
 * responder ends with the document.
 */
typedef struct segue_responder segue_responder;

/**
 * Creates a responder, without an activity.
 *   app        borrowed: open
 *   update     may be NULL. update_state: adds what the object shows to user_info, by
 *              segue_activity_add_user_info_entries. If a responder of the activity has this function, user_info is
 *              empty when a save begins. will_save runs first, then those of responders in the order in which they got
 *              the activity, those of the chain last and the main responder's very last: the value of the focused view
 *              replaces those of the others (R4.2). All of them have SEGUE_LIMIT_SAVE_MS together. If one fails, or the
 *              time is up, the activity keeps the user_info from before. Until the save has ended its changes are
 *              visible to callbacks of this save only
 *   restore    may be NULL: for segue_responder_get_restorable
 *   context    kept
 *   responder  out, required, owned: release with segue_release
 * Errors: INVALID_STATE (the app is not open), INVALIDATED (it is closed).
 */
segue_status segue_responder_create(segue_app *app, segue_will_save_function update,
                                    segue_restore_state_function restore, void *context, segue_destroy destroy,
                                    segue_responder **responder);
/**
 * Gives the responder an activity in place of its former one (R4.1).
 *   activity  retained, may be NULL: none
 * Errors: INVALID_ARGUMENT (another app's activity, or one without an app); INVALIDATED (the activity, or the app).
 */
segue_status segue_responder_set_activity(segue_responder *responder, segue_activity *activity);
/** activity  out, required, owned: release with segue_release; NULL if it has none, or its was invalidated */
segue_status segue_responder_get_activity(const segue_responder *responder, segue_activity **activity);
/**
 * Sets the next responder in the chain, usually that of the object around it.
 *   next  borrowed, may be NULL: none
 * Errors: INVALID_ARGUMENT (a loop, or another app's responder); INVALIDATED (the app is closed).
 */
segue_status segue_responder_set_next(segue_responder *responder, segue_responder *next);
/**
 * Gives the responder as an object for segue_continuation_restore, which calls its restore function. After the
 * responder's release it is not restored.
 *   restorable  out, required, owned: release with segue_release
 * Errors: INVALID_STATE (it has no restore function).
 */
segue_status segue_responder_get_restorable(segue_responder *responder, segue_restorable **restorable);
/**
 * Sets where the chain of the app starts: call it when the user turns to another window or view of the app.
 *   responder  borrowed, may be NULL: nowhere
 * Errors: INVALID_ARGUMENT (another app's responder); INVALID_STATE (the app is not open), INVALIDATED (it is closed).
 */
segue_status segue_app_set_main_responder(segue_app *app, segue_responder *responder);

/**
 * Runs last in each save of an activity of the app, after will_save and all responders (R4.2). Changes made here do not
 * set needs_save.
 *   activity  borrowed
 */
typedef void (*segue_did_update_function)(void *context, segue_app *app, segue_activity *activity);
/** As the functions of section 6. With it, activities without will_save are saved each time they are continued, too. */
segue_status segue_app_delegate_on_did_update(segue_app_delegate *delegate, segue_did_update_function function);

/* ------------------------------------------------------------------------------------------------------------------
 * 12. Documents: open files, each with a responder (R5)
 *
 *   origin:   segue_app_add_document_type, segue_app_add_container ... segue_document_create: it has an activity
 *   receiver: continue says "not handled", or there is none -> open_document -> segue_continuation_complete_opening
 *             -> the document has the continued activity -> its restore function
 *
 * A document is a file, or a folder, that the user has open. It HAS a responder (section 11): the next responder of the
 * windows that show it. The library gives it an activity by itself if a document type names one for its content type
 * and role, and if the file is inside a container (section 13), so that the other devices have it, too; otherwise the
 * log says why not, at level info. A document that is opened through a symbolic link is in the container of its real
 * path, which is looked up once for each URL that you tell; its activity then has that URL. Its title is the name of
 * the file in the URL that you tell, and follows that until you set another; the folder of a container has none. Its
 * user_info has the file's URL under SEGUE_DOCUMENT_URL_KEY. Each save puts it there before will_save runs, after that,
 * and at its end, so that a function may replace user_info; also into an activity that you have given to the responder.
 * Documents are asked before other responders (R4.2).
 *
 * The library does not watch files. Tell it by segue_document_set_url where the file is now: a document that leaves all
 * containers lets go of its activity, whose URL is removed; one that returns gets a new activity, and responders that
 * shared the old one get that, too (R5.2). The same happens when containers are added or removed.
 * --------------------------------------------------------------------------------------------------------------- */

/** An open file. The last release closes it. */
typedef struct segue_document segue_document;

/** The key of user_info under which the URL of the activity's document stands: Apple's name. */
#define SEGUE_DOCUMENT_URL_KEY "NSUserActivityDocumentURLKey"

/** The role of the app for a document: CFBundleTypeRole of its manifest. */
typedef int32_t segue_role;
#define SEGUE_ROLE_EDITOR 1
#define SEGUE_ROLE_VIEWER 2

/**
 * Names the type of the activities that documents of a content type get, before segue_app_open only (else
 * INVALID_STATE). The activity type counts as declared (segue_app_add_activity_type), but is not the one of an activity
 * created without a type. Several content types may name one.
 *   content_type   copied: a MIME type or an identifier, compared byte by byte; 1...255 bytes
 *   activity_type  copied: 1...255 bytes
 * Errors: INVALID_ARGUMENT; LIMIT_EXCEEDED (an app has 256 document types).
 */
segue_status segue_app_add_document_type(segue_app *app, const char *content_type, size_t content_type_length,
                                         segue_role role, const char *activity_type, size_t activity_type_length);

/**
 * Tells that a file is open. Keep the document as long as it is.
 *   app           borrowed: open
 *   url           copied: of the file, file:///..., at most 8 KiB; with another scheme, or without an absolute path:
 *                 INVALID_URL
 *   content_type  copied: 1...255 bytes
 *   update        may be NULL: as in segue_responder_create
 *   restore       may be NULL: as there; without it, a document that was opened counts as restored
 *   context       kept
 *   document      out, required, owned: release with segue_release, which closes it
 * Errors: INVALID_ARGUMENT, INVALID_URL, LIMIT_EXCEEDED; INVALID_STATE (the app is not open), INVALIDATED (it is
 * closed).
 */
segue_status segue_document_create(segue_app *app, const char *url, size_t url_length, const char *content_type,
                                   size_t content_type_length, segue_role role, segue_will_save_function update,
                                   segue_restore_state_function restore, void *context, segue_destroy destroy,
                                   segue_document **document);
/**
 * Closes the document: its activity is invalidated, also if other responders have it, and its functions never run
 * again. A second call succeeds and has no effect.
 */
segue_status segue_document_close(segue_document *document);
/**
 * Gets the document's responder, for chains, and to read or share its activity. It ends with the document, and not
 * with this handle.
 *   responder  out, required, owned: release with segue_release
 */
segue_status segue_document_get_responder(const segue_document *document, segue_responder **responder);
/**
 * Tells where the file is now, after it was renamed, moved or saved under another name. The activity then needs saving.
 *   url  copied: as in segue_document_create
 * Errors: INVALID_URL, LIMIT_EXCEEDED; INVALIDATED (the document, or the app, is closed).
 */
segue_status segue_document_set_url(segue_document *document, const char *url, size_t length);

/** Watches a document. The last release ends that: its function never runs again. */
typedef struct segue_document_observer segue_document_observer;

/**
 * The document has another activity than when this observer was last told, or when it began.
 *   document             borrowed
 *   old_activity         borrowed, or NULL if it had none; may be invalidated
 *   new_activity         borrowed, or NULL if it has none
 */
typedef void (*segue_activity_changed_function)(void *context, segue_document *document, segue_activity *old_activity,
                                                segue_activity *new_activity);
/**
 * Observes which activity a document has, from now on (R5.2). A document can have any number of observers; they are
 * told in the order in which they began. The document need not be kept for it: no function runs once it is closed.
 *   function  required
 *   context   kept
 *   observer  out, required, owned: release with segue_release
 * Errors: INVALIDATED (the document is closed).
 */
segue_status segue_document_observe(segue_document *document, segue_activity_changed_function function, void *context,
                                    segue_destroy destroy, segue_document_observer **observer);

/**
 * Opens the document of an activity that was continued (R3.5): after continue has answered "not handled", or if there
 * is no continue. Runs only for an activity type that segue_app_add_document_type has named, and only if the URL came
 * as that of a container that this app has. Returns LATER, and is answered by segue_continuation_complete_opening on a
 * retained continuation; or calls that before it returns. Without either the document counts as not opened.
 * A document that is created with this URL meanwhile has the activity that came at once; if another one is handed over,
 * or none, it gets one of its own.
 *
 * The origin's receipt says failed if the document is not opened before the deadline of the continuation, cannot be
 * opened, or is not restored. In the first two cases opening_failed runs if the delegate has continue, and did_fail if
 * it has not (R3.2). If the document is not restored, no callback follows. The same holds if this cannot run: the
 * activity names no document, or one that came as that of no container of this app, or no document type has its type,
 * or the app has no open_document. But an app whose continue has answered "not handled" simply declines what names no
 * document, and so does an app that has neither open_document nor document types.
 *   url           borrowed: the file on this device; it may not be there yet (segue_activity_access_begin tells)
 *   activity      borrowed: the document gets it
 *   continuation  borrowed
 */
typedef segue_reply (*segue_open_document_function)(void *context, segue_app *app, const char *url, size_t url_length,
                                                    segue_activity *activity, segue_continuation *continuation);
/** As the functions of section 6. */
segue_status segue_app_delegate_on_open_document(segue_app_delegate *delegate, segue_open_document_function function);
/**
 * Sets the function that runs once if a continuation fails after continue has run: no answer came before the deadline
 * (REMOTE_APPLICATION_TIMED_OUT), a cancel or the app's next continuation (USER_CANCELLED), or the close of the app
 * (CANCELLED); or the answer was "not handled", and the document was not opened. It is not did_fail, because continue
 * and did_fail exclude each other (R3.2). Without it the error goes to the log, as without did_fail (section 6).
 */
segue_status segue_app_delegate_on_opening_failed(segue_app_delegate *delegate, segue_did_fail_function function);
/**
 * Answers open_document, inside of it or later, from any thread: the document gets the continued activity in place of
 * the one that it has, as do responders that share that; then its restore function runs, and counts for the outcome.
 *   document  borrowed, may be NULL: it cannot be opened; else one made for the URL, or one that was open
 *   reason    copied, may be NULL: why not, for did_fail and the receipt; cut and mended as in
 *             segue_continuation_decline
 * Errors: INVALID_STATE (before open_document; answered before); REMOTE_APPLICATION_TIMED_OUT (too late, or cancelled:
 * the document stays as it is); INVALID_ARGUMENT (another app's document); INVALIDATED (the document, or the app, is
 * closed).
 */
segue_status segue_continuation_complete_opening(segue_continuation *continuation, segue_document *document,
                                                 const char *reason, size_t reason_length);

/* ------------------------------------------------------------------------------------------------------------------
 * 13. Containers: files that all devices of the user have (R5.3, R5.4)
 *
 *   origin:   segue_app_add_container("com.example.docs", "/home/anna/Sync") ... user_info has file:///home/anna/Sync/a
 *   receiver: segue_app_add_container("com.example.docs", "/srv/anna") ........ user_info has file:///srv/anna/a
 *             segue_activity_access_begin -> a descriptor -> segue_access_end
 *
 * A CONTAINER is a folder that exists on all devices under one identifier, but at different places: a synchronised
 * folder. A file: URL inside a container, anywhere in user_info, keys and sets too, travels as the container's
 * identifier and the path inside the folder, and arrives as the receiver's own URL; the origin keeps what it has set.
 * The library synchronises nothing: a file may arrive later than the activity that names it.
 *
 * URLS. file:///path, file:/path and file://localhost/path are compared with the registered path and with its
 * real path, byte by byte after percent-decoding: composed and decomposed letters differ. The innermost container
 * counts. Several slashes in a row are one. A path with the components "." or "..", or with %2F or %00 is in no
 * container. A path that leads into the folder only through another symbolic link is in none either, and one that
 * leaves it through a link is in it; but a document is where its real path is (section 12). The query and the fragment
 * after the path stay as they are; but no such URL is opened, since no file has either: in a name write ? as %3F and #
 * as %23.
 *
 * SIZE. A URL that has more than 8 KiB with the receiver's folder fails the continuation (HANDOFF_FAILED). Rewriting
 * may take user_info up to SEGUE_LIMIT_USER_INFO of the app that rewrites, not beyond: at the origin the save then
 * fails, at the receiver the continuation, with USER_INFO_TOO_LARGE.
 *
 * REPORTS of segue_activity_validate. A file: URL with a query or a fragment (INVALID_URL). A file: URL outside every
 * container travels unchanged (INVALID_URL: it means something on this device only). A file in a container that the
 * receiver lacks arrives as segue-container:ID/path, which is no file: URL (NOT_FOUND; also an info line of the log).
 * Such a URL travels on as that file: an app that has the container gets a file: URL again. On the device of the origin
 * such a file arrives as the file: URL of the origin instead, unchecked (R13.4). Two keys of a dictionary,
 * or two elements of a set, that name one file in two ways cannot travel (INVALID_ARGUMENT), nor can user_info that
 * becomes too large (USER_INFO_TOO_LARGE): then the activity cannot be continued, and the log says why.
 * --------------------------------------------------------------------------------------------------------------- */

/** The use of a file. The last release ends it. */
typedef struct segue_access segue_access;

/**
 * Registers a container, at any time; one with the same identifier is replaced. The next save uses it.
 *   identifier  copied: the same on all devices, reverse DNS by convention; 1...255 bytes of UTF-8 without NUL
 *   folder      copied: an absolute path, at most 4095 bytes, without the components "." and ".."; not "/". Its real
 *               path is looked up now, once. A folder that is not there yet is fine: it is looked up whenever a
 *               document is created or moved (section 12), until it is there. Register it again if a part of its path
 *               is a symbolic link that changes, or that appears later in an app without documents
 * Errors: INVALID_ARGUMENT (also: the folder is a file, or that of another container), LIMIT_EXCEEDED (an app has 64
 * containers), SYSTEM.
 */
segue_status segue_app_add_container(segue_app *app, const char *identifier, size_t identifier_length,
                                     const char *folder, size_t folder_length);
/** Removes a container. identifier  copied. Errors: NOT_FOUND. */
segue_status segue_app_remove_container(segue_app *app, const char *identifier, size_t length);

/** A flag of segue_activity_access_begin: the file can be written, too. A folder cannot. */
#define SEGUE_ACCESS_WRITE 1

/**
 * Opens the file or folder of a file: URL inside a container of the activity's app. Nothing outside of the container is
 * ever opened, whatever the URL, and whatever symbolic links other processes make or exchange meanwhile: relative links
 * that stay inside are followed (openat2; without it, before Linux 5.6 or in a sandbox, none are), absolute ones never.
 * Never creates or truncates a file. Blocks as long as the file system does; runs no callback.
 *   url     copied
 *   flags   0 (reading), or SEGUE_ACCESS_WRITE
 *   access  out, required, owned: release with segue_release
 *   fd      out: blocking, close-on-exec, at the start of the file. It belongs to the access: do not close it
 * Errors: NOT_THERE_YET (no such file, or no folder of the container: try again later); NOT_ALLOWED (outside of the
 * containers; a FIFO, device or socket; the system forbids it); NOT_FOUND (a segue-container: URL: the app lacked the
 * container when the activity came); INVALID_URL; INVALID_STATE (the activity has no app); INVALID_ARGUMENT (another
 * flag); LIMIT_EXCEEDED (a URL of more than 16 MiB); SYSTEM.
 */
segue_status segue_activity_access_begin(segue_activity *activity, const char *url, size_t length, uint32_t flags,
                                         segue_access **access, int *fd);
/** Closes the descriptor. A second call succeeds and has no effect. */
segue_status segue_access_end(segue_access *access);

/* ------------------------------------------------------------------------------------------------------------------
 * 14. The agent: apps that are not running (R3.8)
 *
 * If segue-agent runs (docs/agent.md), an offer can be continued in an app that does not: the agent fetches the
 * activity, keeps it on the disk, starts the app, and delivers it once that app has a delegate with on_continue or
 * on_open_document. An entry that waits survives crashes of all involved. It is delivered at least once, always under
 * the same continuation_id; later deliveries have "redelivered" in segue_activity_get_continued_from, and there is none
 * after the app has answered.
 *
 * Three calls continue something in an app that need not run: segue_app_launch an offer, segue_activity_push an
 * activity of the calling app, the request "open" one that the agent has saved. They differ in what they wait for:
 * launch and "open" for the end, push for the choice of the app only, as the calling app has to answer then. If the
 * same activity already waits, unanswered, for that app, it is continued once: all who ask get the same
 * continuation_id, all but the first "shared", and each waits by its own timeout.
 *
 * Everything else is a request by name: segue_app_ask_agent. Requests about the inbox, apps and saved activities are
 * listed here, those about devices in section 15.
 *
 * The calls that ask the agent wait for it on the calling thread, for at most 30 s beyond a timeout: that long if its
 * process is stopped (SIGSTOP). Call them on another thread than the one that runs callbacks: nothing is delivered to
 * this app meanwhile, and a continuation in this app itself would not begin before the timeout. Errors of all:
 * CONNECTION_UNAVAILABLE (no agent runs), REMOTE_APPLICATION_TIMED_OUT (it does not answer), INVALID_STATE (not open;
 * the state folder belongs to another machine), SYSTEM (its disk; the system refuses to reach it, and why),
 * UNSAFE_FOLDER (its folder is a link, or another user's), MALFORMED (what listens there does not answer as an agent
 * does), BUSY (its disk does not keep up), LIMIT_EXCEEDED (4 such calls of this process wait, or 16 of all processes),
 * UNSUPPORTED_VERSION (the inbox is of a newer agent; the agent does not know the request: it is an older one, or the
 * name is misspelled),
 * INVALIDATED (the app is closed), CANCELLED (the app was closed meanwhile; what was asked may have been done).
 * --------------------------------------------------------------------------------------------------------------- */

/**
 * Continues an offer in another app of this device, which need not run, and waits for the end.
 *   bundle_identifier  copied; of that app; NULL: whichever fits best (R6.2)
 *   timeout_ms         0: SEGUE_LIMIT_CONTINUATION_MS, at most 600000; launch included (R3.9)
 *   result             out, owned: release with segue_release; a dictionary {"continuation_id": UUID,
 *                      "bundle_identifier": string, "app_name": string, "outcome": segue_outcome, "status":
 *                      segue_status, "message": string, "shared": bool (another requester came before, and the
 *                      continuation_id is the same), "stale": bool (the app has got an older state, as the origin did
 *                      not save: R2.4), "stale_reason": string (why; absent if it is not stale, or that is not known)};
 *                      an older agent says nothing of stale. SEGUE_OUTCOME_UNKNOWN: the app has not answered in time;
 *                      the activity waits for it
 * Errors: INVALID_ARGUMENT (timeout_ms is over 600000), NOT_FOUND (not offered; no app fits, and why; how the app is
 * started is not known), HANDOFF_FAILED (expired), NOT_ALLOWED (a program would open the file of a text that was
 * changed and not saved: the request "continue-without-text" does so, once the user has agreed),
 * LIMIT_EXCEEDED (as for segue_activity_push; the inbox has no room for what this process asks for), BUSY (the agent is
 * about to take the place of the hub), SYSTEM and INVALID_STATE (the program could not be started, or has no display:
 * then the activity waits in the inbox); errors of the origin.
 */
segue_status segue_app_launch(segue_app *app, const segue_offer *offer, const char *bundle_identifier, size_t length,
                              uint32_t timeout_ms, segue_value **result);
/**
 * Pushes the current activity of an app to another app of this device, or of another device of the account, which need
 * not run (R3.15): it is continued there as if the user had chosen that. The settings of another device's user decide
 * whether it does so at once, asks (the default), or never does. Returns when the app is chosen; the receipt with the
 * same continuation_id says how it ended (segue_activity_delegate_on_continuation_ended), so that will_save can run
 * meanwhile. Stay open until then: an app that closes before gets no receipt, and nothing may have been kept.
 *   device             copied, may be NULL: this device; else SEGUE_ID_SIZE bytes, of the request "account"
 *   bundle_identifier  copied; of that app; NULL: whichever fits best (R6.2)
 *   timeout_ms         at most 600000. If device is NULL, the launch is included (R3.9), and 0 is
 *                      SEGUE_LIMIT_CONTINUATION_MS; otherwise it is for the answer, which may be a user's, and 0 is
 *                      60 s
 *   result             out, owned: release with segue_release; a dictionary {"continuation_id": UUID,
 *                      "bundle_identifier": string, "app_name": string, "shared": bool (as for segue_app_launch;
 *                      absent for another device), "retained_at": UUID, only if the device is off and another one, the
 *                      mailbox, keeps the push until it is back (R14.5): then "app_name" is the name of that one, the
 *                      receipt says UNKNOWN, and how the push ends is told there (request "retained")}
 * Errors: INVALID_STATE (it is not current, or was made without an app), NOT_FOUND (it is not offered, or no longer; no
 * app fits, and why; the account has no such device), LIMIT_EXCEEDED (8 continuations by the agent that this process
 * asked for are under way, or 2 of one origin; 4 pushes of this process, or 16 of all, wait for answers of other
 * devices, or there 4 of this device, or 16 of all), BUSY (the agent is about to take the place of the hub). Of another
 * device also DECLINED (the user there has declined, has not answered, or is not there to be asked; that device takes
 * nothing), CONNECTION_UNAVAILABLE (it is not linked, and neither is a mailbox; or it is no longer: then it may have
 * begun there), INVALID_ARGUMENT (it is this one), NOT_ALLOWED (the activity is private, by segue_activity_set_private
 * or by the user's settings, R10.2), REMOTE_APPLICATION_TIMED_OUT (it has not answered).
 */
segue_status segue_activity_push(segue_activity *activity, const uint8_t *device, const char *bundle_identifier,
                                 size_t length, uint32_t timeout_ms, segue_value **result);

/**
 * Asks the agent for something by its name, and waits for the answer.
 *
 *     segue_value *waiting = NULL;
 *     segue_app_ask_agent(app, "inbox", SEGUE_NUL_TERMINATED, NULL, 0, &waiting);
 *     segue_value_find_string(waiting, "entries/0/title", SEGUE_NUL_TERMINATED, &title, NULL);
 *
 *   request     copied: a name of the lists in this section and the next
 *   options     borrowed, may be NULL: a dictionary of at most 60 KiB, as the list says. Make it with a writer, or from
 *               JSON (segue_value_decode_json, SEGUE_JSON_TAGGED: a UUID is {"$uuid": "..."}). The bytes of a UUID in
 *               an answer are data of SEGUE_ID_SIZE (segue_value_find_data, segue_writer_put_uuid)
 *   timeout_ms  of "open", "join", "await-join", and of "account" and "pushes" with "after", which wait for users or
 *               other devices: at most 600000; 0: SEGUE_LIMIT_CONTINUATION_MS. 0 for all other requests
 *   answer      out, owned: release with segue_release; a dictionary, as the list says. It has all of a list at once
 * Errors: those at the head of this section, and of the request. WRONG_KIND (options is no dictionary),
 * INVALID_ARGUMENT (an option, by name), LIMIT_EXCEEDED (an option is too large), NOT_FOUND (an option names something
 * that is not there, or no longer).
 */
segue_status segue_app_ask_agent(segue_app *app, const char *request, size_t length, const segue_value *options,
                                 uint32_t timeout_ms, segue_value **answer);

/*
 * REQUESTS about what waits for apps of this device.
 *
 * "inbox": lists what waits, the oldest first. No options.
 *   Answer: {"entries": array of dictionaries {"continuation_id": UUID, "number": integer that rises with each entry,
 *   "activity_id": UUID, "bundle_identifier": string (the app that is to get it), "type": string, "title": string,
 *   absent if there is none, "app_name": string, "device_name": string (the origin's), "size": bytes of the document,
 *   "attachments": integer (how many it has), "attachments_left": integer (of these only the origin has the content),
 *   "delivered": bool (the app has it, or is being started to get it, and has not answered), "attempts": integer,
 *   "crashes": integer, "held": bool (after three crashes; see "retry"), "running": bool (the app is open; an older
 *   agent does not say it), "received": date (what this device's clock said then), "expires": date}}
 * "drop": forgets an entry.
 *   Options: {"continuation_id": UUID}. Answer: {}.
 * "retry": lets the agent deliver an entry again. The app has crashed on it three times, or the user has cancelled. An
 *   app that is not open gets the entry when it opens next: no app is started.
 *   Options: {"continuation_id": UUID}. Answer: {}.
 * "failures": lists the last 16 continuations that have failed since the agent has started, and of which no callback
 *   told the app, the oldest first (R3.13): it has neither a log callback nor did_fail, or, for what fails after
 *   continue, opening_failed (section 12). A cancel by the user is not listed. No options.
 *   Answer: {"failures": array of dictionaries {"bundle_identifier": string, "app_name": string, "type": string,
 *   "status": segue_status, "message": string, "date": date}}
 * "retained": lists the offers and pushes that this device keeps for others of the account (R14.5), the oldest first.
 *   No options.
 *   Answer: {"retained": array of at most 64 dictionaries {"activity_id": UUID, "type": string, "app_name": string,
 *   "size": integer (bytes of the document), "attachments": integer, "attachment_bytes": integer (of those that are
 *   kept), "received": date, "device": UUID, "device_name": string (of the origin), "title": string, absent without
 *   one, "continued": date, "continued_by": string, "continued_on": string (when, in which app and on which device it
 *   was continued), absent if it was not, "ended": date, "outcome": segue_outcome, "reason": string (of what has ended
 *   for good; UNKNOWN: the target has the push), absent before, and of a push "push": UUID ("continuation_id" at the
 *   origin), "target": UUID, "target_name": string (the device that is to continue it)}}
 * "withdraw": withdraws, for the user, an offer that the agent keeps for an app that has ended (R2.5).
 *   Options: {"activity": UUID (of segue_offer_get_id)}. Answer: {}. NOT_FOUND: the agent keeps no offer of it.
 *
 * REQUESTS about the apps that there are, and the choice among them (docs/manifests.md). The agent knows the apps that
 * run, and those that have a manifest (R6.1).
 *
 * "apps": lists the manifests of apps, those of higher precedence first. No options.
 *   Answer: {"apps": array of dictionaries, each with "path": string (the file), and either "error": string (it is
 *   broken: which key, and what was expected) or {"bundle_identifier": string, "name": string, "version": string,
 *   absent if there is none, "team": string, "types": array of strings (those that fit into 4096 bytes), "type_count":
 *   integer, "running": bool, "no_launch": string, only if the app cannot be started, and why, "shadowed_by": string,
 *   only if that file describes the same app, and counts, "warnings": array of strings, only if something is wrong with
 *   the file and has no effect}}
 * "route": tells which app of this device would continue an offer, and why no other would: a dry run of the choice that
 *   segue_app_launch makes (R6.2, R6.5). segue_activity_get_route asks it of an activity.
 *   Options: {"activity": UUID (of segue_offer_get_id)}.
 *   Answer: {"count": integer (how many there are), "candidates": array of at most 64 dictionaries, the app that would
 *   continue it first: {"bundle_identifier": string, "name": string, "running": bool, "manifest": bool (it has one),
 *   "role": string (R12.2: "app": it declares the type; "association": the site lists it; "browser": one that takes
 *   part in Handoff, the user's first; "url handler": the user's browser, which is started with the URL; for a public
 *   activity also "opener" and "default application": a program that is started with the file, R13.7),
 *   "preference": string ("same bundle", "chosen", "same team", "desktop default", "used" or "none"; "same team"
 *   and "desktop default" of public activities only: R13.1), "public_type": bool (it is of another team, and may
 *   continue the activity because that is public), "against": array of dictionaries {"reason": string, "message":
 *   string}; empty if the app can continue it}, "web": array of such dictionaries: what concerns the page, and no
 *   candidate}. Reasons: "own app", "team differs", "type not declared", "version declined", "no manifest", "no launch
 *   command"; for an app that claims the site of the page "site not asked", "not listed by the site", "only applinks
 *   listed", "site answers HTML", "site unreachable"; in "web" "no web page", "not claimed by an app", "no default
 *   browser", "browser without extension".
 *   NOT_FOUND: it is not offered. BUSY: the agent does not carry the hub at present.
 * "continue-without-text": continues an offer as segue_app_launch does. If a program opens its file, text that is in no
 *   file stays behind (R13.7).
 *   Options: {"activity": UUID (of segue_offer_get_id), "app": string (absent: whichever fits)}. Answer, timeout and
 *   errors: as for segue_app_launch, without NOT_ALLOWED.
 * "refresh": asks sites at once which apps they list, in place of once a day (R12.9); answers before they have.
 *   Options: {"site": string (one host that a manifest claims; absent: all of them)}.
 *   Answer: {"count": integer (how many are asked)}. NOT_FOUND: no manifest claims that host.
 * "choose": remembers the app that the user wants for a type: of those that fit it is chosen before others, except
 *   before the app of the same bundle identifier (R6.2). For NSUserActivityTypeBrowsingWeb it may be a browser, by its
 *   desktop id without ".desktop": that one opens pages, in place of the desktop's default (R12.3).
 *   Options: {"type": string, "app": string (its bundle identifier; absent: forgets the choice)}. Answer: {}.
 *
 * REQUESTS about saved activities (R8). An activity that is SEGUE_ELIGIBLE_FOR_SEARCH is saved by the agent when it
 * becomes current, and each time that the library saves it: title, keywords, webpage_url, and the entries of user_info
 * that segue_activity_set_required_user_info_keys names, all without it. Saving needs no call, and waits for an agent
 * if none runs. A later activity of the app with the same persistent identifier takes its place. It can be found until
 * its expiration date, without one for 30 days, also after the activity was invalidated and its app has ended.
 *
 * "search": searches the saved activities of all apps of the user, the newest first. Words are found by the rules of
 *   Unicode, whatever their case and accents; Chinese, Japanese and Korean from one character on; "bud*" finds what
 *   begins so.
 *   Options: some of {"query": string (words that must all occur in title or keywords; without words, all are found),
 *   "bundle_identifier": string (of the app whose activities are wanted), "limit": 1 to 1000 results, default 1000}.
 *   Answer: {"results": array of dictionaries {"bundle_identifier": string, "app_name": string, "activity_id": UUID,
 *   "type": string, "saved": date (what this device's clock said then), "expires": date, "number": integer}, and
 *   "title", "persistent_identifier", "webpage_url": strings, absent if there is none}.
 *   LIMIT_EXCEEDED: the query has more than 1024 bytes or 32 words.
 * "open": continues a saved activity in its app on this device, which need not run, and waits for the end (R8.3). The
 *   app gets it as any continuation (section 8), once it has declared the type (R6.2); what it does not take waits in
 *   the inbox. The timeout includes the launch (R3.9).
 *   Options: a dictionary of the "results", of which bundle_identifier, activity_id and persistent_identifier count:
 *   the app gets what is saved under them now. Answer: as the result of segue_app_launch.
 *   NOT_FOUND: it was deleted, or has expired; its app neither runs nor can be started, or does not declare the type;
 *   and the errors of segue_app_launch.
 * "forget": deletes the saved activities of an app, or of all apps, on behalf of the user (R8.2).
 *   Options: {"bundle_identifier": string} or {"all": true}. Answer: {"count": integer (how many there were)}.
 */

/**
 * Answers the request "route" for an activity. The activity need not be offered.
 *   route  out, required, owned: release with segue_release; a dictionary, as for "route"
 * Errors: INVALID_STATE (it was made without an app); those at the head of this section.
 */
segue_status segue_activity_get_route(const segue_activity *activity, segue_value **route);
/**
 * Sets whether the app takes what waits for it; true by default, and without effect until its delegate has on_continue
 * or on_open_document. Set it to false while these are not ready, as a binding of another language may need. Can be set
 * at any time; needs no agent.
 */
segue_status segue_app_set_accepts_waiting(segue_app *app, bool accepts);
/**
 * Gets the end of a deletion; runs once, where the app's callbacks run, once nothing of what was deleted can be found.
 *   count  how many saved activities there were; 0 with an error
 *   error  borrowed, or NULL
 * Errors: CONNECTION_UNAVAILABLE (no agent runs, or none has answered within SEGUE_LIMIT_CONTINUATION_MS),
 * LIMIT_EXCEEDED (128 deletions wait, or the identifiers are more than SEGUE_LIMIT_REQUEST bytes), SYSTEM (the agent's
 * disk), CANCELLED (the app was closed; the deletion may have happened), DECLINED (the app is a chooser).
 */
typedef void (*segue_deletion_function)(void *context, segue_app *app, size_t count, const segue_error *error);
/**
 * Deletes saved activities of this app by their persistent identifiers (R8.2). Activities that the app saves after this
 * call stay.
 *   persistent_identifiers  borrowed; an array or set of strings
 *   function                required
 *   context                 kept
 * Errors: WRONG_KIND (other values), INVALID_STATE (not open), INVALIDATED (closed).
 */
segue_status segue_app_delete_saved(segue_app *app, const segue_value *persistent_identifiers,
                                    segue_deletion_function function, void *context, segue_destroy destroy);
/**
 * Deletes all saved activities of this app, of all its processes (R8.2).
 *   function  required
 *   context   kept
 * Errors: INVALID_STATE (not open), INVALIDATED (closed).
 */
segue_status segue_app_delete_all_saved(segue_app *app, segue_deletion_function function, void *context,
                                        segue_destroy destroy);

/* ------------------------------------------------------------------------------------------------------------------
 * 15. Devices: the user's other machines (R10)
 *
 *   first device:   "create-account", "invite": a link      "account": "joins" has eight digits; the user compares them
 *                   -> "answer-join"
 *   second device:  "read-invite", "join": the same digits -> "await-join"
 *
 * Devices of one user share an ACCOUNT (docs/devices.md). Those that reach each other link by themselves, encrypted,
 * and then have each other's offers. The agent does all of it: no app ever holds a key or a port. The first device is
 * the MANAGER: it alone invites, renames and revokes others. These are requests of segue_app_ask_agent, for a settings
 * window or a command, on behalf of the user; apps in sandboxes cannot make them (docs/agent.md, "The second socket").
 * A push to another device is segue_activity_push.
 *
 * Further errors of all: NOT_FOUND (this device is in no account), NOT_ALLOWED (the request is for the manager),
 * INVALID_STATE (this device is in an account already; what is stored of the account cannot be used, and why),
 * UNSUPPORTED_VERSION (the agent that runs knows no devices). Names are shown without control characters and changes of
 * direction; 64 characters of them are kept. A blank name, of which nothing would be left, is refused
 * (INVALID_ARGUMENT). An error that is about another device names it first ("phone: is not linked now").
 * --------------------------------------------------------------------------------------------------------------- */

/*
 * REQUESTS about the account of this device.
 *
 * "account": tells which account this device is in, which devices there are, and who asks to join; at once, or when
 *   that changes. Needs no account.
 *   Options: {"after": integer (absent: at once; else the "change" of the answer before: waits until there is another
 *   one, or the time is up: then the answer has the same "change")}.
 *   Answer: {"change": integer (never 0, and another one after each change and each start of the agent),
 *   "status": string ("none": in no account, "member", "unusable": what is stored cannot be used),
 *   "message": string, absent if all is well (why it is unusable; advice about clock or certificate),
 *   "settings": dictionary, as of "set-devices",
 *   "joins": array of dictionaries {"join": integer, "asks": bool (the user of this device is to answer, and has not
 *   yet), "digits": string ("1234 5678"), "account_name": string, "device_name": string (of the other), "platform":
 *   string (empty if not known), "clock_here": date, "clock_there": date (both absent unless the clocks of the two
 *   devices differ by more than a day: show them beside the digits)},
 *   "notices": array of at most 16 dictionaries {"date": date, "status": segue_status, "message": string} (what the
 *   user should hear of, such as a failed try to join; the newest last)}
 *   and, unless "status" is "none",
 *   {"account": UUID, "account_name": string, "device": UUID (this one), "manager": bool (this device is it), "port":
 *   integer (0: does not listen), "invites": integer (that can be used now),
 *   "devices": array of dictionaries {"device": UUID, "name": string, "platform": string, "fingerprint": string, absent
 *   unless names look the same, "this_device": bool, "manager": bool, "confirmed": bool (it has shown its new key),
 *   "linked": bool (now), "joined": date, "certificate_ends": date, "last_seen": date (when its link has begun, or it
 *   was last heard before that has ended), absent if not since the agent started, "address": string, absent unless
 *   linked, "outdated": bool, absent unless true (it runs an older Segue, and hears of no revocation),
 *   "addresses": array of strings, absent if there are none (those of "add-address"), "avoided": array of strings,
 *   absent if there are none (those of "avoid-path"), "paths": array of at most 6 dictionaries {"address": string,
 *   "state": string ("used", "trying", "failed", "known", "avoided"), "cost": string, absent if not known ("same
 *   network", "other network", "tunnel", "relay", "command"), "message": string, absent unless it has failed} (the ways
 *   to the device, that of the link first, R14.1), absent if there are none, "retains": integer (how many offers of
 *   this device it keeps for the others, R14.5), absent if it has not said that, "retains_problem": string (why it
 *   does not keep all), absent if it does, "retains_pushes": integer (how many pushes of this device it keeps for
 *   others that are off, R3.15), "retained_here", "pushes_here", "retained_bytes": integers (how many of its offers and
 *   pushes this device keeps, and the bytes of all), each absent if none},
 *   "takeovers": array of at most 4 dictionaries {"device": UUID, "fingerprint": string, "name": string, "term":
 *   integer, "date": date, "digest": data of 32 bytes} (a device that this one does not know as one of the account has
 *   become the manager with the recovery file; it does not count before "accept-roster"); an older agent has neither
 *   this list nor the next,
 *   "refused": array of at most 16 dictionaries {"device": UUID, "fingerprint": string, "name": string, absent if not
 *   known, "date": date} (a device that has a certificate of the account, and is not in its list; "revoke-device" at
 *   the manager keeps it out for good)}
 * "create-account": makes an account, with this device as its first, and its manager.
 *   Options: {"name": string of 1 to 255 bytes (of the account, as other devices show it when they join),
 *   "device_name": string of 1 to 255 bytes, absent: the name of the host}. Answer: {}.
 * "rename-device": renames a device. The manager renames any; another device asks the manager for a name of its own,
 *   and gets the newest one if it asks more often than every 5 s.
 *   Options: {"device": UUID (absent: this one), "name": string of 1 to 255 bytes}. Answer: {}.
 *   NOT_FOUND: the account has no such device. CONNECTION_UNAVAILABLE: the manager is not linked.
 * "revoke-device": puts a device out of the account, for good: a lost one, or one that was sold. Its links end within a
 *   second, and no device of the account that hears of it links with it again. The manager only.
 *   Options: {"device": UUID (one of "devices", "refused" or "takeovers")}. Answer: {}.
 *   NOT_FOUND: the account has no such device. INVALID_ARGUMENT: it is this one, see "leave-account".
 * "leave-account": takes this device out of its account, and forgets the account here, also one that cannot be used. If
 *   the manager is not linked, it lists this device until that is revoked there. If the state folder belongs to another
 *   machine, the account and the inbox that came with it are set aside, and this machine begins anew.
 *   Options: {"abandons": bool, default false (a manager with other devices leaves only if true: the account then has
 *   none until a recovery file makes one of the others the manager)}.
 *   Answer: {"aside": string, absent if nothing was kept (the names of the files to which what could not be used was
 *   moved)}. INVALID_STATE: "abandons" is false, and this is the manager of other devices.
 * "recovery-file": gets the key of the account, encrypted. With it and its passphrase any other device of the account
 *   becomes the manager. Store it where a lost device does not take it along. The manager only.
 *   Options: {"passphrase": string of 12 characters to 1024 bytes}. Answer: {"file": data (PEM)}.
 * "recover-account": makes this device the manager of its account, which then can revoke the one that is lost.
 *   Options: {"file": data of at most 8192 bytes, "passphrase": string}. Answer: {}.
 *   MALFORMED: no recovery file. NOT_ALLOWED: another passphrase, or another account.
 * "accept-roster": answers for the user: the device of a takeover is the manager from now on. Ask first, and show its
 *   name and fingerprint: only the user can tell a thief from a device of the user that was admitted while this one
 *   slept. The usual answer is no, which needs no request.
 *   Options: {"device": UUID, "digest": data (both of one of "takeovers": what was shown is what counts)}. Answer: {}.
 * "set-devices": sets how this device meets others; what is not named stays as it is. Stored by the agent, at once.
 *   Needs no account.
 *   Options: some of {"port": integer (0...65535; 0: any that is free, the same one after each start), "addresses":
 *   array of at most 16 strings (IPv4 or IPv6 addresses with a port, that are dialled beside those found), "discovery":
 *   bool (finds and is found by multicast in the local network), "push": string ("ask", "at-once" or "never": whether
 *   other devices may have activities continued here, R3.15; default "ask", see "pushes"), "private": bool (offers of
 *   this device go to no device of the account; links of segue_app_link carry them, R10.2), "private_types": array of
 *   at most 64 strings (activity types whose offers go to none), "private_apps": array of at most 64 strings (bundle
 *   identifiers), "relay": bool (passes bytes on between other devices of the account, R14.3), "retain_on": UUID or
 *   "off" (the device that keeps the offers of this one while it is away, and its pushes for devices that are off,
 *   R14.5)}. An array replaces the former one.
 *   Answer: {}. NOT_FOUND, INVALID_ARGUMENT: "retain_on" is no device of the account, or this one.
 * "add-address": gives a device an address, at which this one dials it while it is not linked (R14.2). Stored.
 *   Options: {"device": UUID, "address": string (IPv4, IPv6 in brackets, or a name, which is looked up anew each time;
 *   then perhaps a colon and a port, by default the one that the device has told)}. Answer: {}.
 *   NOT_FOUND: the account has no such device. INVALID_ARGUMENT: no address, or the device has told no port yet.
 *   LIMIT_EXCEEDED: the device has 8 addresses, or all have more than 4096 bytes.
 * "remove-address": takes such an address back.
 *   Options: {"device": UUID, "address": string}. Answer: {}. NOT_FOUND: the device has no such address.
 * "avoid-path": has a kind of path to a device used no longer (R14.1): none is dialled, none is taken from there, and a
 *   link of that kind ends. Stored.
 *   Options: {"device": UUID, "path": string (a "cost" of "paths")}. Answer: {}.
 *   NOT_FOUND: the account has no such device. INVALID_ARGUMENT: no kind of path, or the device is this one.
 * "use-path": allows it again.
 *   Options: {"device": UUID, "path": string}. Answer: {}. Errors: as for "avoid-path".
 *
 * REQUESTS with which a device joins.
 *
 * "invite": makes a link, often shown as a QR code, with which one device can join within ten minutes. A holder of the
 *   link can ask to join; the user compares digits and decides. The manager only; at most 8 at a time (LIMIT_EXCEEDED).
 *   Options: some of {"addresses": array of at most 8 strings (IPv4 or IPv6 addresses, without a port, at which this
 *   device is reached; default: those of its networks), "automatic": bool, default false (admits its device without
 *   asking: where no user could be asked)}. Answer: {"link": string, "expires": date}.
 *   INVALID_STATE: this device is in no network, or does not listen.
 * "cancel-invites": voids invites that can be used. A join that has begun with one goes on: see "answer-join".
 *   Options: {"link": string (of one)} or {"all": true}. Answer: {}. INVALID_URL: no invite, and why.
 * "read-invite": tells what an invite says, so that the user can be asked before this device dials the other. Needs no
 *   account.
 *   Options: {"link": string of at most 2048 bytes}.
 *   Answer: {"account": UUID, "account_name": string (as the link says: nothing has proved it yet), "addresses": array
 *   of strings (with the port)}. INVALID_URL: no invite, and why. UNSUPPORTED_VERSION: of a newer Segue.
 * "join": asks to join the account of an invite; is answered when both devices show their digits. Show them: the users
 *   compare them, and the manager admits. Then ask "await-join". The timeout is until the other device is reached; more
 *   than 20 s counts as 20 s.
 *   Options: {"link": string, "device_name": string of 1 to 255 bytes, absent: the name of the host}.
 *   Answer: {"join": integer, "digits": string, "account_name": string, "device_name": string (the manager's),
 *   "platform": string, and the clocks of "joins"}.
 *   INVALID_URL. CONNECTION_UNAVAILABLE: none of its addresses answers. BUSY: this device is joining already.
 *   NOT_ALLOWED: the invite is void; the other side speaks for another account. DECLINED: the other device ended it.
 * "await-join": waits until this device is in the account. It goes on when the time is up: ask again.
 *   Options: {"join": integer}. Answer: {}.
 *   NOT_FOUND: no such join. DECLINED: by the user of the manager. NOT_ALLOWED: the account is not that of the invite.
 *   REMOTE_APPLICATION_TIMED_OUT.
 * "answer-join": answers for the user. At the manager: whether the other device is admitted, after the digits were
 *   compared. At the device that joins: false ends it.
 *   "joins" of "account" at the manager may have the join a moment after "join" was answered: wait with "after".
 *   Options: {"join": integer, "admits": bool}. Answer: {}.
 *   NOT_FOUND: no such join. INVALID_STATE: it has ended, or was answered; true is not this device's to say.
 *
 * REQUESTS about what other devices push here (R3.15).
 *
 * "pushes": tells what other devices push about which the user of this one is to be asked; at once, or when that
 *   changes. While a request with "after" waits, and for 5 s after its answer, there is somebody who can ask; without
 *   anybody a push is declined. A request without it only looks. A push is no longer listed once it is over: it was
 *   answered, its time is up, the other device no longer waits for it or offers it, or is no longer linked.
 *   Options: {"after": integer (absent: at once; 1: at once, as one who can ask; else the "change" of the answer
 *   before: waits until there is another one, or the time is up)}.
 *   Answer: {"change": integer (above 1), "pushes": array of dictionaries {"push": UUID, "device": UUID, "device_name":
 *   string (by the account), "activity_id": UUID, "type": string, "title": string, absent if there is none, "app_name":
 *   string (the origin's), "bundle_identifier": string (of the app here that would continue it), "receiver_name":
 *   string (its name), "received": date, "expires": date (declined then)}}
 * "answer-push": answers for the user. If true, the agent answers when it has chosen the app. The app need not run.
 *   Options: {"push": UUID, "accepts": bool}. Answer: {}.
 *   NOT_FOUND: it is not asked about any longer, or not offered any longer; no app fits, and why.
 */

/* ------------------------------------------------------------------------------------------------------------------
 * 16. The virtual fleet: your app and any number of devices in one process, for tests (R11.1)
 *
 * The functions that are marked with SEGUE_FLEET are in a library for tests, libsegue-fleet.so.0: the same sources, and
 * all functions of this header. A test links it in place of libsegue.so.0 (-lsegue-fleet), which has no fleet. One
 * process uses one of the two: handles of one mean nothing to the other.
 *
 * A fleet has its own clock and network, and advances only when you call it: no socket, no thread, no waiting. An app
 * on one of its devices is a segue_app like any other, created by segue_fleet_device_create_app in place of
 * segue_app_create, and the code under test needs no change. A device has an agent once segue_fleet_device_start_agent
 * is called. segue_app_link returns INVALID_STATE. The other differences: callbacks run inside segue_fleet_step, _run
 * and _advance, whatever delivery was set, inside calls that ask an agent, which advance the fleet until they are
 * answered, and inside segue_app_dispatch, which advances the fleet until a callback of that app has run. Timeouts of
 * these calls are in the fleet's time. A negative one also ends when nothing is left that could happen: pings
 * between linked devices that answer do not count. A program with its own loop calls segue_app_fd; from then on the
 * app's callbacks run inside segue_app_dispatch only, and the descriptor is readable while one is due. Attachments and
 * the bytes of streams travel when the fleet advances. So a blocking read of bytes that have not arrived, and a
 * blocking write of more than a socket holds (some 200 KB), fail with EAGAIN after 10 s of real time, unless another
 * thread advances the fleet meanwhile. The clock begins on 2023-11-14.
 *
 *     segue_fleet_create(7, &fleet);
 *     segue_fleet_add_device(fleet, "phone", SEGUE_NUL_TERMINATED, &phone);
 *     segue_fleet_add_device(fleet, "laptop", SEGUE_NUL_TERMINATED, &laptop);
 *     segue_fleet_device_create_app(phone, "com.example.notes", SEGUE_NUL_TERMINATED, &app);
 *     start_my_editor(app);                           // sets its delegate, opens it, makes an activity current
 *     segue_fleet_run(fleet, NULL);                   // until nothing is in progress
 *     segue_fleet_device_partition(phone, laptop);
 *     segue_fleet_advance(fleet, 32000, NULL);        // 32 s later, at once
 *     segue_fleet_check(fleet, &violation, NULL);     // NULL: no invariant of this library was violated
 *
 * The same seed and the same calls give the same trace, byte for byte, on every machine. The engines are those of the
 * product. Processes, hub election (with the same timing), clocks and the network are simulated. Between devices bytes
 * travel as over TCP: a lost, duplicated or reordered segment costs time, a partition is silence, and a connection can
 * end after any byte. All fleet functions may be called from any thread, and from callbacks, except those that advance
 * the fleet (BUSY).
 * --------------------------------------------------------------------------------------------------------------- */

/** Marks a function that libsegue-fleet.so.0 has, and libsegue.so.0 has not. */
#define SEGUE_FLEET

/** A fleet. Its devices, and the apps on them, keep it alive. */
typedef struct segue_fleet segue_fleet;
/** A device of a fleet. It stays in its fleet when it is released. */
typedef struct segue_fleet_device segue_fleet_device;

/**
 * Creates a fleet without devices.
 *   seed   all randomness comes from it: delays, losses, identifiers
 *   fleet  out, required, owned: release with segue_release
 * Errors: INVALID_STATE, and a line on standard error (libsegue.so.0 is linked, too, and stands in front: calls of the
 * other functions go there).
 */
SEGUE_FLEET segue_status segue_fleet_create(uint64_t seed, segue_fleet **fleet);

/**
 * Adds a device that is switched on and runs no app. It is linked with all others, unless segue_fleet_set_linking is
 * false.
 *   name    copied: not empty, at most 255 bytes, unique in the fleet
 *   device  out, required, owned: release with segue_release
 * Errors: INVALID_ARGUMENT; LIMIT_EXCEEDED (65536 devices).
 */
SEGUE_FLEET segue_status segue_fleet_add_device(segue_fleet *fleet, const char *name, size_t length,
                                                segue_fleet_device **device);
/** Sets whether devices added from now on are linked with all existing ones; true by default. False: e.g. a star. */
SEGUE_FLEET segue_status segue_fleet_set_linking(segue_fleet *fleet, bool all);
/** Sets the delay between devices; 5...20 ms by default. Errors: INVALID_ARGUMENT (over 10000; least above most). */
SEGUE_FLEET segue_status segue_fleet_set_delay(segue_fleet *fleet, uint32_t least_ms, uint32_t most_ms);
/**
 * Sets the probabilities, 0...1, that a segment between two devices is lost, duplicated or reordered; 0 by default.
 * Errors: INVALID_ARGUMENT.
 */
SEGUE_FLEET segue_status segue_fleet_set_faults(segue_fleet *fleet, double loss, double duplication, double reordering);
/** Ends all partitions. */
SEGUE_FLEET segue_status segue_fleet_heal(segue_fleet *fleet);

/**
 * Executes the next event, and sets the clock to its time. A loop that steps while it can comes to an end: pings
 * between linked devices that answer, which repeat for ever, are executed only while something else is left to happen.
 *   stepped  out: false if nothing was executed, because nothing but such pings is left
 * Errors: BUSY (another thread advances the fleet, or this is one of its callbacks).
 */
SEGUE_FLEET segue_status segue_fleet_step(segue_fleet *fleet, bool *stepped);
/**
 * Steps until nothing is in progress: no bytes in flight, no callback due, no app looking for a hub. Timers (a
 * deadline, a lazy save) do not count as progress: segue_fleet_advance reaches them.
 *   steps  out: the number of steps
 * Errors: BUSY; LIMIT_EXCEEDED (not at rest after 10,000,000 steps).
 */
SEGUE_FLEET segue_status segue_fleet_run(segue_fleet *fleet, size_t *steps);
/**
 * Steps until that much of the fleet's time has passed.
 *   milliseconds  at most 86400000 (a day)
 *   steps         out: the number of steps
 * Errors: BUSY, INVALID_ARGUMENT.
 */
SEGUE_FLEET segue_status segue_fleet_advance(segue_fleet *fleet, uint64_t milliseconds, size_t *steps);
/**
 * Waits, in real time, until there is work again: another thread has answered (SEGUE_REPLY_LATER), called a function of
 * an app, or written to a stream. Then run the fleet again:
 *
 *     while (segue_fleet_run(fleet, NULL), !done) { segue_fleet_wait(fleet, 5000, &busy); assert(busy || done); }
 *
 *   wait_ms  real milliseconds
 *   busy     out: false if the time is up
 * Errors: BUSY (another thread waits, or this is a callback that the fleet runs), SYSTEM.
 */
SEGUE_FLEET segue_status segue_fleet_wait(segue_fleet *fleet, uint32_t wait_ms, bool *busy);
/** Milliseconds since the fleet was created, in its own time. */
SEGUE_FLEET segue_status segue_fleet_get_time_ms(const segue_fleet *fleet, uint64_t *time_ms);

/**
 * Gets the trace, one line per event: seconds, device/app, what happened. A very long trace is cut to its last 32 MiB
 * or more.
 *   text  out, owned: free with segue_free
 */
SEGUE_FLEET segue_status segue_fleet_get_trace(const segue_fleet *fleet, char **text, size_t *length);
/** FNV-1a, 64 bits, of the whole trace: to compare two runs. */
SEGUE_FLEET segue_status segue_fleet_get_trace_hash(const segue_fleet *fleet, uint64_t *hash);
/**
 * Reports whether an invariant of this library was violated. The fleet checks after each step: each will_continue is
 * followed by exactly one of continue and did_fail (R3.2), one receipt per attempt, every end within its deadline, no
 * offer outlives its activity, all devices agree within 2 s of the last fault (32 s of a silent one) and 2 ms more for
 * each app of the device that has most, bounded queues.
 *   violation  out, owned: free with segue_free; the first violation, with the seed; NULL: none
 */
SEGUE_FLEET segue_status segue_fleet_check(const segue_fleet *fleet, char **violation, size_t *length);

/**
 * Fills a fleet that has no devices with a random workload from its seed: apps offer, continue, misbehave, crash, are
 * stopped and cut off; then all faults heal, time passes, and all apps close. The library tests itself in this way.
 *   devices, apps, events  1...64, 1...400 at a time, 0...100000
 * Errors: INVALID_ARGUMENT, INVALID_STATE (has devices), BUSY, LIMIT_EXCEEDED (never comes to rest).
 */
SEGUE_FLEET segue_status segue_fleet_play(segue_fleet *fleet, size_t devices, size_t apps, size_t events);

/**
 * Kills the process of an app (SIGKILL): no callback runs, no goodbye is sent; afterwards the app is closed.
 * Errors: INVALID_ARGUMENT (not of this fleet), INVALID_STATE (not open).
 */
SEGUE_FLEET segue_status segue_fleet_kill_app(segue_fleet *fleet, segue_app *app);
/** Stops the process of an app (SIGSTOP), or continues it (SIGCONT). Errors: as for segue_fleet_kill_app. */
SEGUE_FLEET segue_status segue_fleet_set_app_stopped(segue_fleet *fleet, segue_app *app, bool stopped);

/**
 * Creates an app on this device, in a process of its own, not open yet, like segue_app_create.
 *   bundle_identifier  copied: 1...255 bytes of UTF-8
 *   app                out, required, owned: release with segue_release
 */
SEGUE_FLEET segue_status segue_fleet_device_create_app(segue_fleet_device *device, const char *bundle_identifier,
                                                       size_t length, segue_app **app);

/**
 * Starts the agent of the device. From now on the calls that ask the agent (sections 14 and 15) work for the apps of
 * the device: what waits for apps, what apps have left, search, accounts, joining with digits, pushes.
 *
 * All that decides in the agent is what ships. Its databases are those that ship, too, in a folder of their own
 * (in /dev/shm, or else $TMPDIR, or /tmp), which is removed with the fleet. They stay when the agent ends, and when the
 * device crashes. Devices of an account are linked over a simulated network that all devices with an agent share
 * (10.0.0.0/16); segue_fleet_device_partition cuts it. A stand-in that is as strict as TLS takes its place, so that
 * a run can be repeated. Attachments of what waits stay with their origins.
 * Errors: INVALID_STATE (the device is down, or has an agent).
 */
SEGUE_FLEET segue_status segue_fleet_device_start_agent(segue_fleet_device *device);
/**
 * Ends the agent of the device.
 *   kills  false: in order, as SIGTERM does; true: as SIGKILL does
 * Errors: INVALID_STATE (the device has no agent).
 */
SEGUE_FLEET segue_status segue_fleet_device_end_agent(segue_fleet_device *device, bool kills);
/**
 * Opens the app that the agent of a device starts: it calls segue_fleet_device_create_app and segue_app_open. An app
 * that is not open within 20 s of the fleet's time counts as one that has not started. Runs where callbacks of apps
 * run.
 *   context  that of segue_fleet_device_install_app
 */
typedef void (*segue_launch_function)(void *context);
/**
 * Installs an app on the device: its agent knows the manifest of the app (R6.1), and can start the app. In place of the
 * app with the same bundle identifier, if one is installed. It stays installed whatever becomes of device and agent.
 *   manifest  path of a manifest, copied: as for segue_app_load_manifest
 *   launch    NULL: the app cannot be started, and only counts while it runs
 *   context   kept: when the app is uninstalled or replaced, or the fleet goes
 * Errors: those of segue_app_load_manifest; MALFORMED names the place in the file.
 */
SEGUE_FLEET segue_status segue_fleet_device_install_app(segue_fleet_device *device, const char *manifest, size_t length,
                                                        segue_launch_function launch, void *context,
                                                        segue_destroy destroy);
/** Uninstalls the app with this bundle identifier; an app that runs goes on. Errors: NOT_FOUND. */
SEGUE_FLEET segue_status segue_fleet_device_uninstall_app(segue_fleet_device *device, const char *bundle_identifier,
                                                          size_t length);
/**
 * Cuts the power: the device's apps are closed without a callback, its agent dies, and other devices get no notice,
 * only silence.
 */
SEGUE_FLEET segue_status segue_fleet_device_crash(segue_fleet_device *device);
/** Restores the power; no app and no agent runs on the device yet. */
SEGUE_FLEET segue_status segue_fleet_device_restart(segue_fleet_device *device);
/**
 * Drops everything between the two devices, without notice to either, until segue_fleet_heal.
 *   other  borrowed, may be NULL: all others
 * Errors: INVALID_ARGUMENT (of another fleet, the same device).
 */
SEGUE_FLEET segue_status segue_fleet_device_partition(segue_fleet_device *device, segue_fleet_device *other);
/** Links two devices, or removes the link, which both devices notice. other  borrowed. Errors: INVALID_ARGUMENT. */
SEGUE_FLEET segue_status segue_fleet_device_set_linked(segue_fleet_device *device, segue_fleet_device *other,
                                                       bool linked);

#ifdef __cplusplus
}
#endif

#endif
