/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Many apps in one process, for the hub's memory per offer: an app has at most one current activity (R1.12), so that N
 * offers need N apps. Each is its own team and declares no type, so that only a chooser gets their offers.
 * Prints "connected" when all are registered; then, at a line on standard input, makes one activity of each current. */
#include "bench.h"
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static size_t ready;

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)context;
  (void)app;
  if (connection == SEGUE_CONNECTION_READY)
    ready++;
}

static segue_app *open_app(size_t number, int epoll) {
  char identifier[64];
  segue_app *app;
  segue_app_delegate *delegate;
  int descriptor;
  snprintf(identifier, sizeof identifier, "com.example.bench.offers.%zu", number);
  BENCH_CALL(segue_app_create(identifier, SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_delegate_create(NULL, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_connection(delegate, on_connection));
  BENCH_CALL(segue_app_set_delegate(app, delegate));
  BENCH_CALL(segue_app_open(app));
  BENCH_CALL(segue_app_fd(app, &descriptor));
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = app};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
    bench_fail("epoll_ctl", "no descriptor");
  return app;
}

static void offer(segue_app *app, size_t number) {
  /* a type of 32 bytes and a title of 40 */
  char title[41];
  segue_activity *activity;
  snprintf(title, sizeof title, "A note with a title of 40 bytes, %07zu", number);
  BENCH_CALL(segue_activity_create(app, "com.example.bench.offers.editing", SEGUE_NUL_TERMINATED, &activity));
  BENCH_CALL(segue_activity_set_title(activity, title, 40));
  BENCH_CALL(segue_activity_become_current(activity));
}

static void say(const char *line) {
  puts(line);
  fflush(stdout);
}

/* offers FIRST COUNT: apps number FIRST to FIRST+COUNT-1 */
int main(int count, char **arguments) {
  if (count != 3)
    bench_fail("usage", "offers FIRST COUNT");
  size_t first = bench_count(arguments[1]), apps = bench_count(arguments[2]);
  BENCH_CALL(segue_limit_set(SEGUE_LIMIT_SAVE_DELAY_MS, 0)); /* only offers cause traffic */
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  segue_app **all = calloc(apps, sizeof *all);
  for (size_t i = 0; i < apps; i++)
    all[i] = open_app(first + i, epoll);
  while (ready < apps) {
    struct epoll_event events[64];
    int due = epoll_wait(epoll, events, 64, -1);
    for (int e = 0; e < due; e++)
      BENCH_CALL(segue_app_dispatch(events[e].data.ptr, 0, NULL));
  }
  say("connected");
  if (getchar() == EOF)
    return 0;
  for (size_t i = 0; i < apps; i++)
    offer(all[i], first + i);
  say("offered");
  while (getchar() != EOF) {
  }
  return 0;
}
