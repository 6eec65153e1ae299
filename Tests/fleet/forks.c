/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A process forks while its threads play fleets: the child can play one, too. */
#include "../forking.h"

static void play(void) {
  segue_fleet *fleet;
  OK(segue_fleet_create(1, &fleet));
  OK(segue_fleet_play(fleet, 1, 1, 5));
  OK(segue_release(fleet));
}

int main(void) {
  alarm(120);
  fork_while_threads_work(play, FORKS);
  return 0;
}
