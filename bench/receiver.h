/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A receiver: it continues the first offer that it sees, and keeps the activity. */
#ifndef RECEIVER_H
#define RECEIVER_H

#include "bench.h"

static inline void bench_on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  (void)context;
  if (event == SEGUE_OFFER_APPEARED)
    BENCH_CALL(segue_app_continue(app, offer, 0, NULL));
}

static inline segue_reply bench_on_continue(void *context, segue_app *app, segue_activity *activity,
                                            segue_continuation *continuation) {
  (void)app;
  (void)continuation;
  BENCH_CALL(segue_retain(activity));
  *(segue_activity **)context = activity;
  return SEGUE_REPLY_YES;
}

/** Opens an app, and waits until it has continued an activity of that type; the caller owns the activity. */
static inline segue_activity *bench_continue(segue_app *app, const char *type) {
  segue_activity *activity = NULL;
  segue_app_delegate *delegate;
  BENCH_CALL(segue_app_add_activity_type(app, type, SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_delegate_create(&activity, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_offer(delegate, bench_on_offer));
  BENCH_CALL(segue_app_delegate_on_continue(delegate, bench_on_continue));
  BENCH_CALL(segue_app_set_delegate(app, delegate));
  BENCH_CALL(segue_app_open(app));
  while (!activity)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  /* Its callbacks never run again, so they cannot change the activity. */
  BENCH_CALL(segue_release(delegate));
  return activity;
}

#endif
