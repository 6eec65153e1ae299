/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A receiver that continues the same offer of bench/participant.c (--tell) again and again, and asks its origin. */
#ifndef CONTINUING_H
#define CONTINUING_H

#include "bench.h"
#include <sched.h>
#include <string.h>
#include <unistd.h>

#define TYPE "com.example.bench.editing"

/* Descriptors that bench/run leaves open. */
enum { REQUEST_SIZE = 1024 };
enum { ECHO_SOCKET = 3, ORIGIN_REPORTS = 4, FLOOR_SOCKET = 5 };

struct receiver {
  segue_offer *offer;
  segue_activity *activity; /* the first that was continued: to ask its origin */
  double answered_at;       /* us; 0 while a request is in progress */
  double continued_at;      /* us; 0 while a continuation is in progress */
};

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  (void)app;
  struct receiver *self = context;
  if (event == SEGUE_OFFER_APPEARED && self->offer == NULL) {
    BENCH_CALL(segue_retain(offer));
    self->offer = offer;
  }
}

static void will_continue(void *context, segue_app *app, const char *type, size_t length, segue_continuation *which) {
  (void)context;
  (void)app;
  (void)type;
  (void)length;
  (void)which;
}

static segue_reply continued(void *context, segue_app *app, segue_activity *activity, segue_continuation *which) {
  (void)app;
  (void)which;
  struct receiver *self = context;
  /* The last one: after some hundreds of others the origin has dropped the earlier grants. */
  BENCH_CALL(segue_release(self->activity));
  BENCH_CALL(segue_retain(activity));
  self->activity = activity;
  self->continued_at = bench_now_us();
  return SEGUE_REPLY_YES;
}

static void did_fail(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                     segue_continuation *which) {
  (void)context;
  (void)app;
  (void)type;
  (void)length;
  (void)which;
  char *message = NULL;
  segue_error_get_message(error, &message, NULL);
  bench_fail("continuation", message);
}

/** Returns microseconds until the callback. */
static inline double continue_once(segue_app *app, struct receiver *self) {
  segue_continuation *continuation;
  self->continued_at = 0;
  double start = bench_now_us();
  BENCH_CALL(segue_app_continue(app, self->offer, 0, &continuation));
  while (self->continued_at == 0)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  BENCH_CALL(segue_release(continuation));
  char word; /* the origin has its receipt, and the activity is dirty again */
  if (read(ORIGIN_REPORTS, &word, 1) != 1)
    bench_fail("origin", "gone");
  if (word != 's')
    bench_fail("origin", "continued without will_save");
  return self->continued_at - start;
}

static void answered(void *context, segue_activity *activity, const uint8_t *bytes, size_t length,
                     const segue_error *error) {
  (void)activity;
  if (error != NULL || length != REQUEST_SIZE || bytes[length - 1] != 7) {
    char *why = NULL;
    if (error)
      segue_error_get_message(error, &why, NULL);
    bench_fail("request", why ? why : "another answer");
  }
  ((struct receiver *)context)->answered_at = bench_now_us();
}

/** Returns microseconds until the answer. */
static inline double request_once(segue_app *app, struct receiver *self) {
  uint8_t bytes[REQUEST_SIZE];
  memset(bytes, 7, sizeof bytes);
  self->answered_at = 0;
  double start = bench_now_us();
  BENCH_CALL(segue_activity_request(self->activity, bytes, sizeof bytes, 0, answered, self, NULL, NULL));
  while (self->answered_at == 0)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  return self->answered_at - start;
}

/** Opens an app, and waits until it sees an offer. */
static inline segue_app *open_app(struct receiver *self) {
  segue_app *app;
  segue_app_delegate *delegate;
  BENCH_CALL(segue_app_create("com.example.bench.receiver", SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_set_team_identifier(app, "BENCH", SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_add_activity_type(app, TYPE, SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_delegate_create(self, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_offer(delegate, on_offer));
  BENCH_CALL(segue_app_delegate_on_will_continue(delegate, will_continue));
  BENCH_CALL(segue_app_delegate_on_continue(delegate, continued));
  BENCH_CALL(segue_app_delegate_on_did_fail(delegate, did_fail));
  BENCH_CALL(segue_app_set_delegate(app, delegate));
  BENCH_CALL(segue_app_open(app));
  while (self->offer == NULL)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  return app;
}

/** Puts this thread on one core, or with NULL back on all that it may use. */
static inline void pin(const int *core) {
  static cpu_set_t all;
  cpu_set_t one;
  if (CPU_COUNT(&all) == 0 && sched_getaffinity(0, sizeof all, &all) != 0)
    bench_fail("sched_getaffinity", "refused");
  CPU_ZERO(&one);
  if (core != NULL)
    CPU_SET(*core, &one);
  if (sched_setaffinity(0, sizeof one, core != NULL ? &one : &all) != 0)
    bench_fail("sched_setaffinity", "refused");
}

#endif
