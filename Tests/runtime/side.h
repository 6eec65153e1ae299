/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs share in which one process is hub, origin and receiver at once: an app that counts what it is told. */
#ifndef SIDE_H
#define SIDE_H

#include <pthread.h>
#include <segue.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NUL SEGUE_NUL_TERMINATED
#define TYPE "com.example.editing"
#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      char message[SEGUE_MESSAGE_SIZE] = "";                                                                           \
      segue_last_error(message, sizeof message);                                                                       \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, message);                                    \
      _exit(1);                                                                                                        \
    }                                                                                                                  \
  } while (0)
#define OK(call) REQUIRE((call) == SEGUE_OK)

/** An app with counters of what it was told; the counters outlive it. */
struct side {
  segue_app *app;
  segue_app_delegate *delegate;
  atomic_int ready, offers, announced, continued, failed, destroyed, after_close;
  atomic_bool closed;
  segue_status in_callback[4]; /* what calls gave that were made inside a callback */
  bool calls_inside, releases_inside;
  pthread_t thread; /* on which the last callback ran */
};

static void note(struct side *self) {
  self->thread = pthread_self();
  if (self->closed)
    self->after_close++;
}

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  struct side *self = context;
  note(self);
  if (self->calls_inside) {
    segue_activity *activity;
    self->in_callback[0] = segue_app_close(app);
    self->in_callback[1] = segue_app_dispatch(app, 0, NULL);
    self->in_callback[2] = segue_activity_create(app, TYPE, NUL, &activity);
    self->in_callback[3] = segue_activity_become_current(activity);
    OK(segue_activity_release(activity));
  }
  if (connection == SEGUE_CONNECTION_READY)
    self->ready++;
}

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  struct side *self = context;
  (void)app;
  note(self);
  if (event == SEGUE_OFFER_APPEARED)
    self->offers++;
  (void)offer;
}

static bool will_continue(void *context, segue_app *app, const char *type, size_t length,
                          segue_continuation *continuation) {
  (void)app, (void)continuation;
  REQUIRE(length == strlen(TYPE) && strcmp(type, TYPE) == 0);
  note(context);
  ((struct side *)context)->announced++;
  return false;
}

static segue_reply on_continue(void *context, segue_app *app, segue_activity *activity,
                               segue_continuation *continuation) {
  (void)app, (void)activity, (void)continuation;
  note(context);
  ((struct side *)context)->continued++;
  return SEGUE_REPLY_YES;
}

static void did_fail(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                     segue_continuation *continuation) {
  (void)app, (void)type, (void)length, (void)error, (void)continuation;
  note(context);
  ((struct side *)context)->failed++;
}

static void destroyed(void *context) { ((struct side *)context)->destroyed++; }

static void open_side(struct side *self, const char *name, segue_delivery delivery) {
  OK(segue_app_create(name, NUL, &self->app));
  OK(segue_app_set_team_identifier(self->app, "T", NUL));
  OK(segue_app_add_activity_type(self->app, TYPE, NUL));
  OK(segue_app_set_delivery(self->app, delivery));
  OK(segue_app_delegate_create(self, destroyed, &self->delegate));
  OK(segue_app_delegate_on_connection(self->delegate, on_connection));
  OK(segue_app_delegate_on_offer(self->delegate, on_offer));
  OK(segue_app_delegate_on_will_continue(self->delegate, will_continue));
  OK(segue_app_delegate_on_continue(self->delegate, on_continue));
  OK(segue_app_delegate_on_did_fail(self->delegate, did_fail));
  OK(segue_app_set_delegate(self->app, self->delegate));
  OK(segue_app_open(self->app));
}

/** Everything that a side held is gone, its context was destroyed once, and nothing ran after its close. */
static void close_side(struct side *self) {
  OK(segue_app_close(self->app));
  self->closed = true;
  OK(segue_app_close(self->app));
  REQUIRE(segue_app_dispatch(self->app, 0, NULL) == SEGUE_ERROR_INVALIDATED);
  OK(segue_app_release(self->app));
  REQUIRE(self->destroyed == 0);
  OK(segue_app_delegate_release(self->delegate));
  REQUIRE(self->destroyed == 1 && self->after_close == 0);
}

static void no_handles(void) {
  size_t count = 0;
  OK(segue_debug_live_handles(&count));
  REQUIRE(count == 0);
}

/** Waits for a counter that a library thread moves; ten seconds are for failures only. */
static void wait_until(atomic_int *counter, int value) {
  struct timespec moment = {.tv_nsec = 1000000};
  for (int i = 0; i < 10000 && *counter < value; i++)
    nanosleep(&moment, NULL);
  REQUIRE(*counter >= value);
}

static void dispatch_until(struct side *self, atomic_int *counter, int value) {
  while (*counter < value) {
    size_t delivered = 0;
    OK(segue_app_dispatch(self->app, 10000, &delivered));
    REQUIRE(delivered > 0);
  }
}

static segue_activity *offer(struct side *self, const char *title) {
  segue_activity *activity;
  OK(segue_activity_create(self->app, TYPE, NUL, &activity));
  OK(segue_activity_set_title(activity, title, NUL));
  OK(segue_activity_become_current(activity));
  return activity;
}

#endif
