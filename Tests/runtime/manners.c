/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Compares the process before, while and after an app is open. "quiet": signals, environment, output; "pipe": the other
 * side closes on our words; "reopen": over and over, nothing is left. Says nothing unless something is wrong. */
#include <dirent.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../require.h"

extern char **environ;

static int entries(const char *path) {
  DIR *folder = opendir(path);
  int count = 0;
  while (readdir(folder))
    count++;
  closedir(folder);
  return count;
}

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)context, (void)app, (void)connection;
}

static segue_app *create(segue_delivery delivery) {
  segue_app *app;
  static segue_app_delegate *delegate;
  if (!delegate) {
    OK(segue_app_delegate_create(NULL, NULL, &delegate));
    OK(segue_app_delegate_on_connection(delegate, on_connection));
  }
  OK(segue_app_create("com.example.manners", NUL, &app));
  OK(segue_app_set_delivery(app, delivery));
  OK(segue_app_set_delegate(app, delegate));
  return app;
}

static void offer(segue_app *app) {
  segue_activity *activity;
  OK(segue_activity_create(app, "com.example.editing", NUL, &activity));
  OK(segue_activity_become_current(activity));
  OK(segue_release(activity));
}

static void wait_until_ready(segue_app *app) {
  segue_connection connection = SEGUE_CONNECTION_SEARCHING;
  while (connection != SEGUE_CONNECTION_READY) {
    OK(segue_app_dispatch(app, -1, NULL));
    OK(segue_app_get_connection(app, &connection, NULL, NULL, NULL));
  }
}

struct manners {
  struct sigaction actions[65];
  sigset_t mask;
  size_t environment;
  char locale[256];
};

static struct manners look(void) {
  struct manners now;
  memset(&now, 0, sizeof now);
  for (int signal = 1; signal < 65; signal++)
    sigaction(signal, NULL, &now.actions[signal]);
  sigprocmask(SIG_SETMASK, NULL, &now.mask);
  for (char **variable = environ; *variable; variable++)
    for (const char *letter = *variable; *letter; letter++)
      now.environment = now.environment * 31 + (unsigned char)*letter;
  snprintf(now.locale, sizeof now.locale, "%s", setlocale(LC_ALL, NULL));
  return now;
}

static void check_same(const struct manners *before) {
  struct manners now = look();
  for (int signal = 1; signal < 65; signal++)
    REQUIRE(before->actions[signal].sa_handler == now.actions[signal].sa_handler &&
            before->actions[signal].sa_flags == now.actions[signal].sa_flags);
  for (int signal = 1; signal < 65; signal++)
    REQUIRE(sigismember(&before->mask, signal) == sigismember(&now.mask, signal));
  REQUIRE(before->environment == now.environment);
  REQUIRE(strcmp(before->locale, now.locale) == 0);
}

/** The masks of all other threads: every signal that can be blocked. */
static void check_threads(int expected) {
  DIR *tasks = opendir("/proc/self/task");
  int others = 0;
  for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
      continue;
    others++;
    char path[300], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    FILE *status = fopen(path, "r");
    unsigned long long blocked = 0;
    while (fgets(line, sizeof line, status))
      sscanf(line, "SigBlk: %llx", &blocked);
    fclose(status);
    for (int signal = 1; signal < 32; signal++)
      REQUIRE(signal == SIGKILL || signal == SIGSTOP || (blocked >> (signal - 1) & 1));
  }
  closedir(tasks);
  REQUIRE(others == expected);
}

static void quiet(void) {
  struct manners before = look();
  check_threads(0);
  segue_app *app = create(SEGUE_DELIVER_HOST), *threaded = create(SEGUE_DELIVER_THREAD);
  OK(segue_app_open(app));
  check_threads(1); /* the library's */
  OK(segue_app_open(threaded));
  check_threads(2); /* and the delivery of the second */
  wait_until_ready(app);
  offer(app);
  check_same(&before);
  OK(segue_release(app));
  OK(segue_release(threaded));
  check_threads(0);
  check_same(&before);
}

/** A hub that takes a connection and closes it while the app writes. */
static void broken_pipe(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/hub.1", getenv("SEGUE_RUNTIME_DIR"));
  int hub = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(bind(hub, (struct sockaddr *)&address, sizeof address) == 0 && listen(hub, 8) == 0);
  segue_app *app = create(SEGUE_DELIVER_HOST);
  OK(segue_app_open(app));
  static const unsigned char welcome[] = {0, 0, 0, 9, 0, 0, 0, 0, 0x84, 2, 2, 1, 0x64, 'f', 'a', 'k', 'e'};
  for (int i = 0; i < 5; i++) {
    int connection = accept(hub, NULL, NULL);
    REQUIRE(connection >= 0 && write(connection, welcome, sizeof welcome) == sizeof welcome);
    shutdown(connection, SHUT_RD); /* every further word of the app is a broken pipe */
    for (int change = 0; change < 100; change++)
      offer(app);
    close(connection);
  }
  OK(segue_release(app));
  puts("alive");
}

/** The number of entries that stays for 50 ms: what another thread is about to close may be there for a moment. */
static int settled(const char *folder) {
  int count = entries(folder);
  for (int same = 0; same < 5;) {
    usleep(10000);
    int now = entries(folder);
    same = now == count ? same + 1 : 0;
    count = now;
  }
  return count;
}

static void reopen(segue_delivery delivery, int times) {
  int descriptors = 0, threads = 0;
  size_t handles = 0;
  for (int i = 0; i < times; i++) {
    if (i == 10) { /* what is made once and kept has been made by now */
      descriptors = settled("/proc/self/fd");
      threads = settled("/proc/self/task");
      OK(segue_debug_live_handles(&handles));
    }
    segue_app *app = create(delivery);
    OK(segue_app_open(app));
    if (i % 3 != 0)
      offer(app);
    if (i % 3 == 2 && delivery == SEGUE_DELIVER_HOST)
      wait_until_ready(app);
    if (i % 2)
      OK(segue_app_close(app));
    OK(segue_release(app));
  }
  size_t left = 0;
  OK(segue_debug_live_handles(&left));
  REQUIRE(left == handles && left == 1); /* the delegate */
  REQUIRE(settled("/proc/self/fd") == descriptors);
  REQUIRE(settled("/proc/self/task") == threads);
  printf("%d\n", times);
}

int main(int count, char **arguments) {
  const char *what = count > 1 ? arguments[1] : "";
  if (strcmp(what, "quiet") == 0)
    quiet();
  else if (strcmp(what, "pipe") == 0)
    broken_pipe();
  else if (strcmp(what, "reopen") == 0 && count == 4)
    reopen(strcmp(arguments[2], "thread") == 0 ? SEGUE_DELIVER_THREAD : SEGUE_DELIVER_HOST, atoi(arguments[3]));
  else
    return 2;
  return 0;
}
