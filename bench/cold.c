/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures a cold start: from segue_app_launch until `continue` runs in an app that the agent has started, with its
 * payload in the inbox. In turns with the same program started by hand, until it is registered, and with a continuation
 * in that app, which runs then.
 *
 *     cold ask PATH APP...         for each line of standard input, prints the three figures of the next APP, in us.
 *                                  PATH is a pipe with a name, on which apps report. The agent starts each APP once:
 *                                  no app is asked for that it may still believe to run
 *     cold app APP PATH [warm]     the app: reports "ready" and "continued"; with warm it continues the first offer by
 *                                  itself, and reports "warm"
 */
#define _GNU_SOURCE
#include "bench.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TYPE "com.example.bench.editing"
#define BY_HAND "com.example.bench.hand"
#define NUL SEGUE_NUL_TERMINATED
#define PATIENCE_MS 30000

extern char **environ;

/* ---- the app ---- */

struct launched {
  segue_app *app;
  int report;
  bool is_warm, has_continued;
  double asked_at; /* us; 0 until it continues by itself */
};

/** One line, which is less than a pipe splits. */
static void say(const struct launched *self, const char *what, double value) {
  dprintf(self->report, "%s %d %.0f\n", what, (int)getpid(), value);
}

/** The first offer of an app; NULL if it has none yet. */
static segue_offer *first_offer(segue_app *app) {
  segue_offer *offer = NULL;
  size_t count = 0;
  BENCH_CALL(segue_app_get_offers(app, &offer, 1, &count));
  return offer;
}

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  struct launched *self = context;
  if (connection != SEGUE_CONNECTION_READY || self->asked_at > 0)
    return;
  say(self, "ready", bench_now_us());
  if (!self->is_warm)
    return;
  segue_offer *offer = first_offer(app);
  segue_continuation *continuation;
  if (!offer)
    bench_fail("warm", "an app that is ready has no offer");
  self->asked_at = bench_now_us();
  BENCH_CALL(segue_app_continue(app, offer, 0, &continuation));
  segue_release(continuation);
  segue_release(offer);
}

static segue_reply on_continue(void *context, segue_app *app, segue_activity *activity, segue_continuation *which) {
  (void)app, (void)activity, (void)which;
  struct launched *self = context;
  self->has_continued = true;
  if (self->is_warm)
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
  BENCH_CALL(segue_app_delegate_on_continue(delegate, on_continue));
  BENCH_CALL(segue_app_set_delegate(self.app, delegate));
  BENCH_CALL(segue_app_open(self.app));
  while (!self.has_continued)
    BENCH_CALL(segue_app_dispatch(self.app, -1, NULL));
  /* In order, so that the answer is on its way. */
  BENCH_CALL(segue_app_close(self.app));
  return 0;
}

/* ---- who asks ---- */

/** The next report, which must be of that kind: fails if none comes. */
static double report(int pipe, const char *wanted, pid_t *process) {
  char line[128], word[16];
  double value;
  for (;;) {
    struct pollfd ready = {.fd = pipe, .events = POLLIN};
    if (poll(&ready, 1, PATIENCE_MS) != 1)
      bench_fail(wanted, "no app reports it");
    size_t length = 0;
    while (length < sizeof line - 1 && read(pipe, line + length, 1) == 1 && line[length] != '\n')
      length++;
    line[length] = '\0';
    if (sscanf(line, "%15s %d %lf", word, process, &value) != 3)
      bench_fail(line, "no report");
    if (strcmp(word, wanted) == 0)
      return value;
    if (strcmp(word, "ready") != 0)
      bench_fail(wanted, line);
  }
}

/** Waits for the end of a process, whoever's child it is. */
static void await_end(pid_t process) {
  int fd = pidfd_open(process, 0);
  if (fd < 0)
    return; /* it is gone */
  struct pollfd ended = {.fd = fd, .events = POLLIN};
  if (poll(&ended, 1, PATIENCE_MS) != 1)
    bench_fail("app", "it does not end");
  close(fd);
}

/** Starts the program by hand, as the launcher does, and continues in it. */
static void start_by_hand(char *program, char *path, int pipe, double *hand, double *warm) {
  char *const command[] = {program, "app", BY_HAND, path, "warm", NULL};
  pid_t process, reporter;
  double start = bench_now_us();
  if (posix_spawn(&process, "/proc/self/exe", NULL, NULL, command, environ) != 0)
    bench_fail("posix_spawn", strerror(errno));
  *hand = report(pipe, "ready", &reporter) - start;
  *warm = report(pipe, "warm", &reporter);
  waitpid(process, NULL, 0);
}

static double start_cold(segue_app *app, const segue_offer *offer, const char *name, int pipe) {
  segue_value *result;
  pid_t process;
  double start = bench_now_us();
  BENCH_CALL(segue_app_launch(app, offer, name, NUL, 0, &result));
  double took = report(pipe, "continued", &process) - start;
  segue_release(result);
  await_end(process);
  return took;
}

int main(int count, char **arguments) {
  if (count >= 4 && strcmp(arguments[1], "app") == 0)
    return run_app(arguments[2], arguments[3], count > 4);
  if (count < 4 || strcmp(arguments[1], "ask") != 0)
    bench_fail("usage", "cold ask PATH APP..., or cold app APP PATH [warm]");
  /* For reading and writing, so that it does not end when an app does. */
  int pipe = open(arguments[2], O_RDWR | O_CLOEXEC);
  if (pipe < 0)
    bench_fail(arguments[2], strerror(errno));
  segue_app *app;
  segue_offer *offer;
  BENCH_CALL(segue_app_create("com.example.bench.asker", NUL, &app));
  BENCH_CALL(segue_app_set_chooser(app, true));
  BENCH_CALL(segue_app_open(app));
  while (!(offer = first_offer(app)))
    BENCH_CALL(segue_app_dispatch(app, 10, NULL));
  char line[16];
  for (int i = 3; i < count && fgets(line, sizeof line, stdin); i++) {
    double hand, warm;
    start_by_hand(arguments[0], arguments[2], pipe, &hand, &warm);
    double cold = start_cold(app, offer, arguments[i], pipe);
    printf("%.0f %.0f %.0f\n", cold, hand, warm);
    fflush(stdout);
  }
  return 0;
}
