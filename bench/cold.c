/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a cold start: from segue_app_launch until `continue` runs in an app that the agent has started, with its
 * payload in the inbox; in turns with the same app started by hand, until it is registered, and with a continuation in
 * that app, which runs then.
 *
 *     cold ask PATH ROUNDS APP...    prints the medians; PATH is a pipe with a name, on which apps report
 *     cold app APP PATH [warm]       the app: reports "ready", "continued" and, with warm, "warm"
 */
#define _GNU_SOURCE
#include "bench.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TYPE "com.example.bench.editing"
#define NUL SEGUE_NUL_TERMINATED

extern char **environ;

/* ---- the app ---- */

struct launched {
  segue_app *app;
  int report;
  bool is_warm;
  double asked_at; /* us; 0 before it continues by itself */
};

/** One line: less than a pipe splits. */
static void say(const struct launched *self, const char *what, double time) {
  dprintf(self->report, "%s %d %.0f\n", what, (int)getpid(), time);
}

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)app;
  if (connection == SEGUE_CONNECTION_READY)
    say(context, "ready", bench_now_us());
}

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  struct launched *self = context;
  if (!self->is_warm || event != SEGUE_OFFER_APPEARED || self->asked_at > 0)
    return;
  segue_continuation *continuation;
  self->asked_at = bench_now_us();
  BENCH_CALL(segue_app_continue(app, offer, 0, &continuation));
  BENCH_CALL(segue_continuation_release(continuation));
}

static segue_reply continued(void *context, segue_app *app, segue_activity *activity, segue_continuation *which) {
  (void)app, (void)activity, (void)which;
  const struct launched *self = context;
  if (self->asked_at > 0)
    say(self, "warm", bench_now_us() - self->asked_at);
  else
    say(self, "continued", bench_now_us());
  return SEGUE_REPLY_YES;
}

static int run_app(const char *name, const char *path, bool is_warm) {
  struct launched self = {.is_warm = is_warm, .report = open(path, O_WRONLY | O_CLOEXEC)};
  segue_app_delegate *delegate;
  if (self.report < 0)
    bench_fail(path, strerror(errno));
  BENCH_CALL(segue_app_create(name, NUL, &self.app));
  BENCH_CALL(segue_app_set_team_identifier(self.app, "BENCH", NUL));
  BENCH_CALL(segue_app_add_activity_type(self.app, TYPE, NUL));
  BENCH_CALL(segue_app_delegate_create(&self, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_connection(delegate, on_connection));
  BENCH_CALL(segue_app_delegate_on_offer(delegate, on_offer));
  BENCH_CALL(segue_app_delegate_on_continue(delegate, continued));
  BENCH_CALL(segue_app_set_delegate(self.app, delegate));
  BENCH_CALL(segue_app_open(self.app));
  for (;;)
    BENCH_CALL(segue_app_dispatch(self.app, -1, NULL));
}

/* ---- who asks ---- */

/** The next report of that kind. */
static double report(FILE *pipe, const char *what, pid_t *process) {
  char line[128], word[16];
  double time;
  while (fgets(line, sizeof line, pipe))
    if (sscanf(line, "%15s %d %lf", word, process, &time) == 3 && strcmp(word, what) == 0)
      return time;
  bench_fail(what, "nobody reports it");
  return 0;
}

static segue_offer *first_offer(segue_app *app) {
  segue_offer *offer = NULL;
  size_t count = 0;
  for (;;) {
    BENCH_CALL(segue_app_get_offers(app, &offer, 1, &count));
    if (count > 0)
      return offer;
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  }
}

/** Until the agent knows that the app has ended: otherwise it would not launch it. */
static void wait_until_gone(segue_app *app, const segue_offer *offer) {
  bool runs = true;
  while (runs) {
    segue_value *route;
    char *json;
    BENCH_CALL(segue_app_get_route(app, offer, &route));
    BENCH_CALL(segue_value_encode_json(route, SEGUE_JSON_TAGGED, &json, NULL));
    const char *own = strstr(json, "com.example.bench.cold");
    runs = own && strstr(own, "\"running\":true");
    segue_free(json);
    segue_value_release(route);
  }
}

int main(int count, char **arguments) {
  if (count >= 4 && strcmp(arguments[1], "app") == 0)
    return run_app(arguments[2], arguments[3], count > 4);
  if (count < 5 || strcmp(arguments[1], "ask") != 0)
    bench_fail("usage", "cold ask PATH ROUNDS APP..., or cold app APP PATH [warm]");
  size_t rounds = bench_count(arguments[3]);
  double *cold = calloc(rounds, sizeof *cold), *hand = calloc(rounds, sizeof *hand),
         *warm = calloc(rounds, sizeof *warm);
  /* Reading and writing: it does not end when an app does. */
  FILE *pipe = fdopen(open(arguments[2], O_RDWR | O_CLOEXEC), "r");
  if (!pipe)
    bench_fail(arguments[2], strerror(errno));
  segue_app *app;
  BENCH_CALL(segue_app_create("com.example.bench.asker", NUL, &app));
  BENCH_CALL(segue_app_set_chooser(app, true));
  BENCH_CALL(segue_app_open(app));
  segue_offer *offer = first_offer(app);
  for (size_t i = 0; i < rounds; i++) {
    char *name = arguments[4 + i % (size_t)(count - 4)];
    char *const command[] = {arguments[0], "app", name, arguments[2], "warm", NULL};
    pid_t process, reporter;
    wait_until_gone(app, offer);
    double start = bench_now_us();
    if (posix_spawn(&process, "/proc/self/exe", NULL, NULL, command, environ) != 0)
      bench_fail("posix_spawn", strerror(errno));
    hand[i] = report(pipe, "ready", &reporter) - start;
    warm[i] = report(pipe, "warm", &reporter);
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    wait_until_gone(app, offer);
    segue_value *result;
    start = bench_now_us();
    BENCH_CALL(segue_app_launch(app, offer, name, NUL, 0, &result));
    cold[i] = report(pipe, "continued", &reporter) - start;
    segue_value_release(result);
    kill(reporter, SIGKILL);
  }
  bench_print("cold_us", bench_percentile(cold, rounds, 50));
  bench_print("hand_us", bench_percentile(hand, rounds, 50));
  bench_print("warm_us", bench_percentile(warm, rounds, 50));
  return 0;
}
