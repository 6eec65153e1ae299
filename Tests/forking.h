/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A process that has opened no app, and forks while its threads are in calls of the library. */
#include <sys/wait.h>

#include "participant.h"

enum { FORKS = 300, WORKERS = 3 };

static void (*use)(void);
static atomic_bool ends;

static void *work(void *unused) {
  while (!ends)
    use();
  return unused;
}

/** A child uses the library, and hangs no longer than this. */
static void fork_and_use(void) {
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);
    use();
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void fork_while_threads_work(void (*how)(void), int forks) {
  pthread_t workers[WORKERS];
  use = how;
  ends = false;
  for (int i = 0; i < WORKERS; i++)
    REQUIRE(pthread_create(&workers[i], NULL, work, NULL) == 0);
  for (int i = 0; i < forks; i++)
    fork_and_use();
  ends = true;
  for (int i = 0; i < WORKERS; i++)
    REQUIRE(pthread_join(workers[i], NULL) == 0);
}
