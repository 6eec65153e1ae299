/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Continues an offer COUNT times: what bench/instructions counts.
 *
 *     continued COUNT */
#define _GNU_SOURCE
#include "continuing.h"

int main(int count, char **arguments) {
  if (count != 2)
    bench_fail("usage", "continued COUNT");
  struct receiver self = {0};
  segue_app *app = open_app(&self);
  for (size_t left = bench_count(arguments[1]); left > 0; left--) {
    continue_once(app, &self);
    request_once(app, &self); /* as in bench/handoff.c: its remaining work is done when this is answered */
  }
  segue_release(self.activity);
  segue_release(self.offer);
  BENCH_CALL(segue_app_close(app));
  segue_release(app);
  return 0;
}
