/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures a continuation from another machine, over a link that is up: from segue_app_continue to the continue
 * callback, each time with a dirty activity; in turns with a round trip over TLS between the same two machines. */
#define _GNU_SOURCE
#include "continuing.h"
#include "tls.h"

static void print_continuation(segue_app *app, struct receiver *self) {
  self->continued_at = 0;
  BENCH_CALL(segue_app_continue(app, self->offer, 0, NULL));
  while (self->continued_at == 0)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  bench_print("continued", self->continued_at);
}

/* link_handoff once                                   continues the first offer, and prints when, by the clock
 * link_handoff FOLDER ADDRESS PORT ROUNDS CALLS CORE  measures */
int main(int count, char **arguments) {
  struct receiver self = {0};
  if (count == 2) {
    print_continuation(open_app(&self), &self);
    pause();
    return 0;
  }
  if (count != 7)
    bench_fail("usage", "link_handoff once | link_handoff FOLDER ADDRESS PORT ROUNDS CALLS_PER_ROUND CORE");
  int core = atoi(arguments[6]); /* of the client of TLS; the server has another */
  size_t rounds = bench_count(arguments[4]), calls = bench_count(arguments[5]), total = rounds * calls;
  double *handoff = calloc(total, sizeof *handoff), *raw = calloc(total, sizeof *raw);
  SSL *peer = tls_dial(tls_context(arguments[1]), arguments[2], arguments[3]);
  segue_app *app = open_app(&self);
  for (size_t i = 0; i < calls; i++) { /* not counted: caches, first allocations */
    tls_round_trip(peer);
    continue_once(app, &self);
    request_once(app, &self);
  }
  for (size_t start = 0; start < total; start += calls) {
    pin(&core);
    for (size_t i = start; i < start + calls; i++)
      raw[i] = tls_round_trip(peer);
    pin(NULL);
    for (size_t i = start; i < start + calls; i++) {
      handoff[i] = continue_once(app, &self);
      /* Its remaining work, after the callback, is done when this is answered, and does not slow down the next. */
      request_once(app, &self);
    }
  }
  bench_print("handoff_p50_us", bench_percentile(handoff, total, 50));
  bench_print("handoff_p99_us", bench_percentile(handoff, total, 99));
  bench_print("raw_p50_us", bench_percentile(raw, total, 50));
  segue_release(self.activity);
  segue_release(self.offer);
  BENCH_CALL(segue_app_close(app));
  segue_release(app);
  return 0;
}
