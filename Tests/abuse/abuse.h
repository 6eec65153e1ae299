/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls at random, every function of segue.h, good and bad, from many threads and from inside callbacks. */
#ifndef ABUSE_H
#define ABUSE_H

#include <segue.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The table of calls: bindings/segue-api.json as C, written by Tests/abuse/table. ---------------------------------- */

enum role {
  ROLE_VALUE,
  ROLE_BUFFER,
  ROLE_MEMORY,
  ROLE_CALLBACK,
  ROLE_CONTEXT,
  ROLE_DATA,
  ROLE_LENGTH,
  ROLE_HANDLE,
  ROLE_HANDLES,
  ROLE_STRING,
  ROLE_STRUCT,
};

enum type {
  TYPE_BOOL,
  TYPE_INT32,
  TYPE_UINT32,
  TYPE_INT64,
  TYPE_UINT64,
  TYPE_SIZE,
  TYPE_DOUBLE,
  TYPE_POINTER,
  TYPE_FUNCTION,
};

enum { ANY_HANDLE = -2 };

typedef void callback(void);

struct parameter {
  const char *name;
  enum role role;
  enum type type;
  bool is_in, nullable, required, is_enumerator, is_destroy;
  int handle;         /* index into handle_types, ANY_HANDLE, or -1 */
  int length;         /* the parameter that is its length or capacity, or -1 */
  int size;           /* fixed bytes, or 0 */
  callback *callback; /* what to pass, or NULL */
};

struct function {
  const char *name;
  uint64_t (*call)(const uint64_t *words); /* arguments and result widened to 8 bytes */
  const struct parameter *parameters;
  int count;
  bool gives_status;
};

enum option_kind { OPTION_BOOL, OPTION_INTEGER, OPTION_STRING, OPTION_DATA, OPTION_UUID, OPTION_ARRAY };

/** An option of a request to the agent, by the header. */
struct option {
  const char *name;
  enum option_kind kind;
};

struct request {
  const char *name;
  const struct option *options;
  int count;
};

extern const struct function functions[];
extern const int function_count;
extern const char *const handle_types[];
extern const int handle_count;
extern const struct request requests[];
extern const int request_count;

/* One call --------------------------------------------------------------------------------------------------------- */

enum { MOST_PARAMETERS = 11, ROOM = 64, MOST_OFFERS = 64, BUFFER = 4096, UNTOUCHED = 0xA5 };

struct call {
  const struct function *function;
  uint64_t words[MOST_PARAMETERS];
  _Alignas(16) unsigned char outputs[MOST_PARAMETERS * ROOM]; /* a place for each output */
  uint64_t list[MOST_OFFERS];                                 /* handles, in or out */
  unsigned char buffer[BUFFER];                               /* what has a capacity */

  int type;         /* that of a handle that may have any */
  uint64_t taken;   /* a handle that was taken out of its pool, to be released */
  int request;      /* index into requests, or -1 */
  uint64_t options; /* a value that was made for the request, or 0 */
  size_t context;   /* what is passed as the context, or 0 */
  int descriptor;   /* one that segue_app_link owns if it succeeds, and nothing else does, or -1 */
  bool must_fail;   /* a handle in it cannot be valid */
};

/** Arguments at random, most of them good. */
void make_arguments(struct call *call);
/** Makes a call at random, and checks what came of it. */
void call_something(void);
/** Makes a call with arguments that are there already. */
segue_status make_call(struct call *call);

/** Makes a call with these arguments. */
segue_status call_with(const char *name, uint64_t first, uint64_t second, uint64_t third);

bool is_called(const struct function *function, const char *name);

/* Bytes to call with ----------------------------------------------------------------------------------------------- */

struct bytes {
  const void *start;
  size_t count;
};
#define TEXT(text)                                                                                                     \
  { text, sizeof text - 1 }
#define ANY(list) ((list)[draw(sizeof(list) / sizeof *(list))])

struct bytes any_text(void);
struct bytes any_data(void);

/* Requests to the agent: indices into `requests`, -1 for one that is none ------------------------------------------ */

/** Its name, or another text. */
struct bytes request_name(int request);
/** Options, most of them good. They are the caller's, to be released. */
uint64_t make_options(int request);
/** Whether it takes a timeout. */
bool request_waits(int request);

/* Handles, memory and descriptors to call with --------------------------------------------------------------------- */

/** A handle of that type, which may be gone by now; 0: there is none. */
uint64_t pool_look(int type);
/** The same, and no other thread gets it. */
uint64_t pool_take(int type);
/** Takes over one count of a handle. */
void pool_put(int type, uint64_t handle);
/** A handle that was released, 0 if none was yet. */
uint64_t pool_stale(int type);
/** Releases one count. */
void release_handle(int type, uint64_t handle);
/** Releases all that is there; whether anything was. */
bool pool_empty(void);
int handle_type(const char *name);

/** Takes over memory that the library gave. */
void memory_put(uint64_t memory);
uint64_t memory_take(void);

/** One end of a connection: a new one, or the other end of one that was given out. It is the caller's. */
int descriptor_take(void);
/** The same for what is no connection. */
int descriptor_junk(void);
void descriptors_close(void);
/** The number of descriptors that the process has open. */
int descriptors_open(void);

/** An app that is open, with delegates that have every callback, and a current activity. */
void make_fixture(void);
void make_handoff(void);

/* Contexts: numbers, which must not be dereferenced ---------------------------------------------------------------- */

size_t context_make(void);
bool context_is_destroyed(size_t context);
/** The number of contexts that were never destroyed. */
size_t contexts_left(void);

void abuse_destroy(void *context);
void abuse_log_function(void *context, segue_log_level level, const char *message, size_t length);
segue_reply abuse_will_save_function(void *context, segue_activity *activity, segue_save *save);
void abuse_did_receive_stream_function(void *context, segue_activity *activity, segue_stream *stream);
void abuse_stream_function(void *context, segue_activity *activity, segue_stream *stream, const segue_error *error);
void abuse_stream_result_function(void *context, segue_stream *stream, segue_stream_result result, uint32_t code);
void abuse_request_function(void *context, segue_activity *activity, segue_request *request, const uint8_t *bytes,
                            size_t length);
void abuse_response_function(void *context, segue_activity *activity, const uint8_t *bytes, size_t length,
                             const segue_error *error);
segue_reply abuse_open_document_function(void *context, segue_app *app, const char *url, size_t length,
                                         segue_activity *activity, segue_continuation *continuation);
void abuse_activity_changed_function(void *context, segue_document *document, segue_activity *old_activity,
                                     segue_activity *new_activity);
segue_reply abuse_will_resume_back_function(void *context, segue_activity *activity, bool changed,
                                            segue_request *request);
void abuse_did_resume_back_function(void *context, segue_activity *activity, bool stale);
void abuse_resume_back_function(void *context, segue_activity *activity, bool stale, const segue_error *error);
void abuse_progress_function(void *context, segue_activity *activity, uint64_t received, uint64_t total);
void abuse_fetched_function(void *context, segue_activity *activity, const segue_error *error);
void abuse_receipt_function(void *context, segue_activity *activity, segue_receipt *receipt);
void abuse_explain_function(void *context, segue_app *app, const segue_value *reasons);
void abuse_deletion_function(void *context, segue_app *app, size_t count, const segue_error *error);
void abuse_link_function(void *context, segue_app *app, const char *device_name, size_t length,
                         const segue_error *error);
void abuse_offer_function(void *context, segue_app *app, segue_offer_event event, segue_offer *offer);
void abuse_connection_function(void *context, segue_app *app, segue_connection connection);
void abuse_will_continue_function(void *context, segue_app *app, const char *type, size_t length,
                                  segue_continuation *continuation);
segue_reply abuse_continue_function(void *context, segue_app *app, segue_activity *activity,
                                    segue_continuation *continuation);
void abuse_did_fail_function(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                             segue_continuation *continuation);
void abuse_did_update_function(void *context, segue_app *app, segue_activity *activity);
void abuse_launch_function(void *context);
bool abuse_restore_state_function(void *context, segue_activity *activity);

/** Callbacks that ran, by their place in callback_names. */
extern atomic_ulong callback_counts[];
extern const char *const callback_names[];
extern const int callback_count;

/* The run ---------------------------------------------------------------------------------------------------------- */

/** A number below `bound`; what a thread draws follows from the seed and the thread's number. */
uint32_t draw(uint32_t bound);
uint64_t draw_word(void);

/** Stops all calls: callbacks then do nothing. */
extern atomic_bool is_stopping;
/** The numbers of calls by function: all that were made, and the successful ones. */
extern atomic_ulong calls_made[], calls_succeeded[];
extern atomic_long calls_left; /* at most 0: enough */
extern const char *folder;

/** Notes that this thread calls a function, for the report of a crash or a hang. */
void trail(const struct function *function);
_Noreturn void fail(const char *what, const char *about);

#endif
