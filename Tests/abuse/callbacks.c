/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One function per type of callback: it retains its arguments, calls back into the library, and answers at random. */
#include "abuse.h"
#include <sys/socket.h>
#include <unistd.h>

enum { DEEPEST = 3 };
static _Thread_local int depth;

enum {
  WILL_SAVE,
  RECEIPT,
  EXPLAIN,
  OFFER,
  CONNECTION,
  WILL_CONTINUE,
  CONTINUE,
  DID_FAIL,
  RESTORE_STATE,
  LINK,
  LOG,
  DID_RECEIVE_STREAM,
  STREAM,
  STREAM_RESULT,
  REQUEST,
  RESPONSE,
  PROGRESS,
  FETCHED,
  WILL_RESUME_BACK,
  DID_RESUME_BACK,
  RESUME_BACK,
  DID_UPDATE,
  DELETION,
  OPEN_DOCUMENT,
  ACTIVITY_CHANGED,
  LAUNCH
};
const char *const callback_names[] = {
    "will_save",        "receipt",         "explain",       "offer",      "connection", "will_continue",
    "continue",         "did_fail",        "restore_state", "link",       "log",        "did_receive_stream",
    "stream",           "stream_result",   "request",       "response",   "progress",   "fetched",
    "will_resume_back", "did_resume_back", "resume_back",   "did_update", "deletion",   "open_document",
    "activity_changed", "launch"};
const int callback_count = sizeof callback_names / sizeof *callback_names;
atomic_ulong callback_counts[sizeof callback_names / sizeof *callback_names];

/** A handle that was lent: kept now and then, or released although it is not ours. */
static void lent(const char *type, const void *pointer) {
  int index = handle_type(type);
  uint64_t handle = (uintptr_t)pointer;
  if (draw(4) == 0 && segue_retain(pointer) == SEGUE_OK)
    pool_put(index, handle);
  else if (draw(256) == 0)
    segue_release(pointer);
}

/** Counts a callback, and checks its context: each callback calls this first. Whether there is more to do. */
static bool begin(int which, void *context) {
  callback_counts[which]++;
  size_t number = (size_t)(uintptr_t)context;
  if (number && context_is_destroyed(number))
    fail("called with a context that was destroyed", callback_names[which]);
  return !is_stopping;
}

static void calls_inside(void) {
  if (++depth <= DEEPEST)
    for (uint32_t i = draw(4); i > 0; i--)
      call_something();
  depth--;
}

void abuse_log_function(void *context, segue_log_level level, const char *message, size_t length) {
  begin(LOG, context);
  if (level < SEGUE_LOG_ERROR || level > SEGUE_LOG_DEBUG || segue_version() != SEGUE_VERSION)
    fail("log: no such level", message);
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)message[i] < 0x20 || message[i] == 0x7F)
      fail("log: not one line", message);
  if (message[length])
    fail("log: no NUL behind the line", message);
}

segue_reply abuse_will_save_function(void *context, segue_activity *activity, segue_save *save) {
  if (!begin(WILL_SAVE, context))
    return SEGUE_REPLY_NO;
  lent("segue_activity", activity);
  lent("segue_save", save);
  segue_activity_set_title(activity, "saved", SEGUE_NUL_TERMINATED);
  calls_inside();
  return draw(16) == 0 ? (segue_reply)draw_word() : (segue_reply)draw(3);
}

void abuse_receipt_function(void *context, segue_activity *activity, segue_receipt *receipt) {
  if (!begin(RECEIPT, context))
    return;
  lent("segue_activity", activity);
  lent("segue_receipt", receipt);
  calls_inside();
}

/** Opens it, at times, and writes; the other side does the same, or has closed. */
static void use(segue_stream *stream) {
  int fd;
  if (draw(4) == 0 || segue_stream_open(stream, &fd) != SEGUE_OK)
    return;
  if (send(fd, "abuse", 5, MSG_NOSIGNAL | MSG_DONTWAIT) == 5 && draw(2))
    segue_stream_finish(stream);
  if (draw(2))
    segue_stream_ask_result(stream, abuse_stream_result_function, (void *)(uintptr_t)context_make(), abuse_destroy);
  close(fd);
}

void abuse_did_receive_stream_function(void *context, segue_activity *activity, segue_stream *stream) {
  if (!begin(DID_RECEIVE_STREAM, context))
    return;
  lent("segue_activity", activity);
  lent("segue_stream", stream);
  use(stream);
  calls_inside();
}

void abuse_stream_function(void *context, segue_activity *activity, segue_stream *stream, const segue_error *error) {
  if (!begin(STREAM, context))
    return;
  if (!stream == !error)
    fail("stream: neither a stream nor an error, or both", "");
  lent("segue_activity", activity);
  if (stream) {
    lent("segue_stream", stream);
    use(stream);
  } else {
    lent("segue_error", error);
  }
  calls_inside();
}

void abuse_stream_result_function(void *context, segue_stream *stream, segue_stream_result result, uint32_t code) {
  if (!begin(STREAM_RESULT, context))
    return;
  if (result < SEGUE_STREAM_ENDED || result > SEGUE_STREAM_BROKEN || (code && result != SEGUE_STREAM_ABORTED))
    fail("stream result: no such result", "");
  lent("segue_stream", stream);
  calls_inside();
}

void abuse_explain_function(void *context, segue_app *app, const segue_value *reasons) {
  if (!begin(EXPLAIN, context))
    return;
  lent("segue_app", app);
  lent("segue_value", reasons);
  calls_inside();
}

segue_reply abuse_open_document_function(void *context, segue_app *app, const char *url, size_t length,
                                         segue_activity *activity, segue_continuation *continuation) {
  if (!begin(OPEN_DOCUMENT, context))
    return SEGUE_REPLY_NO;
  if (strncmp(url, "file:", 5) != 0 || strlen(url) > length)
    fail("open_document: no URL of a file, or no NUL behind it", "");
  lent("segue_app", app);
  lent("segue_activity", activity);
  lent("segue_continuation", continuation);
  segue_document *document = (segue_document *)(uintptr_t)pool_look(handle_type("segue_document"));
  if (draw(2))
    segue_continuation_complete_opening(continuation, draw(4) ? document : NULL, NULL, 0);
  calls_inside();
  return draw(16) == 0 ? (segue_reply)draw_word() : (segue_reply)draw(3);
}

void abuse_activity_changed_function(void *context, segue_document *document, segue_activity *old_activity,
                                     segue_activity *new_activity) {
  if (!begin(ACTIVITY_CHANGED, context))
    return;
  if (old_activity == new_activity)
    fail("activity_changed: it has not", "");
  lent("segue_document", document);
  if (old_activity)
    lent("segue_activity", old_activity);
  if (new_activity)
    lent("segue_activity", new_activity);
  calls_inside();
}

void abuse_deletion_function(void *context, segue_app *app, size_t count, const segue_error *error) {
  if (!begin(DELETION, context))
    return;
  if (error && count)
    fail("deletion: a count with an error", "");
  lent("segue_app", app);
  if (error)
    lent("segue_error", error);
  calls_inside();
}

void abuse_link_function(void *context, segue_app *app, const char *device_name, size_t length,
                         const segue_error *error) {
  if (!begin(LINK, context))
    return;
  if (device_name && strlen(device_name) > length)
    fail("link: no NUL behind the device's name", "");
  lent("segue_app", app);
  if (error)
    lent("segue_error", error);
  calls_inside();
}

void abuse_offer_function(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  if (!begin(OFFER, context))
    return;
  if (event < SEGUE_OFFER_APPEARED || event > SEGUE_OFFER_GONE)
    fail("offer: no such event", "");
  lent("segue_offer", offer);
  segue_continuation *continuation;
  if (event != SEGUE_OFFER_GONE && draw(32) == 0 && segue_app_continue(app, offer, 0, &continuation) == SEGUE_OK)
    pool_put(handle_type("segue_continuation"), (uintptr_t)continuation);
  calls_inside();
}

void abuse_connection_function(void *context, segue_app *app, segue_connection connection) {
  if (!begin(CONNECTION, context))
    return;
  if (connection != SEGUE_CONNECTION_SEARCHING && connection != SEGUE_CONNECTION_READY)
    fail("connection: no such state", "");
  lent("segue_app", app);
  calls_inside();
}

void abuse_will_continue_function(void *context, segue_app *app, const char *type, size_t length,
                                  segue_continuation *continuation) {
  if (!begin(WILL_CONTINUE, context))
    return;
  if (strlen(type) > length)
    fail("will_continue: no NUL behind the type", "");
  lent("segue_app", app);
  lent("segue_continuation", continuation);
  if (draw(16) == 0)
    call_with("segue_continuation_decline", (uintptr_t)continuation, (uintptr_t) "not now", SEGUE_NUL_TERMINATED);
  calls_inside();
}

segue_reply abuse_continue_function(void *context, segue_app *app, segue_activity *activity,
                                    segue_continuation *continuation) {
  if (!begin(CONTINUE, context))
    return SEGUE_REPLY_NO;
  lent("segue_app", app);
  lent("segue_activity", activity);
  lent("segue_continuation", continuation);
  if (draw(2))
    segue_activity_ask_stream(activity, 0, abuse_stream_function, (void *)(uintptr_t)context_make(), abuse_destroy);
  segue_request *request;
  if (draw(2) && segue_activity_request(activity, (const uint8_t *)"asked", draw(6), 0, abuse_response_function,
                                        (void *)(uintptr_t)context_make(), abuse_destroy, &request) == SEGUE_OK)
    pool_put(handle_type("segue_request"), (uintptr_t)request);
  segue_transfer *transfer;
  int null = descriptor_junk();
  if (draw(2) && segue_activity_fetch_attachment_to_fd(activity, "attached", 8, null, abuse_progress_function,
                                                       abuse_fetched_function, (void *)(uintptr_t)context_make(),
                                                       abuse_destroy, &transfer) == SEGUE_OK)
    pool_put(handle_type("segue_transfer"), (uintptr_t)transfer);
  close(null);
  uint64_t list[] = {pool_look(handle_type("segue_restorable"))};
  if (draw(2) == 0)
    call_with("segue_continuation_restore", (uintptr_t)continuation, (uintptr_t)list, 1);
  calls_inside();
  return draw(16) == 0 ? (segue_reply)draw_word() : (segue_reply)draw(3);
}

void abuse_did_fail_function(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                             segue_continuation *continuation) {
  if (!begin(DID_FAIL, context))
    return;
  if (strlen(type) > length)
    fail("did_fail: no NUL behind the type", "");
  lent("segue_app", app);
  lent("segue_error", error);
  lent("segue_continuation", continuation);
  calls_inside();
}

/** Reads all that it is given: what is not there shows under the sanitizers. */
static unsigned sum(const uint8_t *bytes, size_t length) {
  unsigned sum = 0;
  for (size_t i = 0; i < length; i++)
    sum += bytes[i];
  return sum;
}

void abuse_request_function(void *context, segue_activity *activity, segue_request *request, const uint8_t *bytes,
                            size_t length) {
  if (!begin(REQUEST, context))
    return;
  lent("segue_activity", activity);
  lent("segue_request", request);
  uint8_t answer = (uint8_t)sum(bytes, length);
  if (draw(2))
    call_with("segue_request_respond", (uintptr_t)request, (uintptr_t)&answer, 1);
  calls_inside();
}

void abuse_response_function(void *context, segue_activity *activity, const uint8_t *bytes, size_t length,
                             const segue_error *error) {
  if (!begin(RESPONSE, context))
    return;
  if (error && length)
    fail("response: bytes, and an error", "");
  sum(bytes, length);
  lent("segue_activity", activity);
  if (error)
    lent("segue_error", error);
  calls_inside();
}

segue_reply abuse_will_resume_back_function(void *context, segue_activity *activity, bool changed,
                                            segue_request *request) {
  (void)changed;
  if (!begin(WILL_RESUME_BACK, context))
    return SEGUE_REPLY_NO;
  lent("segue_activity", activity);
  lent("segue_request", request);
  if (draw(4) == 0)
    segue_request_complete(request, draw(2));
  calls_inside();
  return draw(16) == 0 ? (segue_reply)draw_word() : draw(2) ? SEGUE_REPLY_YES : (segue_reply)draw(3);
}

void abuse_did_resume_back_function(void *context, segue_activity *activity, bool stale) {
  (void)stale;
  if (!begin(DID_RESUME_BACK, context))
    return;
  lent("segue_activity", activity);
  calls_inside();
}

void abuse_resume_back_function(void *context, segue_activity *activity, bool stale, const segue_error *error) {
  if (!begin(RESUME_BACK, context))
    return;
  if (error && stale)
    fail("resume back: a state, and an error", "");
  lent("segue_activity", activity);
  if (error)
    lent("segue_error", error);
  calls_inside();
}

void abuse_progress_function(void *context, segue_activity *activity, uint64_t received, uint64_t total) {
  if (!begin(PROGRESS, context))
    return;
  if (received > total)
    fail("progress: more than there is", "");
  lent("segue_activity", activity);
  calls_inside();
}

void abuse_fetched_function(void *context, segue_activity *activity, const segue_error *error) {
  if (!begin(FETCHED, context))
    return;
  lent("segue_activity", activity);
  if (error)
    lent("segue_error", error);
  calls_inside();
}

bool abuse_restore_state_function(void *context, segue_activity *activity) {
  if (!begin(RESTORE_STATE, context))
    return false;
  lent("segue_activity", activity);
  calls_inside();
  return draw(4) != 0;
}

void abuse_launch_function(void *context) {
  if (!begin(LAUNCH, context))
    return;
  calls_inside();
}

void abuse_did_update_function(void *context, segue_app *app, segue_activity *activity) {
  if (!begin(DID_UPDATE, context))
    return;
  lent("segue_app", app);
  lent("segue_activity", activity);
  calls_inside();
}
