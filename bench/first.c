/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compares two hosts of the hub, for docs/decisions/numbered-generations.md: the first app that opens, as decided, or a
 * helper process that the first app starts, as it might have been. The helper is a prototype: this program, as an app
 * that does nothing else. It does not end when its last client has gone. */
#define _GNU_SOURCE
#include "bench.h"
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#define TYPE "com.example.bench.editing"

extern char **environ;

static bool is_seen;

static void say(const char *word, double value) {
  printf("%s %.0f\n", word, value);
  fflush(stdout);
}

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)app;
  if (connection == SEGUE_CONNECTION_READY && context != NULL)
    say(context, bench_now_us());
}

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  (void)context;
  (void)app;
  (void)offer;
  if (event == SEGUE_OFFER_APPEARED)
    is_seen = true;
}

/** Opens an app; each time that it is ready, it prints `word`, if there is one, and the time. */
static segue_app *open_app(const char *identifier, char *word) {
  segue_app *app;
  segue_app_delegate *delegate;
  BENCH_CALL(segue_app_create(identifier, SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_set_team_identifier(app, "BENCH", SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_add_activity_type(app, TYPE, SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_delegate_create(word, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_connection(delegate, on_connection));
  BENCH_CALL(segue_app_delegate_on_offer(delegate, on_offer));
  BENCH_CALL(segue_app_set_delegate(app, delegate));
  BENCH_CALL(segue_app_open(app));
  return app;
}

static void run(segue_app *app) {
  for (;;)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
}

/** Starts the helper, and waits until it listens. */
static void start_helper(char *program) {
  int ready[2];
  char *arguments[] = {program, "hub", NULL}, byte;
  posix_spawn_file_actions_t actions;
  pid_t helper;
  if (pipe2(ready, 0) != 0 || posix_spawn_file_actions_init(&actions) != 0 ||
      posix_spawn_file_actions_adddup2(&actions, ready[1], STDOUT_FILENO) != 0 ||
      posix_spawn_file_actions_addclose(&actions, ready[0]) != 0 ||
      posix_spawn_file_actions_addclose(&actions, ready[1]) != 0 ||
      posix_spawn(&helper, program, &actions, NULL, arguments, environ) != 0)
    bench_fail("helper", "did not start");
  posix_spawn_file_actions_destroy(&actions);
  close(ready[1]);
  if (read(ready[0], &byte, 1) != 1)
    bench_fail("helper", "is not ready");
  close(ready[0]);
  say("helper", helper);
}

/** The first app: prints the total time until another app knew its first offer. */
static void be_first(char *program, bool with_helper) {
  double start = bench_now_us();
  if (with_helper)
    start_helper(program);
  segue_app *origin = open_app("com.example.bench.origin", NULL), *other = open_app("com.example.bench.other", NULL);
  segue_activity *activity;
  BENCH_CALL(segue_activity_create(origin, TYPE, SEGUE_NUL_TERMINATED, &activity));
  BENCH_CALL(segue_activity_become_current(activity));
  struct pollfd due[2] = {{.events = POLLIN}, {.events = POLLIN}};
  BENCH_CALL(segue_app_fd(origin, &due[0].fd));
  BENCH_CALL(segue_app_fd(other, &due[1].fd));
  while (!is_seen) {
    poll(due, 2, -1);
    BENCH_CALL(segue_app_dispatch(origin, 0, NULL));
    BENCH_CALL(segue_app_dispatch(other, 0, NULL));
  }
  say("offer", bench_now_us() - start);
  BENCH_CALL(segue_app_close(other));
  segue_release(other);
  run(origin);
}

/* first inside | first helper | first later | first hub */
int main(int count, char **arguments) {
  const char *role = count == 2 ? arguments[1] : "";
  if (strcmp(role, "inside") == 0 || strcmp(role, "helper") == 0) {
    be_first(arguments[0], strcmp(role, "helper") == 0);
  } else if (strcmp(role, "later") == 0) {
    run(open_app("com.example.bench.later", "ready"));
  } else if (strcmp(role, "hub") == 0) {
    run(open_app("com.example.bench.hub", "ready"));
  }
  bench_fail("usage", "first inside|helper|later|hub");
}
