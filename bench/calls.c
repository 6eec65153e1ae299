/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures one call through the ABI: a scalar getter, handle check included, from one thread and from eight threads on
 * eight objects; and setting needs_save on a current activity. Definitions: bench/README.md. */
#include "bench.h"
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 8 };

struct worker {
  segue_activity *activity;
  size_t calls;
  pthread_barrier_t *barrier;
  double start, end; /* us */
};

static void *get(void *context) {
  struct worker *worker = context;
  if (worker->barrier != NULL)
    pthread_barrier_wait(worker->barrier);
  bool needs_save = false;
  worker->start = bench_now_us();
  for (size_t i = 0; i < worker->calls; i++)
    if (segue_activity_get_needs_save(worker->activity, &needs_save) != SEGUE_OK || !needs_save)
      bench_fail("segue_activity_get_needs_save", "not true");
  worker->end = bench_now_us();
  return NULL;
}

static double one_thread_ns(segue_activity *activity, size_t calls) {
  struct worker worker = {.activity = activity, .calls = calls};
  get(&worker);
  return (worker.end - worker.start) * 1e3 / (double)calls;
}

/** Elapsed time x usable cores, per call: one thread's cost, if no thread waits for another. */
static double eight_threads_ns(segue_activity **activities, size_t calls) {
  pthread_t threads[THREADS];
  struct worker workers[THREADS];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int t = 0; t < THREADS; t++) {
    workers[t] = (struct worker){.activity = activities[t], .calls = calls, .barrier = &barrier};
    if (pthread_create(&threads[t], NULL, get, &workers[t]) != 0)
      bench_fail("pthread_create", "no thread");
  }
  double start = 0, end = 0;
  for (int t = 0; t < THREADS; t++) {
    pthread_join(threads[t], NULL);
    start = t == 0 || workers[t].start < start ? workers[t].start : start;
    end = workers[t].end > end ? workers[t].end : end;
  }
  pthread_barrier_destroy(&barrier);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return (end - start) * 1e3 * (double)(cores < THREADS ? cores : THREADS) / ((double)calls * THREADS);
}

static int saves;

static segue_reply will_save(void *context, segue_activity *activity, segue_save *save) {
  (void)context;
  (void)activity;
  (void)save;
  saves++;
  return SEGUE_REPLY_YES;
}

/** Calls per second on a current activity; then checks that all of them caused one will_save (R2.3). */
static double needs_save_per_s(size_t calls) {
  segue_app *app;
  segue_activity *activity;
  segue_activity_delegate *delegate;
  BENCH_CALL(segue_limit_set(SEGUE_LIMIT_SAVE_DELAY_MS, 0)); /* saved when pulled only: resigning pulls below */
  BENCH_CALL(segue_app_create("com.example.bench.calls", SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_open(app));
  BENCH_CALL(segue_activity_create(app, "com.example.bench.editing", SEGUE_NUL_TERMINATED, &activity));
  BENCH_CALL(segue_activity_delegate_create(NULL, NULL, &delegate));
  BENCH_CALL(segue_activity_delegate_on_will_save(delegate, will_save));
  BENCH_CALL(segue_activity_set_delegate(activity, delegate));
  BENCH_CALL(segue_activity_become_current(activity));
  BENCH_CALL(segue_activity_set_needs_save(activity, false));
  double start = bench_now_us();
  for (size_t i = 0; i < calls; i++)
    BENCH_CALL(segue_activity_set_needs_save(activity, true));
  double elapsed = bench_now_us() - start;
  BENCH_CALL(segue_activity_resign_current(activity));
  while (saves == 0)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  BENCH_CALL(segue_app_close(app));
  if (saves != 1)
    bench_fail("needs_save", "more than one will_save");
  segue_release(delegate);
  segue_release(activity);
  segue_release(app);
  return (double)calls / elapsed * 1e6;
}

/* calls ROUNDS CALLS */
int main(int count, char **arguments) {
  if (count != 3)
    bench_fail("usage", "calls ROUNDS CALLS");
  size_t rounds = bench_count(arguments[1]), calls = bench_count(arguments[2]);
  segue_activity *activities[THREADS];
  for (int i = 0; i < THREADS; i++)
    BENCH_CALL(segue_activity_create(NULL, "com.example.bench.reading", SEGUE_NUL_TERMINATED, &activities[i]));
  double *one = calloc(rounds, sizeof *one), *eight = calloc(rounds, sizeof *eight);
  for (size_t r = 0; r < rounds; r++) {
    one[r] = one_thread_ns(activities[0], calls);
    eight[r] = eight_threads_ns(activities, calls / THREADS + 1);
  }
  bench_print("one_thread_ns", bench_percentile(one, rounds, 50));
  bench_print("eight_threads_ns", bench_percentile(eight, rounds, 50));
  for (int i = 0; i < THREADS; i++)
    segue_release(activities[i]);
  bench_print("needs_save_per_s", needs_save_per_s(calls));
  return 0;
}
