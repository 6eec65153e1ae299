/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An app of a test, in a process that may be hub, origin and receiver at once: it counts its callbacks. */
#ifndef PARTICIPANT_H
#define PARTICIPANT_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "require.h"

#define TYPE "com.example.editing"

/** An app, what it shall answer, and counters of what it was told; all zero to begin with. */
struct participant {
  segue_app *app;
  segue_app_delegate *delegate;
  segue_activity_delegate *watcher; /* of what it offers */
  segue_activity *activity;         /* what it offers, if it is to release it */
  segue_activity *continued;        /* what it has continued last */
  segue_continuation *unanswered;   /* continued last, with an answer that comes later */
  segue_save *unsaved;              /* the save that it was asked for last, with an answer that comes later */
  bool saves_later, answers_later, refuses, declines;
  void (*inside)(struct participant *self); /* what it does in each callback */
  segue_open_document_function opens;       /* NULL: it opens no documents */
  int restorables;                          /* objects that it hands over in continue */
  atomic_int ready, appeared, changed, gone, announced, arrived, failed;
  atomic_int saves, moved, ended, restored, explained, destroyed, after_close;
  atomic_int last_status;  /* of did_fail */
  atomic_int last_outcome; /* of a receipt */
  atomic_bool is_closed;
  _Atomic(pthread_t) thread; /* on which the last callback of the app ran */
};

/** Every callback comes through here. */
static inline struct participant *called(void *context) {
  struct participant *self = context;
  self->thread = pthread_self();
  self->after_close += self->is_closed;
  if (self->inside)
    self->inside(self);
  return self;
}

static inline void on_connection(void *context, segue_app *app, segue_connection connection) {
  struct participant *self = called(context);
  (void)app;
  self->ready += connection == SEGUE_CONNECTION_READY;
}

static inline void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  struct participant *self = called(context);
  (void)app, (void)offer;
  self->appeared += event == SEGUE_OFFER_APPEARED;
  self->changed += event == SEGUE_OFFER_CHANGED;
  self->gone += event == SEGUE_OFFER_GONE;
}

static inline void will_continue(void *context, segue_app *app, const char *type, size_t length,
                                 segue_continuation *one) {
  struct participant *self = called(context);
  (void)app;
  REQUIRE(length == strlen(TYPE) && strcmp(type, TYPE) == 0);
  if (self->declines)
    OK(segue_continuation_decline(one, "not now", NUL));
  self->announced++;
}

static inline bool restore(void *context, segue_activity *activity) {
  (void)activity;
  called(context)->restored++;
  return true;
}

static inline void destroyed(void *context) { ((struct participant *)context)->destroyed++; }

static inline void hand_over(struct participant *self, segue_continuation *one) {
  segue_restorable *objects[4];
  for (int i = 0; i < self->restorables; i++)
    OK(segue_restorable_create(restore, self, destroyed, &objects[i]));
  if (self->restorables > 0)
    OK(segue_continuation_restore(one, objects, (size_t)self->restorables));
  for (int i = 0; i < self->restorables; i++)
    OK(segue_release(objects[i]));
}

static inline segue_reply on_continue(void *context, segue_app *app, segue_activity *activity,
                                      segue_continuation *one) {
  struct participant *self = called(context);
  (void)app;
  OK(segue_retain(activity));
  segue_release(self->continued);
  self->continued = activity;
  hand_over(self, one);
  if (self->answers_later) {
    segue_release(self->unanswered);
    OK(segue_retain(self->unanswered = one));
  }
  self->arrived++;
  return self->answers_later ? SEGUE_REPLY_LATER : self->refuses ? SEGUE_REPLY_NO : SEGUE_REPLY_YES;
}

static inline void did_fail(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                            segue_continuation *one) {
  struct participant *self = called(context);
  (void)app, (void)type, (void)length, (void)one;
  segue_status status = SEGUE_OK;
  OK(segue_error_get_status(error, &status));
  self->last_status = status;
  self->failed++;
}

static inline segue_reply will_save(void *context, segue_activity *activity, segue_save *save) {
  struct participant *self = called(context);
  OK(segue_activity_set_payload_version(activity, 2));
  if (self->saves_later) {
    segue_release(self->unsaved);
    OK(segue_retain(self->unsaved = save));
  }
  self->saves++;
  return self->saves_later ? SEGUE_REPLY_LATER : SEGUE_REPLY_YES;
}

static inline void was_continued(void *context, segue_activity *activity, segue_receipt *receipt) {
  (void)activity, (void)receipt;
  called(context)->moved++;
}

static inline void continuation_ended(void *context, segue_activity *activity, segue_receipt *receipt) {
  struct participant *self = called(context);
  (void)activity;
  segue_outcome outcome = 0;
  OK(segue_receipt_get_outcome(receipt, &outcome));
  self->last_outcome = outcome;
  self->ended++;
}

/** Gives the app its callbacks, and the usual team and type; what is still to be set is set before it is opened. */
static inline void prepare_participant(struct participant *self) {
  OK(segue_app_set_team_identifier(self->app, "T", NUL));
  OK(segue_app_add_activity_type(self->app, TYPE, NUL));
  OK(segue_app_delegate_create(self, destroyed, &self->delegate));
  OK(segue_app_delegate_on_connection(self->delegate, on_connection));
  OK(segue_app_delegate_on_offer(self->delegate, on_offer));
  OK(segue_app_delegate_on_will_continue(self->delegate, will_continue));
  OK(segue_app_delegate_on_continue(self->delegate, on_continue));
  OK(segue_app_delegate_on_did_fail(self->delegate, did_fail));
  if (self->opens)
    OK(segue_app_delegate_on_open_document(self->delegate, self->opens));
  OK(segue_app_set_delegate(self->app, self->delegate));
  OK(segue_activity_delegate_create(self, destroyed, &self->watcher));
  OK(segue_activity_delegate_on_will_save(self->watcher, will_save));
  OK(segue_activity_delegate_on_was_continued(self->watcher, was_continued));
  OK(segue_activity_delegate_on_continuation_ended(self->watcher, continuation_ended));
}

static inline void create_participant(struct participant *self, const char *name, segue_delivery delivery) {
  OK(segue_app_create(name, NUL, &self->app));
  OK(segue_app_set_delivery(self->app, delivery));
  prepare_participant(self);
}

static inline void open_participant(struct participant *self, const char *name, segue_delivery delivery) {
  create_participant(self, name, delivery);
  OK(segue_app_open(self->app));
}

/** Makes an activity current. It is the caller's to release. */
static inline segue_activity *offer(struct participant *self, const char *title) {
  segue_activity *activity;
  OK(segue_activity_create(self->app, TYPE, NUL, &activity));
  OK(segue_activity_set_delegate(activity, self->watcher));
  OK(segue_activity_set_title(activity, title, NUL));
  OK(segue_activity_become_current(activity));
  return activity;
}

/** Continues the first offer; NULL: there is none. */
static inline segue_continuation *try_to_continue(struct participant *self) {
  segue_offer *seen = NULL;
  size_t count = 0;
  segue_continuation *continuation;
  OK(segue_app_get_offers(self->app, &seen, 1, &count));
  if (count == 0)
    return NULL;
  OK(segue_app_continue(self->app, seen, 0, &continuation));
  OK(segue_release(seen));
  return continuation;
}

static inline segue_continuation *continue_first(struct participant *self) {
  segue_continuation *continuation = try_to_continue(self);
  REQUIRE(continuation);
  return continuation;
}

/** Closes the app; a second call is fine, and it can no longer be dispatched. */
static inline void close_app(struct participant *self) {
  OK(segue_app_close(self->app));
  self->is_closed = true;
  OK(segue_app_close(self->app));
  REQUIRE(segue_app_dispatch(self->app, 0, NULL) == SEGUE_ERROR_INVALIDATED);
}

/** Closes it and releases everything: each context is destroyed once, and nothing has run after the close. */
static inline void close_participant(struct participant *self) {
  if (!self->app)
    return;
  close_app(self);
  segue_release(self->activity);
  segue_release(self->continued);
  segue_release(self->unanswered);
  segue_release(self->unsaved);
  OK(segue_release(self->app));
  REQUIRE(self->destroyed == self->arrived * self->restorables);
  OK(segue_release(self->watcher));
  OK(segue_release(self->delegate));
  REQUIRE(self->destroyed == 2 + self->arrived * self->restorables);
  REQUIRE(self->after_close == 0);
  /* R3.2 */
  REQUIRE(self->announced == self->arrived + self->failed);
  self->app = NULL;
}

static inline void no_handles(void) {
  size_t count = 0;
  OK(segue_debug_live_handles(&count));
  REQUIRE(count == 0);
}

struct test {
  const char *name;
  void (*function)(void);
};

/** Runs the test of that name, which releases every handle. Returns the exit status; 2 if there is no such test. */
static inline int run_test(const struct test *tests, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(tests[i].name, name) == 0) {
      tests[i].function();
      no_handles();
      return 0;
    }
  }
  return 2;
}

/** Waits for a counter that a library thread changes without a notification; ten seconds are for failures only. */
static inline void wait_until(atomic_int *counter, int value) {
  struct timespec moment = {.tv_nsec = 1000000};
  for (int i = 0; i < 10000 && *counter < value; i++)
    nanosleep(&moment, NULL);
  REQUIRE(*counter >= value);
}

static inline void dispatch_until(struct participant *self, atomic_int *counter, int value) {
  while (*counter < value) {
    size_t delivered = 0;
    OK(segue_app_dispatch(self->app, 10000, &delivered));
    REQUIRE(delivered > 0);
  }
}

#endif
