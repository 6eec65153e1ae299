/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs twenty scenarios once for every system call that they make, with that one call failing. A scenario must then
 * either succeed, or fail with an error and succeed when retried; in time, and with nothing left behind.
 *
 *     faults SCENARIO|all FIRST STEP VARIANTS   calls FIRST, FIRST + STEP, ..., each in so many ways; 0 as STEP: none
 *
 * One process is hub, origin and receiver. Each run is in a child of its own, forked before the library is used. */
#define _GNU_SOURCE
#include "scenarios.h"

static int count_entries(const char *folder) {
  int count = 0;
  DIR *entries = opendir(folder);
  REQUIRE(entries);
  while (readdir(entries))
    count++;
  closedir(entries);
  return count;
}

/** Names the descriptors that are open, for a run that leaves some. */
static void list_descriptors(void) {
  char link[64], name[256];
  for (int number = 0; number < 64; number++) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", number);
    ssize_t length = readlink(link, name, sizeof name);
    if (length > 0)
      fprintf(stderr, "%s: %d is %.*s\n", run_name, number, (int)length, name);
  }
}

/** Waits until a folder has so many entries: a descriptor whose kind is not known is closed on a thread of its own. */
static bool settles(const char *folder, int count) {
  double end = milliseconds() + PATIENCE;
  while (count_entries(folder) != count) {
    if (milliseconds() > end)
      return false;
    poll(NULL, 0, 1);
  }
  return true;
}

/** In a child: 0 all is well and a call failed, 3 all is well and the scenario makes fewer calls. */
static int run_once(const struct scenario *scenario, long n, int variant) {
  snprintf(run_name, sizeof run_name, "%s, call %ld, variant %d", scenario->name, n, variant);
  char folder[] = "/tmp/segue-faults-XXXXXX";
  REQUIRE(mkdtemp(folder));
  char place[64];
  snprintf(place, sizeof place, "%s/run", folder);
  setenv("SEGUE_RUNTIME_DIR", place, 1);
  fault_arm(0, 0);
  /* libuv opens a pipe with its first loop, which stays. */
  opening();
  close_participant(&origin);
  origin = (struct participant){0};
  int descriptors = count_entries("/proc/self/fd");
  double began = milliseconds();
  /* If an answer is lost with its connection, the origin knows no more by then (R3.6). */
  OK(segue_limit_set(SEGUE_LIMIT_CONTINUATION_MS, 3000));
  fault_arm(n, variant);
  scenario->run();
  long calls = fault_calls();
  close_participant(&receiver);
  close_participant(&origin);
  bool fired = fault_fired();
  fault_arm(0, 0);
  size_t handles = 0;
  OK(segue_debug_live_handles(&handles));
  REQUIRE(handles == 0);
  if (!settles("/proc/self/fd", descriptors))
    list_descriptors();
  REQUIRE(count_entries("/proc/self/fd") == descriptors);
  REQUIRE(settles("/proc/self/task", 3));
  if (n == 0)
    printf("%s: %ld calls, %.0f ms\n", scenario->name, calls, milliseconds() - began);
  DIR *entries = opendir(place);
  for (struct dirent *entry; entries && (entry = readdir(entries));)
    unlinkat(dirfd(entries), entry->d_name, 0);
  closedir(entries);
  rmdir(place);
  rmdir(folder);
  return n == 0 || fired ? 0 : 3;
}

/* Runs in progress: most of the time they wait for retries. */
#define AT_ONCE 12
/* A scenario that has failed so often is over: it does so whatever call is refused. */
#define ENOUGH_FAILURES 10
static struct run {
  pid_t child;
  const struct scenario *scenario;
  long n;
  int variant;
} under_way[AT_ONCE];
static int failures;
static long runs;
/** The scenario makes fewer calls than that. */
static bool is_over;

static void wait_for_one(void) {
  int status = 0;
  pid_t child = wait(&status);
  for (int i = 0; i < AT_ONCE; i++) {
    struct run *run = &under_way[i];
    if (run->child != child)
      continue;
    run->child = 0;
    if (WIFSIGNALED(status))
      fprintf(stderr, "%s, call %ld, variant %d: %s\n", run->scenario->name, run->n, run->variant,
              WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)));
    bool made_fewer = WIFEXITED(status) && WEXITSTATUS(status) == 3;
    is_over |= made_fewer;
    failures += !made_fewer && status != 0;
    is_over |= failures >= ENOUGH_FAILURES;
    runs += !made_fewer;
  }
}

static void wait_for_all(void) {
  for (int i = 0; i < AT_ONCE; i++)
    while (under_way[i].child)
      wait_for_one();
}

static void start(const struct scenario *scenario, long n, int variant) {
  int free = 0;
  while (under_way[free].child) {
    if (++free == AT_ONCE) {
      wait_for_one();
      free = 0;
    }
  }
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(40);
    int result = run_once(scenario, n, variant);
    fflush(stdout);
    _exit(result);
  }
  under_way[free] = (struct run){child, scenario, n, variant};
}

int main(int count, char **arguments) {
  if (count != 5 || !fault_arm)
    return 2;
  long first = atol(arguments[2]), step = atol(arguments[3]);
  int variants = atoi(arguments[4]);
  bool found = false;
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
    if (strcmp(arguments[1], "all") != 0 && strcmp(arguments[1], scenarios[i].name) != 0)
      continue;
    found = true;
    is_over = step == 0;
    runs = 0;
    if (step == 0)
      start(&scenarios[i], first, variants);
    /* Since threads take turns as they like, one run may make a call less than another. */
    for (long n = first; !is_over; n += step) {
      for (int variant = 0; variant < variants; variant++)
        start(&scenarios[i], n, variants == 1 ? (int)(n % 7) : variant);
    }
    wait_for_all();
    printf("%s: %ld runs\n", scenarios[i].name, runs);
  }
  return !found ? 2 : failures ? 1 : 0;
}
