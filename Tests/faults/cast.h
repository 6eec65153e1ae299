/* SPDX-License-Identifier: Apache-2.0 */
/* Two apps of one process, origin and receiver, that count what they are told, and what one can have them do. */
#ifndef CAST_H
#define CAST_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <segue.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

#define NUL SEGUE_NUL_TERMINATED
#define TYPE "com.example.editing"
/* Milliseconds in which a scenario comes to its end although something failed. */
#define PATIENCE 8000

static char run_name[256];

#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      char message[SEGUE_MESSAGE_SIZE] = "";                                                                           \
      segue_last_error(message, sizeof message);                                                                       \
      fprintf(stderr, "%s, %s failed: line %d: %s (%s)\n", run_name, fault_where(), __LINE__, #condition, message);    \
      _exit(1);                                                                                                        \
    }                                                                                                                  \
  } while (0)
#define OK(call) REQUIRE((call) == SEGUE_OK)

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* An app and what it was told. */
struct side {
  segue_app *app;
  segue_app_delegate *delegate;
  segue_activity_delegate *watcher;
  segue_activity *activity;  /* that it offers */
  segue_activity *continued; /* that it has continued last */
  segue_continuation *unanswered;
  segue_save *unsaved;
  bool by_thread, is_open;
  segue_reply save_reply, continue_reply;
  bool declines;
  int restorables;
  atomic_int ready, appeared, changed, gone, announced, arrived, failed, saves, moved, ended, restored, explained;
  atomic_int destroyed;
  atomic_int last_status;  /* of did_fail */
  atomic_int last_outcome; /* of a receipt */
};

#define SIDE                                                                                                           \
  { .save_reply = SEGUE_REPLY_YES, .continue_reply = SEGUE_REPLY_YES }
static const struct side fresh = SIDE;
static struct side origin = SIDE, receiver = SIDE;

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)app;
  ((struct side *)context)->ready += connection == SEGUE_CONNECTION_READY;
}

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  struct side *self = context;
  (void)app, (void)offer;
  self->appeared += event == SEGUE_OFFER_APPEARED;
  self->changed += event == SEGUE_OFFER_CHANGED;
  self->gone += event == SEGUE_OFFER_GONE;
}

static bool will_continue(void *context, segue_app *app, const char *type, size_t length, segue_continuation *one) {
  struct side *self = context;
  (void)app, (void)type, (void)length;
  self->announced++;
  if (self->declines)
    OK(segue_continuation_decline(one, "not now", NUL));
  return true;
}

static bool restore(void *context, segue_activity *activity) {
  (void)activity;
  ((struct side *)context)->restored++;
  return true;
}

static void destroyed(void *context) { ((struct side *)context)->destroyed++; }

static void hand_over(struct side *self, segue_continuation *one) {
  segue_restorable *objects[4];
  for (int i = 0; i < self->restorables; i++)
    OK(segue_restorable_create(restore, self, destroyed, &objects[i]));
  if (self->restorables > 0)
    OK(segue_continuation_restore(one, objects, (size_t)self->restorables));
  for (int i = 0; i < self->restorables; i++)
    OK(segue_restorable_release(objects[i]));
}

static segue_reply on_continue(void *context, segue_app *app, segue_activity *activity, segue_continuation *one) {
  struct side *self = context;
  (void)app;
  OK(segue_activity_retain(activity));
  segue_activity_release(self->continued);
  self->continued = activity;
  hand_over(self, one);
  if (self->continue_reply == SEGUE_REPLY_LATER) {
    segue_continuation_release(self->unanswered);
    OK(segue_continuation_retain(self->unanswered = one));
  }
  self->arrived++;
  return self->continue_reply;
}

static void did_fail(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                     segue_continuation *one) {
  struct side *self = context;
  (void)app, (void)type, (void)length, (void)one;
  segue_status status = SEGUE_OK;
  OK(segue_error_get_status(error, &status));
  self->last_status = status;
  self->failed++;
}

static segue_reply will_save(void *context, segue_activity *activity, segue_save *save) {
  struct side *self = context;
  OK(segue_activity_set_payload_version(activity, 2));
  if (self->save_reply == SEGUE_REPLY_LATER) {
    segue_save_release(self->unsaved);
    OK(segue_save_retain(self->unsaved = save));
  }
  self->saves++;
  return self->save_reply;
}

static void was_continued(void *context, segue_activity *activity, segue_receipt *receipt) {
  (void)activity, (void)receipt;
  ((struct side *)context)->moved++;
}

static void continuation_ended(void *context, segue_activity *activity, segue_receipt *receipt) {
  struct side *self = context;
  (void)activity;
  segue_outcome outcome = 0;
  OK(segue_receipt_get_outcome(receipt, &outcome));
  self->last_outcome = outcome;
  self->ended++;
}

static void explained(void *context, segue_app *app, const segue_value *reasons) {
  (void)app, (void)reasons;
  ((struct side *)context)->explained++;
}

/* Opening is where the system may refuse something: the error says so, and the next attempt succeeds. */

static void open_side(struct side *self, const char *name) {
  OK(segue_app_create(name, NUL, &self->app));
  OK(segue_app_set_team_identifier(self->app, "T", NUL));
  OK(segue_app_add_activity_type(self->app, TYPE, NUL));
  OK(segue_app_set_delivery(self->app, self->by_thread ? SEGUE_DELIVER_THREAD : SEGUE_DELIVER_HOST));
  OK(segue_app_delegate_create(self, destroyed, &self->delegate));
  OK(segue_app_delegate_on_connection(self->delegate, on_connection));
  OK(segue_app_delegate_on_offer(self->delegate, on_offer));
  OK(segue_app_delegate_on_will_continue(self->delegate, will_continue));
  OK(segue_app_delegate_on_continue(self->delegate, on_continue));
  OK(segue_app_delegate_on_did_fail(self->delegate, did_fail));
  OK(segue_app_set_delegate(self->app, self->delegate));
  OK(segue_activity_delegate_create(self, destroyed, &self->watcher));
  OK(segue_activity_delegate_on_will_save(self->watcher, will_save));
  OK(segue_activity_delegate_on_was_continued(self->watcher, was_continued));
  OK(segue_activity_delegate_on_continuation_ended(self->watcher, continuation_ended));
  segue_status status = segue_app_open(self->app);
  if (status != SEGUE_OK) {
    REQUIRE(status == SEGUE_ERROR_SYSTEM && fault_fired());
    OK(segue_app_open(self->app));
  }
  self->is_open = true;
}

static void close_side(struct side *self) {
  OK(segue_app_close(self->app));
  self->is_open = false;
}

static void release_side(struct side *self) {
  if (!self->app)
    return;
  if (self->is_open)
    close_side(self);
  segue_activity_release(self->activity);
  segue_activity_release(self->continued);
  segue_continuation_release(self->unanswered);
  segue_save_release(self->unsaved);
  OK(segue_activity_delegate_release(self->watcher));
  OK(segue_app_delegate_release(self->delegate));
  OK(segue_app_release(self->app));
  /* R3.2 */
  REQUIRE(self->announced == self->arrived + self->failed);
  REQUIRE(self->destroyed == 2 + self->arrived * self->restorables);
  self->app = NULL;
}

/* Dispatches both until a counter has come to a value. */
static void pump(void) {
  struct pollfd descriptors[2] = {{.fd = -1, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
  struct side *sides[2] = {&origin, &receiver};
  for (int i = 0; i < 2; i++) {
    if (sides[i]->is_open && !sides[i]->by_thread)
      OK(segue_app_fd(sides[i]->app, &descriptors[i].fd));
  }
  poll(descriptors, 2, origin.by_thread || receiver.by_thread ? 1 : 100);
  for (int i = 0; i < 2; i++) {
    if (descriptors[i].revents)
      OK(segue_app_dispatch(sides[i]->app, 0, NULL));
  }
}

static bool comes(atomic_int *counter, int value) {
  double end = milliseconds() + PATIENCE;
  while (*counter < value && milliseconds() < end)
    pump();
  return *counter >= value;
}
#define AWAIT(counter, value) REQUIRE(comes(&(counter), (value)))

static void offer(struct side *self, const char *title) {
  OK(segue_activity_create(self->app, TYPE, NUL, &self->activity));
  OK(segue_activity_set_delegate(self->activity, self->watcher));
  OK(segue_activity_set_title(self->activity, title, NUL));
  OK(segue_activity_become_current(self->activity));
}

/** Two apps, of which one offers what the other sees. */
static void open_both(void) {
  open_side(&receiver, "com.example.receiver");
  open_side(&origin, "com.example.origin");
  AWAIT(receiver.ready, 1);
  AWAIT(origin.ready, 1);
  offer(&origin, "one");
  AWAIT(receiver.appeared, 1);
}

static segue_offer *first_offer(void) {
  double end = milliseconds() + PATIENCE;
  for (;;) {
    segue_offer *offer = NULL;
    size_t count = 0;
    OK(segue_app_get_offers(receiver.app, &offer, 1, &count));
    if (count > 0)
      return offer;
    REQUIRE(milliseconds() < end);
    pump();
  }
}

static segue_continuation *begin(void) {
  segue_offer *offer = first_offer();
  segue_continuation *continuation;
  OK(segue_app_continue(receiver.app, offer, 0, &continuation));
  OK(segue_offer_release(offer));
  return continuation;
}

/** Continues until it succeeds: once, or twice if what failed made the first attempt fail. */
static void continue_one(void) {
  int arrived = receiver.arrived;
  for (int attempt = 0; receiver.arrived == arrived; attempt++) {
    REQUIRE(attempt < 2);
    REQUIRE(attempt == 0 || fault_fired());
    int over = receiver.arrived + receiver.failed;
    OK(segue_continuation_release(begin()));
    double end = milliseconds() + PATIENCE;
    while (receiver.arrived + receiver.failed == over && milliseconds() < end)
      pump();
    REQUIRE(receiver.arrived + receiver.failed == over + 1);
  }
}

static bool is_connection_trouble(int status) {
  return status == SEGUE_ERROR_CONNECTION_UNAVAILABLE || status == SEGUE_ERROR_HANDOFF_FAILED;
}

#endif
