/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures a fetch of an attachment from another process, and cp of the same file, in turns. */
#include "receiver.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define TYPE "com.example.bench.editing"
#define NUL SEGUE_NUL_TERMINATED
extern char **environ;

struct receiver {
  segue_app *app;
  segue_activity *activity;
  bool has_come;
};

static void fetched(void *context, segue_activity *activity, const segue_error *error) {
  (void)activity;
  if (error)
    bench_fail("attachment", "did not come");
  ((struct receiver *)context)->has_come = true;
}

/** Returns microseconds until the file is complete and on the disk. */
static double fetch(struct receiver *self, const char *path) {
  double start = bench_now_us();
  self->has_come = false;
  BENCH_CALL(segue_activity_fetch_attachment(self->activity, "file", NUL, path, NUL, NULL, fetched, self, NULL, NULL));
  while (!self->has_come)
    BENCH_CALL(segue_app_dispatch(self->app, -1, NULL));
  return bench_now_us() - start;
}

/** Returns microseconds of cp, and of the fsync after it. */
static double copy(const char *from, const char *to, double *synced) {
  char *const arguments[] = {"cp", (char *)from, (char *)to, NULL};
  double start = bench_now_us();
  pid_t process;
  int status;
  if (posix_spawnp(&process, "cp", NULL, NULL, arguments, environ) != 0 || waitpid(process, &status, 0) != process ||
      status != 0)
    bench_fail("cp", "failed");
  double end = bench_now_us();
  int fd = open(to, O_RDONLY);
  if (fd < 0 || fsync(fd) != 0)
    bench_fail("cp", "fsync");
  close(fd);
  *synced = bench_now_us() - start;
  return end - start;
}

/* attachment origin FILE
 * attachment receiver FILE TARGET ROUNDS */
int main(int count, char **arguments) {
  bool is_origin = count == 3;
  if (!is_origin && count != 5)
    bench_fail("usage", "attachment origin FILE | attachment receiver FILE TARGET ROUNDS");
  struct receiver self = {0};
  const char *name = is_origin ? "com.example.bench.origin" : "com.example.bench.receiver";
  BENCH_CALL(segue_app_create(name, NUL, &self.app));
  BENCH_CALL(segue_app_set_team_identifier(self.app, "BENCH", NUL));
  if (is_origin) {
    BENCH_CALL(segue_app_open(self.app));
    BENCH_CALL(segue_activity_create(self.app, TYPE, NUL, &self.activity));
    BENCH_CALL(segue_activity_attach_file(self.activity, "file", NUL, arguments[2], NUL));
    BENCH_CALL(segue_activity_become_current(self.activity));
    for (;;)
      BENCH_CALL(segue_app_dispatch(self.app, -1, NULL));
  }
  size_t rounds = bench_count(arguments[4]);
  self.activity = bench_continue(self.app, TYPE);
  double *ours = calloc(rounds, sizeof *ours);
  double *theirs = calloc(rounds, sizeof *theirs), *synced = calloc(rounds, sizeof *synced);
  for (size_t round = 0; round < rounds; round++) {
    /* In turns, and each first in every other round, so that pending writes of the one do not slow down the other. */
    for (size_t half = 0; half < 2; half++) {
      sync();
      if (half == round % 2)
        ours[round] = fetch(&self, arguments[3]);
      else
        theirs[round] = copy(arguments[2], arguments[3], &synced[round]);
      unlink(arguments[3]);
    }
  }
  bench_print("first_us", ours[0]);
  bench_print("fetch_median_us", bench_percentile(ours, rounds, 50));
  /* The fastest of each: the differences come from the machine (README.md). */
  bench_print("fetch_us", bench_percentile(ours, rounds, 0));
  bench_print("cp_us", bench_percentile(theirs, rounds, 0));
  bench_print("cp_synced_us", bench_percentile(synced, rounds, 0));
  BENCH_CALL(segue_app_close(self.app));
  return 0;
}
