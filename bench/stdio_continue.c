/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures a continuation by segue-stdio: from the line `offers/continue` to the line `continuation/continue`, in turns
 * with the same by an app in C in this process, from segue_app_continue to the continue callback. The origin is in
 * another process, the hub in a third, the activity dirty each time. */
#define _GNU_SOURCE
#include "continuing.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>

extern char **environ;

struct session {
  FILE *to, *from;
  char *line;
  size_t room;
};

/** Reads lines up to one with that text. */
static const char *hear(struct session *self, const char *text) {
  while (getline(&self->line, &self->room, self->from) > 0)
    if (strstr(self->line, text))
      return self->line;
  bench_fail("segue-stdio", "it has ended");
  return NULL;
}

#define SAY(self, ...) (fprintf((self)->to, __VA_ARGS__), fputc('\n', (self)->to), fflush((self)->to))

static void begin(struct session *self, const char *program) {
  int input[2], output[2];
  posix_spawn_file_actions_t actions;
  pid_t process;
  char *arguments[] = {(char *)program, NULL};
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
    bench_fail("segue-stdio", "no pipe");
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  if (posix_spawn(&process, program, &actions, NULL, arguments, environ) != 0)
    bench_fail("segue-stdio", "it cannot be started");
  close(input[0]);
  close(output[1]);
  self->to = fdopen(input[1], "w");
  self->from = fdopen(output[0], "r");
  SAY(self, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"open\",\"params\":{\"protocol\":1,"
            "\"bundleIdentifier\":\"com.example.bench.stdio\",\"name\":\"bench\",\"team\":\"BENCH\","
            "\"types\":[\"" TYPE "\"],\"save\":false}}");
  hear(self, "\"type\":\"" TYPE "\"");
}

/** Returns microseconds until the line with the activity. */
static double stdio_once(struct session *self) {
  char word;
  double start = bench_now_us();
  SAY(self, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"offers/continue\",\"params\":{\"type\":\"" TYPE "\"}}");
  const char *line = hear(self, "\"continuation/continue\"");
  double elapsed = bench_now_us() - start;
  const char *id = strstr(line, "\"id\":"), *activity = strstr(line, "\"activity\":\"");
  if (!id || !activity)
    bench_fail("segue-stdio", line);
  char *name = strndup(activity + 12, strcspn(activity + 12, "\""));
  SAY(self, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"handled\":true}}", strtol(id + 5, NULL, 10));
  SAY(self, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"activity/release\",\"params\":{\"activity\":\"%s\"}}", name);
  hear(self, "\"id\":3");
  free(name);
  if (read(ORIGIN_REPORTS, &word, 1) != 1 || word != 's')
    bench_fail("origin", "it is gone, or was continued without will_save");
  return elapsed;
}

/* stdio_continue PROGRAM ROUNDS CALLS_PER_ROUND */
int main(int count, char **arguments) {
  if (count != 4)
    bench_fail("usage", "stdio_continue PROGRAM ROUNDS CALLS_PER_ROUND");
  size_t rounds = bench_count(arguments[2]), calls = bench_count(arguments[3]), total = rounds * calls;
  double *ours = calloc(total, sizeof *ours), *direct = calloc(total, sizeof *direct);
  struct receiver self = {0};
  struct session session = {0};
  segue_app *app = open_app(&self);
  begin(&session, arguments[1]);
  for (size_t i = 0; i < calls; i++) { /* not counted: caches, first allocations */
    continue_once(app, &self);
    stdio_once(&session);
  }
  for (size_t start = 0; start < total; start += calls) {
    for (size_t i = start; i < start + calls; i++) {
      direct[i] = continue_once(app, &self);
      /* Its remaining work, after the callback, is done when this is answered, and does not slow down the next. */
      request_once(app, &self);
    }
    for (size_t i = start; i < start + calls; i++) {
      ours[i] = stdio_once(&session);
      request_once(app, &self);
    }
  }
  bench_print("stdio_us", bench_percentile(ours, total, 50));
  bench_print("direct_us", bench_percentile(direct, total, 50));
  fclose(session.to);
  segue_release(self.activity);
  segue_release(self.offer);
  BENCH_CALL(segue_app_close(app));
  segue_release(app);
  return 0;
}
