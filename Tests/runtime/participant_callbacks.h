/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The state of participant.c, and its callbacks, which say what they are called with. */
#ifndef PARTICIPANT_CALLBACKS_H
#define PARTICIPANT_CALLBACKS_H

#include <pthread.h>
#include <segue.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define TYPE "com.example.editing"
#define NUL SEGUE_NUL_TERMINATED

static segue_app *app;
static segue_activity *activity;         /* what it offers */
static segue_activity_delegate *watcher; /* of all that it offers */
static segue_activity *continued;        /* what it has continued last */
static segue_continuation *continuation; /* that it has begun last */
static segue_continuation *unanswered;   /* continue will be answered later */
static segue_save *unsaved;              /* will_save will be answered later */
static segue_reply save_reply = SEGUE_REPLY_YES, continue_reply = SEGUE_REPLY_YES;
static char decline_reason[256];
static int restorables, refusing; /* to hand over in continue; of them, refuse to be restored */
static bool delivers_by_thread;
static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *format, ...) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&output);
  printf("%.3f ", (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6);
  vprintf(format, arguments);
  puts("");
  fflush(stdout);
  pthread_mutex_unlock(&output);
  va_end(arguments);
}

/** Says which call failed, and why; true: it did not fail. */
static bool check(segue_status status, const char *what) {
  if (status == SEGUE_OK)
    return true;
  char message[SEGUE_MESSAGE_SIZE];
  segue_last_error(message, sizeof message);
  say("error %s %s: %s", what, segue_status_name(status), message);
  return false;
}
#define CHECK(call) check((call), #call)

static const char *hex(const uint8_t *id) {
  static _Thread_local char text[2 * SEGUE_ID_SIZE + 1];
  for (int i = 0; i < SEGUE_ID_SIZE; i++)
    snprintf(text + 2 * i, 3, "%02x", id[i]);
  return text;
}

static const char *name_of(segue_continuation *one) {
  uint8_t id[SEGUE_ID_SIZE] = {0};
  CHECK(segue_continuation_get_id(one, id));
  return hex(id);
}

static void on_connection(void *context, segue_app *self, segue_connection connection) {
  (void)context, (void)self;
  say("connection %s", connection == SEGUE_CONNECTION_READY ? "ready" : "searching");
}

static void on_offer(void *context, segue_app *self, segue_offer_event event, segue_offer *offer) {
  (void)context, (void)self;
  char *title;
  if (!CHECK(segue_offer_get_title(offer, &title, NULL)))
    return;
  static const char *const words[] = {"?", "appeared", "changed", "gone"};
  say("%s %s", words[event], title ? title : "");
  segue_free(title);
}

static void will_continue(void *context, segue_app *self, const char *type, size_t length, segue_continuation *one) {
  (void)context, (void)self, (void)type, (void)length;
  say("will_continue %s", name_of(one));
  if (decline_reason[0])
    CHECK(segue_continuation_decline(one, decline_reason, NUL));
}

static bool restore(void *context, segue_activity *from) {
  (void)from;
  say("restore %d", (int)(intptr_t)context);
  return (int)(intptr_t)context >= refusing;
}

static void hand_over(segue_continuation *one) {
  segue_restorable *objects[8];
  int count = restorables < 8 ? restorables : 8;
  for (int i = 0; i < count; i++)
    CHECK(segue_restorable_create(restore, (void *)(intptr_t)i, NULL, &objects[i]));
  if (count > 0)
    CHECK(segue_continuation_restore(one, objects, (size_t)count));
  for (int i = 0; i < count; i++)
    CHECK(segue_release(objects[i]));
}

static bool is_redelivered(segue_activity *arrived) {
  segue_value *origin = NULL;
  char *text = NULL;
  CHECK(segue_activity_get_continued_from(arrived, &origin));
  CHECK(segue_value_describe(origin, &text, NULL));
  bool redelivered = text && strstr(text, "\"redelivered\": true");
  segue_free(text);
  segue_release(origin);
  return redelivered;
}

/** Says with which token its window may come to the front, if there is one. */
static void say_token(const segue_activity *arrived) {
  segue_value *origin = NULL;
  char *token = NULL;
  CHECK(segue_activity_get_continued_from(arrived, &origin));
  if (segue_value_find_string(origin, "activation_token", SEGUE_NUL_TERMINATED, &token, NULL) == SEGUE_OK && token)
    say("token %s", token);
  segue_free(token);
  segue_release(origin);
}

static segue_reply on_continue(void *context, segue_app *self, segue_activity *arrived, segue_continuation *one) {
  (void)context, (void)self;
  uint8_t *cbor = NULL;
  size_t length = 0;
  char *title = NULL;
  CHECK(segue_activity_get_user_info_cbor(arrived, &cbor, &length));
  CHECK(segue_activity_get_title(arrived, &title, NULL));
  say("continue %s %zu %s%s", name_of(one), length, title ? title : "", is_redelivered(arrived) ? " redelivered" : "");
  say_token(arrived);
  segue_free(title);
  segue_free(cbor);
  segue_release(continued);
  segue_retain(continued = arrived);
  hand_over(one);
  if (continue_reply == SEGUE_REPLY_LATER) {
    segue_release(unanswered);
    segue_retain(unanswered = one);
  }
  return continue_reply;
}

static void did_fail(void *context, segue_app *self, const char *type, size_t length, const segue_error *error,
                     segue_continuation *one) {
  (void)context, (void)self, (void)type, (void)length;
  segue_status status = SEGUE_OK;
  char *message = NULL;
  CHECK(segue_error_get_status(error, &status));
  CHECK(segue_error_get_message(error, &message, NULL));
  say("did_fail %s %s %s", name_of(one), segue_status_name(status), message);
  segue_free(message);
}

static segue_reply will_save(void *context, segue_activity *self, segue_save *save) {
  (void)context, (void)self;
  say("will_save");
  if (save_reply == SEGUE_REPLY_LATER) {
    segue_release(unsaved);
    segue_retain(unsaved = save);
  }
  return save_reply;
}

static void tell_receipt(const char *word, segue_receipt *receipt) {
  uint8_t id[SEGUE_ID_SIZE] = {0};
  segue_outcome outcome = 0;
  segue_status status = SEGUE_OK;
  bool stale = false;
  char *reason = NULL;
  CHECK(segue_receipt_get_continuation_id(receipt, id));
  CHECK(segue_receipt_get_outcome(receipt, &outcome));
  CHECK(segue_receipt_get_status(receipt, &status));
  CHECK(segue_receipt_get_stale(receipt, &stale));
  CHECK(segue_receipt_get_reason(receipt, &reason, NULL));
  static const char *const words[] = {"?", "restored", "declined", "failed", "unknown"};
  say("%s %s %s %s %s %s", word, hex(id), words[outcome], segue_status_name(status), stale ? "stale" : "fresh", reason);
  segue_free(reason);
}

static void did_resume_back(void *context, segue_activity *self, bool stale) {
  (void)context;
  char *title = NULL;
  CHECK(segue_activity_get_title(self, &title, NULL));
  say("did_resume_back %s %s", stale ? "stale" : "fresh", title ? title : "");
  segue_free(title);
}

static void resumed_back(void *context, segue_activity *self, bool stale, const segue_error *error) {
  (void)context;
  (void)self;
  (void)stale;
  segue_status status = SEGUE_OK;
  if (error)
    CHECK(segue_error_get_status(error, &status));
  say("resumed_back %s", segue_status_name(status));
}

static void was_continued(void *context, segue_activity *self, segue_receipt *receipt) {
  (void)context, (void)self;
  tell_receipt("was_continued", receipt);
}

static void continuation_ended(void *context, segue_activity *self, segue_receipt *receipt) {
  (void)context, (void)self;
  tell_receipt("ended", receipt);
}

#endif
