/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures a save of one activity with many responders, each of which adds an entry of its own: from the call that
 * causes it until did_update, the last callback, and the snapshot. Definitions: bench/README.md. */
#include "bench.h"
#include <string.h>
#include <time.h>

/** Microseconds of processor time of all threads of the process. */
static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

enum { NAME = 16 };
static size_t updates, updated;

static segue_reply update(void *entry, segue_activity *activity, segue_save *save) {
  (void)save;
  BENCH_CALL(segue_activity_add_user_info_entries(activity, entry));
  updates++;
  return SEGUE_REPLY_YES;
}

static void did_update(void *context, segue_app *app, segue_activity *activity) {
  (void)context;
  (void)app;
  (void)activity;
  updated++;
}

static void release(void *entry) { segue_release(entry); }

/** {"view NUMBER": NUMBER}. Not in the order of the keys, as views come. */
static segue_value *entry_of(size_t number) {
  segue_writer *writer;
  segue_value *entry;
  char name[NAME];
  snprintf(name, sizeof name, "view %05zu", number * 7919 % 100000);
  BENCH_CALL(segue_writer_create(&writer));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
  BENCH_CALL(segue_writer_put_string(writer, name, strlen(name)));
  BENCH_CALL(segue_writer_put_int64(writer, (int64_t)number));
  BENCH_CALL(segue_writer_end(writer));
  BENCH_CALL(segue_writer_finish(writer, &entry));
  segue_release(writer);
  return entry;
}

/** The time of one save, divided by the number of responders: the median of the rounds. */
static double us_per_responder(segue_app *app, size_t count, size_t rounds) {
  segue_activity *activity;
  segue_responder **responders = calloc(count, sizeof *responders);
  double *samples = calloc(rounds, sizeof *samples);
  BENCH_CALL(segue_activity_create(app, "com.example.bench.editing", SEGUE_NUL_TERMINATED, &activity));
  for (size_t i = 0; i < count; i++) {
    BENCH_CALL(segue_responder_create(app, update, NULL, entry_of(i), release, &responders[i]));
    BENCH_CALL(segue_responder_set_activity(responders[i], activity));
  }
  for (size_t r = 0; r < rounds; r++) {
    BENCH_CALL(segue_app_set_main_responder(app, responders[0]));
    BENCH_CALL(segue_activity_set_needs_save(activity, true));
    updates = updated = 0;
    double start = now_us();
    /* It resigns, and so it is saved. */
    BENCH_CALL(segue_app_set_main_responder(app, NULL));
    while (updated == 0)
      BENCH_CALL(segue_app_dispatch(app, -1, NULL));
    samples[r] = (now_us() - start) / (double)count;
    segue_value *user_info;
    size_t entries;
    BENCH_CALL(segue_activity_get_user_info(activity, &user_info));
    BENCH_CALL(segue_value_get_count(user_info, &entries));
    segue_release(user_info);
    if (updates != count || entries != count)
      bench_fail("save", "a responder was not asked once, or its entry is missing");
  }
  for (size_t i = 0; i < count; i++)
    segue_release(responders[i]);
  segue_release(activity);
  free(responders);
  double result = bench_percentile(samples, rounds, 50);
  free(samples);
  return result;
}

/* save ROUNDS */
int main(int count, char **arguments) {
  if (count != 2)
    bench_fail("usage", "save ROUNDS");
  size_t rounds = bench_count(arguments[1]);
  segue_app *app;
  segue_app_delegate *delegate;
  BENCH_CALL(segue_limit_set(SEGUE_LIMIT_SAVE_DELAY_MS, 0)); /* no save by time */
  BENCH_CALL(segue_app_create("com.example.bench.save", SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_delegate_create(NULL, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_did_update(delegate, did_update));
  BENCH_CALL(segue_app_set_delegate(app, delegate));
  BENCH_CALL(segue_app_open(app));
  bench_print("us_1000", us_per_responder(app, 1000, 10 * rounds));
  bench_print("us_10000", us_per_responder(app, 10000, rounds));
  BENCH_CALL(segue_app_close(app));
  segue_release(delegate);
  segue_release(app);
  return 0;
}
