/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An app that is open already, and continues the page that a browser offers: for each line of standard input, prints
 * the milliseconds until it has the page's address and place.
 *
 *     warm BUNDLE       that of the browser; prints "ready" once its offer is there */
#define _GNU_SOURCE
#include "bench.h"
#include <string.h>

struct warm {
  const char *bundle;
  segue_offer *offer;
  double continued_at; /* us; 0 while a continuation is in progress */
};

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  (void)app;
  struct warm *self = context;
  char *bundle = NULL;
  BENCH_CALL(segue_offer_get_bundle_identifier(offer, &bundle, NULL));
  if (event == SEGUE_OFFER_APPEARED && !self->offer && strcmp(bundle, self->bundle) == 0) {
    BENCH_CALL(segue_retain(offer));
    self->offer = offer;
  }
  segue_free(bundle);
}

static segue_reply on_continue(void *context, segue_app *app, segue_activity *activity, segue_continuation *which) {
  (void)app, (void)activity, (void)which;
  ((struct warm *)context)->continued_at = bench_now_us();
  return SEGUE_REPLY_YES;
}

static void did_fail(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                     segue_continuation *which) {
  (void)context, (void)app, (void)type, (void)length, (void)which;
  char *message = NULL;
  segue_error_get_message(error, &message, NULL);
  bench_fail("continuation", message);
}

int main(int count, char **arguments) {
  if (count != 2)
    bench_fail("usage", "warm BUNDLE");
  struct warm self = {.bundle = arguments[1]};
  segue_app *app;
  segue_app_delegate *delegate;
  BENCH_CALL(segue_app_create("com.example.bench.warm", SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_add_activity_type(app, SEGUE_ACTIVITY_TYPE_BROWSING_WEB, SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_delegate_create(&self, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_offer(delegate, on_offer));
  BENCH_CALL(segue_app_delegate_on_continue(delegate, on_continue));
  BENCH_CALL(segue_app_delegate_on_did_fail(delegate, did_fail));
  BENCH_CALL(segue_app_set_delegate(app, delegate));
  BENCH_CALL(segue_app_open(app));
  while (!self.offer)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  puts("ready");
  fflush(stdout);
  for (char line[16]; fgets(line, sizeof line, stdin);) {
    segue_continuation *continuation;
    self.continued_at = 0;
    double start = bench_now_us();
    BENCH_CALL(segue_app_continue(app, self.offer, 0, &continuation));
    while (self.continued_at == 0)
      BENCH_CALL(segue_app_dispatch(app, -1, NULL));
    segue_release(continuation);
    printf("%.3f\n", (self.continued_at - start) / 1000);
    fflush(stdout);
  }
  BENCH_CALL(segue_app_close(app));
  return 0;
}
