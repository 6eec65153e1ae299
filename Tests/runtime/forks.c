/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A process that has opened no app forks while its threads are in calls: the child can use the library. Each test is
 * named on the command line; it says nothing and ends with 0, or says what is wrong. */
#include <fcntl.h>

#include "../forking.h"

enum { FIRST_CALLS = 200 };

static void use_log_and_limits(void) {
  uint64_t value;
  OK(segue_log_set(SEGUE_LOG_DEBUG, NULL, NULL, NULL));
  OK(segue_limit_get(SEGUE_LIMIT_USER_INFO, &value));
  OK(segue_limit_set(SEGUE_LIMIT_USER_INFO, value));
}

static void use_apps_and_activities(void) {
  segue_app *app;
  segue_activity *activity;
  OK(segue_app_create("com.example.forks", NUL, &app));
  OK(segue_activity_create(app, TYPE, NUL, &activity));
  OK(segue_activity_set_title(activity, "title", NUL));
  OK(segue_release(activity));
  OK(segue_app_close(app));
  OK(segue_release(app));
}

static void use_attachments(void) {
  segue_activity *activity;
  OK(segue_activity_create(NULL, TYPE, NUL, &activity));
  OK(segue_activity_attach_bytes(activity, "name", NUL, (const uint8_t *)"bytes", 5));
  OK(segue_release(activity));
}

static void log_and_limits(void) { fork_while_threads_work(use_log_and_limits, FORKS); }
static void apps_and_activities(void) { fork_while_threads_work(use_apps_and_activities, FORKS); }
static void attachments(void) { fork_while_threads_work(use_attachments, FORKS); }

/* Threads make the first calls of a process, which set the library up, when that forks. */
static void first_calls(void) {
  for (int i = 0; i < FIRST_CALLS; i++) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      fork_while_threads_work(i % 2 ? use_attachments : use_apps_and_activities, 3);
      _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

static segue_activity *held;
static void release_beside_a_file(void) {
  int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  OK(segue_release(held));
  REQUIRE(fcntl(file, F_GETFD) >= 0);
}

/* An attachment stays open in the child, and when it closes there, no file of the host's does. */
static void what_is_attached(void) {
  OK(segue_activity_create(NULL, TYPE, NUL, &held));
  OK(segue_activity_attach_bytes(held, "name", NUL, (const uint8_t *)"bytes", 5));
  use = release_beside_a_file;
  fork_and_use();
  OK(segue_release(held));
}

int main(int count, char **arguments) {
  static const struct test tests[] = {
      {"first_calls", first_calls}, /* before all others: this process has made none then */
      {"log_and_limits", log_and_limits}, {"apps_and_activities", apps_and_activities},
      {"attachments", attachments},       {"what_is_attached", what_is_attached},
  };
  alarm(120);
  const char *wanted = count > 1 ? arguments[1] : "";
  return run_test(tests, sizeof tests / sizeof *tests, wanted);
}
