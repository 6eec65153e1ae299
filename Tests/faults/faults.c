/* SPDX-License-Identifier: Apache-2.0 */
/* Twenty scenarios, each run once for every system call that it makes, with that one call failing: it must then either
 * end as it should, or fail with an error, and as it should when tried again; in time, and with nothing left behind.
 *
 *     faults SCENARIO|all FIRST STEP VARIANTS   calls FIRST, FIRST + STEP, ..., each in so many ways; 0 as STEP: none fails
 *
 * One process is hub, origin and receiver. Each run is in a child of its own, forked before the library is used. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <segue.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

#define NUL SEGUE_NUL_TERMINATED
#define TYPE "com.example.editing"
/* Milliseconds in which a scenario comes to its end although something failed. */
#define PATIENCE 8000

static char run_name[256];

#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      char message[SEGUE_MESSAGE_SIZE] = "";                                                                           \
      segue_last_error(message, sizeof message);                                                                       \
      fprintf(stderr, "%s, %s failed: line %d: %s (%s)\n", run_name, fault_where(), __LINE__, #condition, message);    \
      _exit(1);                                                                                                        \
    }                                                                                                                  \
  } while (0)
#define OK(call) REQUIRE((call) == SEGUE_OK)

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* An app and what it was told. */
struct side {
  segue_app *app;
  segue_app_delegate *delegate;
  segue_activity_delegate *watcher;
  segue_activity *activity;  /* that it offers */
  segue_activity *continued; /* that it has continued last */
  segue_continuation *unanswered;
  segue_save *unsaved;
  bool by_thread, is_open;
  segue_reply save_reply, continue_reply;
  bool declines;
  int restorables;
  atomic_int ready, appeared, changed, gone, announced, arrived, failed, saves, moved, ended, restored, explained;
  atomic_int destroyed;
  atomic_int last_status;  /* of did_fail */
  atomic_int last_outcome; /* of a receipt */
};

#define SIDE                                                                                                           \
  { .save_reply = SEGUE_REPLY_YES, .continue_reply = SEGUE_REPLY_YES }
static const struct side fresh = SIDE;
static struct side origin = SIDE, receiver = SIDE;

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)app;
  ((struct side *)context)->ready += connection == SEGUE_CONNECTION_READY;
}

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  struct side *self = context;
  (void)app, (void)offer;
  self->appeared += event == SEGUE_OFFER_APPEARED;
  self->changed += event == SEGUE_OFFER_CHANGED;
  self->gone += event == SEGUE_OFFER_GONE;
}

static bool will_continue(void *context, segue_app *app, const char *type, size_t length, segue_continuation *one) {
  struct side *self = context;
  (void)app, (void)type, (void)length;
  self->announced++;
  if (self->declines)
    OK(segue_continuation_decline(one, "not now", NUL));
  return true;
}

static bool restore(void *context, segue_activity *activity) {
  (void)activity;
  ((struct side *)context)->restored++;
  return true;
}

static void destroyed(void *context) { ((struct side *)context)->destroyed++; }

static void hand_over(struct side *self, segue_continuation *one) {
  segue_restorable *objects[4];
  for (int i = 0; i < self->restorables; i++)
    OK(segue_restorable_create(restore, self, destroyed, &objects[i]));
  if (self->restorables > 0)
    OK(segue_continuation_restore(one, objects, (size_t)self->restorables));
  for (int i = 0; i < self->restorables; i++)
    OK(segue_restorable_release(objects[i]));
}

static segue_reply on_continue(void *context, segue_app *app, segue_activity *activity, segue_continuation *one) {
  struct side *self = context;
  (void)app;
  OK(segue_activity_retain(activity));
  segue_activity_release(self->continued);
  self->continued = activity;
  hand_over(self, one);
  if (self->continue_reply == SEGUE_REPLY_LATER) {
    segue_continuation_release(self->unanswered);
    OK(segue_continuation_retain(self->unanswered = one));
  }
  self->arrived++;
  return self->continue_reply;
}

static void did_fail(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                     segue_continuation *one) {
  struct side *self = context;
  (void)app, (void)type, (void)length, (void)one;
  segue_status status = SEGUE_OK;
  OK(segue_error_get_status(error, &status));
  self->last_status = status;
  self->failed++;
}

static segue_reply will_save(void *context, segue_activity *activity, segue_save *save) {
  struct side *self = context;
  OK(segue_activity_set_payload_version(activity, 2));
  if (self->save_reply == SEGUE_REPLY_LATER) {
    segue_save_release(self->unsaved);
    OK(segue_save_retain(self->unsaved = save));
  }
  self->saves++;
  return self->save_reply;
}

static void was_continued(void *context, segue_activity *activity, segue_receipt *receipt) {
  (void)activity, (void)receipt;
  ((struct side *)context)->moved++;
}

static void continuation_ended(void *context, segue_activity *activity, segue_receipt *receipt) {
  struct side *self = context;
  (void)activity;
  segue_outcome outcome = 0;
  OK(segue_receipt_get_outcome(receipt, &outcome));
  self->last_outcome = outcome;
  self->ended++;
}

static void explained(void *context, segue_app *app, const segue_value *reasons) {
  (void)app, (void)reasons;
  ((struct side *)context)->explained++;
}

/* Opening is where the system may refuse something: the error says so, and the next attempt succeeds. */

static void open_side(struct side *self, const char *name) {
  OK(segue_app_create(name, NUL, &self->app));
  OK(segue_app_set_team_identifier(self->app, "T", NUL));
  OK(segue_app_add_activity_type(self->app, TYPE, NUL));
  OK(segue_app_set_delivery(self->app, self->by_thread ? SEGUE_DELIVER_THREAD : SEGUE_DELIVER_HOST));
  OK(segue_app_delegate_create(self, destroyed, &self->delegate));
  OK(segue_app_delegate_on_connection(self->delegate, on_connection));
  OK(segue_app_delegate_on_offer(self->delegate, on_offer));
  OK(segue_app_delegate_on_will_continue(self->delegate, will_continue));
  OK(segue_app_delegate_on_continue(self->delegate, on_continue));
  OK(segue_app_delegate_on_did_fail(self->delegate, did_fail));
  OK(segue_app_set_delegate(self->app, self->delegate));
  OK(segue_activity_delegate_create(self, destroyed, &self->watcher));
  OK(segue_activity_delegate_on_will_save(self->watcher, will_save));
  OK(segue_activity_delegate_on_was_continued(self->watcher, was_continued));
  OK(segue_activity_delegate_on_continuation_ended(self->watcher, continuation_ended));
  segue_status status = segue_app_open(self->app);
  if (status != SEGUE_OK) {
    REQUIRE(status == SEGUE_ERROR_SYSTEM && fault_fired());
    OK(segue_app_open(self->app));
  }
  self->is_open = true;
}

static void close_side(struct side *self) {
  OK(segue_app_close(self->app));
  self->is_open = false;
}

static void release_side(struct side *self) {
  if (!self->app)
    return;
  if (self->is_open)
    close_side(self);
  segue_activity_release(self->activity);
  segue_activity_release(self->continued);
  segue_continuation_release(self->unanswered);
  segue_save_release(self->unsaved);
  OK(segue_activity_delegate_release(self->watcher));
  OK(segue_app_delegate_release(self->delegate));
  OK(segue_app_release(self->app));
  /* R3.2 */
  REQUIRE(self->announced == self->arrived + self->failed);
  REQUIRE(self->destroyed == 2 + self->arrived * self->restorables);
  self->app = NULL;
}

/* Dispatches both until a counter has come to a value. */
static void pump(void) {
  struct pollfd descriptors[2] = {{.fd = -1, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
  struct side *sides[2] = {&origin, &receiver};
  for (int i = 0; i < 2; i++) {
    if (sides[i]->is_open && !sides[i]->by_thread)
      OK(segue_app_fd(sides[i]->app, &descriptors[i].fd));
  }
  poll(descriptors, 2, origin.by_thread || receiver.by_thread ? 1 : 100);
  for (int i = 0; i < 2; i++) {
    if (descriptors[i].revents)
      OK(segue_app_dispatch(sides[i]->app, 0, NULL));
  }
}

static bool comes(atomic_int *counter, int value) {
  double end = milliseconds() + PATIENCE;
  while (*counter < value && milliseconds() < end)
    pump();
  return *counter >= value;
}
#define AWAIT(counter, value) REQUIRE(comes(&(counter), (value)))

static void offer(struct side *self, const char *title) {
  OK(segue_activity_create(self->app, TYPE, NUL, &self->activity));
  OK(segue_activity_set_delegate(self->activity, self->watcher));
  OK(segue_activity_set_title(self->activity, title, NUL));
  OK(segue_activity_become_current(self->activity));
}

/** Two apps, of which one offers what the other sees. */
static void open_both(void) {
  open_side(&receiver, "com.example.receiver");
  open_side(&origin, "com.example.origin");
  AWAIT(receiver.ready, 1);
  AWAIT(origin.ready, 1);
  offer(&origin, "one");
  AWAIT(receiver.appeared, 1);
}

static segue_offer *first_offer(void) {
  double end = milliseconds() + PATIENCE;
  for (;;) {
    segue_offer *offer = NULL;
    size_t count = 0;
    OK(segue_app_get_offers(receiver.app, &offer, 1, &count));
    if (count > 0)
      return offer;
    REQUIRE(milliseconds() < end);
    pump();
  }
}

static segue_continuation *begin(void) {
  segue_offer *offer = first_offer();
  segue_continuation *continuation;
  OK(segue_app_continue(receiver.app, offer, 0, &continuation));
  OK(segue_offer_release(offer));
  return continuation;
}

/** Continues until it succeeds: once, or twice if what failed made the first attempt fail. */
static void continue_one(void) {
  int arrived = receiver.arrived;
  for (int attempt = 0; receiver.arrived == arrived; attempt++) {
    REQUIRE(attempt < 2);
    REQUIRE(attempt == 0 || fault_fired());
    int over = receiver.arrived + receiver.failed;
    OK(segue_continuation_release(begin()));
    double end = milliseconds() + PATIENCE;
    while (receiver.arrived + receiver.failed == over && milliseconds() < end)
      pump();
    REQUIRE(receiver.arrived + receiver.failed == over + 1);
  }
}

static bool is_connection_trouble(int status) {
  return status == SEGUE_ERROR_CONNECTION_UNAVAILABLE || status == SEGUE_ERROR_HANDOFF_FAILED;
}

/* The scenarios. */

static void opening(void) {
  open_side(&origin, "com.example.one");
  AWAIT(origin.ready, 1);
}

static void opening_by_thread(void) {
  origin.by_thread = true;
  opening();
}

static void opening_again(void) {
  for (int i = 0; i < 3; i++) {
    opening();
    release_side(&origin);
    origin = fresh;
  }
}

static void offering(void) { open_both(); }

static void offering_by_thread(void) {
  origin.by_thread = receiver.by_thread = true;
  open_both();
}

static void changing(void) {
  open_both();
  OK(segue_activity_set_title(origin.activity, "two", NUL));
  AWAIT(receiver.changed, 1);
  OK(segue_app_set_foreground(origin.app, false));
  OK(segue_app_set_foreground(origin.app, true));
  OK(segue_activity_resign_current(origin.activity));
  AWAIT(receiver.gone, 1);
  OK(segue_activity_become_current(origin.activity));
  AWAIT(receiver.appeared, 2);
}

static void continuing(void) {
  open_both();
  continue_one();
  AWAIT(origin.ended, 1);
}

static void continuing_by_thread(void) {
  origin.by_thread = receiver.by_thread = true;
  continuing();
}

static void continuing_twice(void) {
  open_both();
  continue_one();
  AWAIT(origin.ended, 1);
  continue_one();
  AWAIT(origin.ended, 2);
}

static void continuing_much(void) {
  open_side(&receiver, "com.example.receiver");
  open_side(&origin, "com.example.origin");
  OK(segue_activity_create(origin.app, TYPE, NUL, &origin.activity));
  OK(segue_activity_set_delegate(origin.activity, origin.watcher));
  static uint8_t cbor[200 * 1024 + 8] = {0xa1, 0x61, 'd', 0x5a, 0, 3, 0x20, 0};
  OK(segue_activity_set_user_info_cbor(origin.activity, cbor, sizeof cbor));
  OK(segue_activity_become_current(origin.activity));
  AWAIT(receiver.appeared, 1);
  continue_one();
  uint8_t *bytes = NULL;
  size_t length = 0;
  OK(segue_activity_get_user_info_cbor(receiver.continued, &bytes, &length));
  REQUIRE(length == sizeof cbor && memcmp(bytes, cbor, length) == 0);
  segue_free(bytes);
  AWAIT(origin.ended, 1);
}

static void answering_later(void) {
  origin.save_reply = receiver.continue_reply = SEGUE_REPLY_LATER;
  open_both();
  segue_continuation *continuation = begin();
  for (int attempt = 0; receiver.arrived == 0; attempt++) {
    REQUIRE(attempt < 2);
    double end = milliseconds() + PATIENCE;
    while (receiver.arrived + receiver.failed == attempt && milliseconds() < end) {
      pump();
      if (origin.unsaved)
        segue_save_complete(origin.unsaved);
    }
    REQUIRE(receiver.arrived + receiver.failed == attempt + 1);
    if (receiver.arrived == 0) {
      REQUIRE(fault_fired());
      OK(segue_continuation_release(continuation));
      continuation = begin();
    }
  }
  OK(segue_continuation_release(continuation));
  OK(segue_continuation_complete(receiver.unanswered, true));
  AWAIT(origin.ended, 1);
}

static void restoring(void) {
  receiver.restorables = 3;
  open_both();
  continue_one();
  AWAIT(receiver.restored, 3);
  AWAIT(origin.ended, 1);
}

static void not_handling(void) {
  open_both();
  receiver.continue_reply = SEGUE_REPLY_NO;
  OK(segue_continuation_release(begin()));
  double end = milliseconds() + PATIENCE;
  while (origin.ended + receiver.failed == 0 && milliseconds() < end)
    pump();
  /* If the origin's connection is lost before it is asked, it hears nothing. */
  REQUIRE(origin.ended == 1 || (fault_fired() && is_connection_trouble(receiver.last_status)));
  REQUIRE(origin.moved == 0);
}

static void declining(void) {
  receiver.declines = true;
  open_both();
  OK(segue_continuation_release(begin()));
  AWAIT(receiver.failed, 1);
  REQUIRE(receiver.last_status == SEGUE_ERROR_DECLINED);
  REQUIRE(origin.saves == 0);
}

static void cancelling(void) {
  origin.save_reply = SEGUE_REPLY_LATER;
  open_both();
  segue_continuation *continuation = begin();
  AWAIT(receiver.announced, 1);
  OK(segue_continuation_cancel(continuation));
  AWAIT(receiver.failed, 1);
  REQUIRE(receiver.last_status == SEGUE_ERROR_USER_CANCELLED || is_connection_trouble(receiver.last_status));
  OK(segue_continuation_release(continuation));
}

static void replacing(void) {
  origin.save_reply = SEGUE_REPLY_LATER;
  open_both();
  OK(segue_continuation_release(begin()));
  AWAIT(receiver.announced, 1);
  origin.save_reply = SEGUE_REPLY_YES;
  OK(segue_continuation_release(begin()));
  AWAIT(receiver.failed, 1);
  AWAIT(receiver.announced, 2);
  double end = milliseconds() + PATIENCE;
  while (receiver.arrived + receiver.failed < 2 && milliseconds() < end) {
    pump();
    if (origin.unsaved)
      segue_save_complete(origin.unsaved);
  }
  REQUIRE(receiver.arrived + receiver.failed == 2);
}

static void origin_closing(void) {
  origin.save_reply = SEGUE_REPLY_LATER;
  open_both();
  OK(segue_continuation_release(begin()));
  AWAIT(receiver.announced, 1);
  close_side(&origin);
  AWAIT(receiver.gone, 1);
  double end = milliseconds() + PATIENCE;
  while (receiver.arrived + receiver.failed == 0 && milliseconds() < end)
    pump();
  REQUIRE(receiver.arrived + receiver.failed == 1);
  REQUIRE(receiver.arrived == 1 || is_connection_trouble(receiver.last_status));
}

static void receiver_closing(void) {
  origin.save_reply = SEGUE_REPLY_LATER;
  open_both();
  OK(segue_continuation_release(begin()));
  AWAIT(receiver.announced, 1);
  close_side(&receiver);
  REQUIRE(receiver.failed == 1 && receiver.arrived == 0);
}

static void invalidating(void) {
  origin.save_reply = SEGUE_REPLY_LATER;
  open_both();
  OK(segue_continuation_release(begin()));
  AWAIT(receiver.announced, 1);
  OK(segue_activity_invalidate(origin.activity));
  AWAIT(receiver.failed, 1);
  AWAIT(receiver.gone, 1);
  REQUIRE(is_connection_trouble(receiver.last_status));
}

static void not_saving(void) {
  OK(segue_limit_set(SEGUE_LIMIT_SAVE_MS, 30));
  origin.save_reply = SEGUE_REPLY_LATER;
  open_both();
  OK(segue_continuation_release(begin()));
  AWAIT(receiver.failed, 1);
  REQUIRE(receiver.last_status == SEGUE_ERROR_REMOTE_APPLICATION_TIMED_OUT ||
          (fault_fired() && is_connection_trouble(receiver.last_status)));
}

static void moving_back(void) {
  open_both();
  continue_one();
  OK(segue_activity_invalidate(origin.activity));
  OK(segue_activity_set_delegate(receiver.continued, receiver.watcher));
  OK(segue_activity_become_current(receiver.continued));
  AWAIT(origin.appeared, 1);
}

static void explaining(void) {
  open_both();
  /* `destroy` is counted with those of the delegates. */
  OK(segue_activity_explain(origin.activity, explained, &origin, NULL));
  AWAIT(origin.explained, 1);
}

/* Another process is the hub, and goes: this one takes over, and its two apps go on. */
static void hub_moving(void) {
  int words[2], sayings[2];
  REQUIRE(pipe2(words, O_CLOEXEC) == 0 && pipe2(sayings, O_CLOEXEC) == 0);
  pid_t hub = vfork();
  if (hub == 0) {
    dup2(words[0], 0);
    dup2(sayings[1], 1);
    unsetenv("LD_PRELOAD");
    execl(getenv("PARTICIPANT"), "participant", "com.example.hub", (char *)NULL);
    _exit(1);
  }
  close(words[0]);
  close(sayings[1]);
  char said[4096] = "";
  for (size_t used = 0; !strstr(said, "connection ready");) {
    ssize_t count = read(sayings[0], said + used, sizeof said - 1 - used);
    REQUIRE(count > 0);
    said[used += (size_t)count] = '\0';
  }
  open_both();
  kill(hub, SIGKILL);
  waitpid(hub, NULL, 0);
  close(words[1]);
  close(sayings[0]);
  /* If a visit to that hub failed, this process has been the hub before. */
  if (!fault_fired()) {
    AWAIT(receiver.ready, 2);
    AWAIT(origin.ready, 2);
  }
  continue_one();
  AWAIT(origin.ended, 1);
}

static const struct scenario {
  const char *name;
  void (*run)(void);
} scenarios[] = {
    {"opening", opening},
    {"opening_by_thread", opening_by_thread},
    {"opening_again", opening_again},
    {"offering", offering},
    {"offering_by_thread", offering_by_thread},
    {"changing", changing},
    {"continuing", continuing},
    {"continuing_by_thread", continuing_by_thread},
    {"continuing_twice", continuing_twice},
    {"continuing_much", continuing_much},
    {"answering_later", answering_later},
    {"restoring", restoring},
    {"not_handling", not_handling},
    {"declining", declining},
    {"cancelling", cancelling},
    {"replacing", replacing},
    {"origin_closing", origin_closing},
    {"receiver_closing", receiver_closing},
    {"invalidating", invalidating},
    {"not_saving", not_saving},
    {"moving_back", moving_back},
    {"explaining", explaining},
    {"hub_moving", hub_moving},
};

static int count_entries(const char *folder) {
  int count = 0;
  DIR *entries = opendir(folder);
  REQUIRE(entries);
  while (readdir(entries))
    count++;
  closedir(entries);
  return count;
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
  release_side(&origin);
  origin = fresh;
  int descriptors = count_entries("/proc/self/fd");
  double began = milliseconds();
  /* If an answer is lost with its connection, the origin knows no more by then (R3.6). */
  OK(segue_limit_set(SEGUE_LIMIT_CONTINUATION_MS, 3000));
  fault_arm(n, variant);
  scenario->run();
  long calls = fault_calls();
  release_side(&receiver);
  release_side(&origin);
  bool fired = fault_fired();
  fault_arm(0, 0);
  size_t handles = 0;
  OK(segue_debug_live_handles(&handles));
  REQUIRE(handles == 0);
  REQUIRE(count_entries("/proc/self/fd") == descriptors);
  REQUIRE(count_entries("/proc/self/task") == 3);
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

/* Runs under way: most of their time they wait for what is tried again later. */
#define AT_ONCE 12
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
