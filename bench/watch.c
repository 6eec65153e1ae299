/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A chooser that counts the offers of the device: prints "ready" when registered, and "seen N" at each STEPth. */
#include "bench.h"

static size_t seen, step;

static void say(const char *line) {
  puts(line);
  fflush(stdout);
}

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  (void)context;
  (void)app;
  (void)offer;
  if (event == SEGUE_OFFER_APPEARED && ++seen % step == 0) {
    printf("seen %zu\n", seen);
    fflush(stdout);
  }
}

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)context;
  (void)app;
  if (connection == SEGUE_CONNECTION_READY)
    say("ready");
}

/* watch STEP */
int main(int count, char **arguments) {
  if (count != 2)
    bench_fail("usage", "watch STEP");
  step = bench_count(arguments[1]);
  segue_app *app;
  segue_app_delegate *delegate;
  BENCH_CALL(segue_app_create("com.example.bench.watch", SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_set_chooser(app, true));
  BENCH_CALL(segue_app_delegate_create(NULL, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_offer(delegate, on_offer));
  BENCH_CALL(segue_app_delegate_on_connection(delegate, on_connection));
  BENCH_CALL(segue_app_set_delegate(app, delegate));
  BENCH_CALL(segue_app_open(app));
  for (;;)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
}
