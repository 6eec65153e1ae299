/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads, callbacks and the ends of things, in one process that is hub, origin and receiver at once. Each test is
 * named on the command line; it says nothing and ends with 0, or says what is wrong. */
#include <poll.h>
#include <signal.h>
#include <sys/time.h>

#include "../participant.h"

/* Calls inside callbacks: all are allowed but close and dispatch. */
static segue_status in_callback[4];

static void call_inside(struct participant *self) {
  segue_activity *activity;
  in_callback[0] = segue_app_close(self->app);
  in_callback[1] = segue_app_dispatch(self->app, 0, NULL);
  in_callback[2] = segue_activity_create(self->app, TYPE, NUL, &activity);
  in_callback[3] = segue_activity_become_current(activity);
  OK(segue_release(activity));
}

static void calls_inside_callbacks(void) {
  static const segue_delivery deliveries[] = {SEGUE_DELIVER_HOST, SEGUE_DELIVER_THREAD};
  for (int i = 0; i < 2; i++) {
    static struct participant apps[2];
    struct participant *self = &apps[i];
    self->inside = call_inside;
    open_participant(self, "com.example.inside", deliveries[i]);
    if (deliveries[i] == SEGUE_DELIVER_HOST)
      dispatch_until(self, &self->ready, 1);
    else
      wait_until(&self->ready, 1);
    REQUIRE(in_callback[0] == SEGUE_ERROR_BUSY && in_callback[1] == SEGUE_ERROR_BUSY);
    REQUIRE(in_callback[2] == SEGUE_OK && in_callback[3] == SEGUE_OK);
    close_participant(self);
  }
}

/* Delivery by a thread of the app's own: it is no thread of ours, and always the same. */
static void delivery_by_thread(void) {
  static struct participant origin, receiver;
  open_participant(&origin, "com.example.origin", SEGUE_DELIVER_THREAD);
  open_participant(&receiver, "com.example.receiver", SEGUE_DELIVER_THREAD);
  int fd = -1;
  REQUIRE(segue_app_fd(origin.app, &fd) == SEGUE_ERROR_INVALID_STATE && fd == -1);
  REQUIRE(segue_app_dispatch(origin.app, 0, NULL) == SEGUE_ERROR_INVALID_STATE);
  wait_until(&receiver.ready, 1);
  pthread_t first = receiver.thread;
  REQUIRE(!pthread_equal(first, pthread_self()));
  segue_activity *activity = offer(&origin, "one");
  wait_until(&receiver.appeared, 1);
  for (int i = 1; i <= 20; i++) {
    OK(segue_release(continue_first(&receiver)));
    wait_until(&receiver.arrived, i);
    REQUIRE(pthread_equal(first, receiver.thread));
  }
  REQUIRE(receiver.announced == 20 && receiver.failed == 0);
  OK(segue_release(activity));
  close_participant(&receiver);
  close_participant(&origin);
}

struct dispatching {
  segue_app *app;
  segue_status status;
  size_t delivered;
};

static void *dispatch_elsewhere(void *context) {
  struct dispatching *self = context;
  do /* the thread that waits for it to wait asks now and then itself */
    self->status = segue_app_dispatch(self->app, -1, &self->delivered);
  while (self->status == SEGUE_ERROR_BUSY);
  return NULL;
}

/** A thread that waits in dispatch: BUSY shows that it waits. */
static pthread_t wait_elsewhere(struct dispatching *self, segue_app *app) {
  *self = (struct dispatching){.app = app};
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, dispatch_elsewhere, self) == 0);
  while (segue_app_dispatch(app, 0, NULL) != SEGUE_ERROR_BUSY)
    sched_yield();
  return thread;
}

/* One thread at a time is in dispatch; wake makes it return, from a thread and from a signal handler. */
static segue_app *woken_by_signal;
static void on_alarm(int number) {
  (void)number;
  segue_app_wake(woken_by_signal);
}

static void waking(void) {
  static struct participant self;
  open_participant(&self, "com.example.waking", SEGUE_DELIVER_HOST);
  dispatch_until(&self, &self.ready, 1);
  struct dispatching waiter;
  pthread_t thread = wait_elsewhere(&waiter, self.app);
  OK(segue_app_wake(self.app));
  pthread_join(thread, NULL);
  REQUIRE(waiter.status == SEGUE_OK && waiter.delivered == 0);
  OK(segue_app_wake(self.app)); /* nobody waits: the next does not */
  size_t delivered = 1;
  OK(segue_app_dispatch(self.app, -1, &delivered));
  REQUIRE(delivered == 0);
  woken_by_signal = self.app;
  signal(SIGALRM, on_alarm);
  struct itimerval soon = {.it_value.tv_usec = 20000};
  setitimer(ITIMER_REAL, &soon, NULL);
  OK(segue_app_dispatch(self.app, -1, &delivered));
  REQUIRE(delivered == 0);
  close_participant(&self);
}

/* Close makes a thread that waits in dispatch return, and waits for it. */
static void closing_while_another_waits(void) {
  for (int i = 0; i < 20; i++) {
    struct participant *self = calloc(1, sizeof *self);
    open_participant(self, "com.example.closing", SEGUE_DELIVER_HOST);
    dispatch_until(self, &self->ready, 1);
    struct dispatching waiter;
    pthread_t thread = wait_elsewhere(&waiter, self->app);
    close_participant(self);
    pthread_join(thread, NULL);
    REQUIRE(waiter.status == SEGUE_OK || waiter.status == SEGUE_ERROR_INVALIDATED);
    free(self);
  }
}

static bool readable(int fd, int timeout) {
  struct pollfd one = {.fd = fd, .events = POLLIN};
  return poll(&one, 1, timeout) == 1;
}

/* The descriptor is readable while there is something to dispatch, and only then. */
static void descriptor(void) {
  static struct participant origin, receiver;
  open_participant(&receiver, "com.example.receiver", SEGUE_DELIVER_HOST);
  int fd = -1;
  OK(segue_app_fd(receiver.app, &fd));
  REQUIRE(readable(fd, 5000));
  dispatch_until(&receiver, &receiver.ready, 1);
  REQUIRE(!readable(fd, 0));
  open_participant(&origin, "com.example.origin", SEGUE_DELIVER_THREAD);
  segue_activity *activity = offer(&origin, "one");
  for (int i = 0; i < 3; i++) {
    REQUIRE(readable(fd, 5000)); /* it stays so until dispatch */
  }
  dispatch_until(&receiver, &receiver.appeared, 1);
  REQUIRE(!readable(fd, 0));
  size_t delivered = 1;
  OK(segue_app_dispatch(receiver.app, 0, &delivered));
  REQUIRE(delivered == 0);
  OK(segue_app_wake(receiver.app));
  REQUIRE(readable(fd, 0));
  OK(segue_app_dispatch(receiver.app, 0, &delivered));
  REQUIRE(delivered == 0 && !readable(fd, 0));
  OK(segue_release(activity));
  close_participant(&origin);
  close_participant(&receiver);
}

/* Timeouts of dispatch are kept. */
static void timeouts(void) {
  static struct participant self;
  open_participant(&self, "com.example.timeouts", SEGUE_DELIVER_HOST);
  dispatch_until(&self, &self.ready, 1);
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  size_t delivered = 1;
  OK(segue_app_dispatch(self.app, 50, &delivered));
  clock_gettime(CLOCK_MONOTONIC, &after);
  long took = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
  REQUIRE(delivered == 0 && took >= 49 && took < 10000);
  close_participant(&self);
}

/* The last handle of an app goes inside one of its callbacks: it closes once that has returned. */
static void release_inside(void *context, segue_app *app, segue_connection connection) {
  (void)connection;
  ((struct participant *)context)->ready++;
  OK(segue_release(app));
}

static void last_release_inside_a_callback(void) {
  static const segue_delivery deliveries[] = {SEGUE_DELIVER_HOST, SEGUE_DELIVER_THREAD};
  for (int i = 0; i < 2; i++) {
    static struct participant apps[2];
    struct participant *self = &apps[i];
    OK(segue_app_create("com.example.release", NUL, &self->app));
    OK(segue_app_set_delivery(self->app, deliveries[i]));
    OK(segue_app_delegate_create(self, destroyed, &self->delegate));
    OK(segue_app_delegate_on_connection(self->delegate, release_inside));
    OK(segue_app_set_delegate(self->app, self->delegate));
    OK(segue_app_open(self->app));
    if (deliveries[i] == SEGUE_DELIVER_HOST)
      dispatch_until(self, &self->ready, 1);
    else
      wait_until(&self->ready, 1);
    REQUIRE(segue_release(self->app) == SEGUE_ERROR_INVALID_HANDLE);
    OK(segue_release(self->delegate));
    wait_until(&self->destroyed, 1);
  }
}

/* A released delegate is detached: its context is destroyed, and its callbacks never run again (R1.15). */
static void released_delegate(void) {
  static struct participant self;
  open_participant(&self, "com.example.detached", SEGUE_DELIVER_HOST);
  OK(segue_release(self.delegate));
  REQUIRE(self.destroyed == 1);
  OK(segue_app_dispatch(self.app, 100, NULL));
  REQUIRE(self.ready == 0 && self.destroyed == 1);
  OK(segue_release(self.app));
  REQUIRE(self.destroyed == 1);
  OK(segue_release(self.watcher));
}

static void *dispatch_for_ever(void *context) {
  struct participant *self = context;
  for (;;)
    segue_app_dispatch(self->app, -1, NULL);
  return NULL;
}

/* pthread_cancel takes effect when the call returns, in a thread that does nothing but dispatch: the app is then free,
 * and can be used and closed. */
static void cancelled_in_dispatch(void) {
  static struct participant side;
  for (int i = 0; i < 50; i++) {
    open_participant(&side, "com.example.cancelled", SEGUE_DELIVER_HOST);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, dispatch_for_ever, &side) == 0);
    if (i % 2 == 0)
      wait_until(&side.ready, 1);
    REQUIRE(pthread_cancel(thread) == 0);
    OK(segue_app_wake(side.app));
    void *result = NULL;
    REQUIRE(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    REQUIRE(segue_app_dispatch(side.app, 0, NULL) == SEGUE_OK);
    close_participant(&side);
    side = (struct participant){0};
  }
}

/* Cancelled before it begins: each call that opens, writes or closes a file would otherwise end in the middle. */
static atomic_bool has_finished;

static void *call_while_cancelled(void *context) {
  struct participant *self = context;
  char message[SEGUE_MESSAGE_SIZE];
  segue_activity *activity;
  OK(segue_activity_create(self->app, TYPE, NUL, &activity));
  REQUIRE(pthread_cancel(pthread_self()) == 0);
  OK(segue_activity_attach_file(activity, "file", NUL, "/proc/self/exe", NUL));
  OK(segue_activity_attach_bytes(activity, "bytes", NUL, (const uint8_t *)message, sizeof message));
  REQUIRE(segue_activity_attach_file(activity, "none", NUL, "/dev/null/none", NUL) == SEGUE_ERROR_SYSTEM);
  OK(segue_activity_set_delegate(activity, self->watcher));
  OK(segue_activity_become_current(activity));
  OK(segue_activity_set_needs_save(activity, true));
  OK(segue_app_wake(self->app));
  OK(segue_release(activity));
  OK(segue_app_close(self->app));
  has_finished = true;
  pthread_testcancel();
  return NULL;
}

static void cancelled_in_other_calls(void) {
  static struct participant side;
  open_participant(&side, "com.example.cancelled", SEGUE_DELIVER_HOST);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, call_while_cancelled, &side) == 0);
  void *result = NULL;
  REQUIRE(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
  REQUIRE(has_finished);
  close_participant(&side);
  size_t handles = 1;
  OK(segue_debug_live_handles(&handles));
  REQUIRE(handles == 0);
}

static void *on_little_stack(void *unused) {
  (void)unused;
  calls_inside_callbacks();
  return NULL;
}

/* 64 KiB are enough for a thread that calls. */
static void little_stack(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  REQUIRE(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 * 1024) == 0);
  REQUIRE(pthread_create(&thread, &attributes, on_little_stack, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
}

int main(int count, char **arguments) {
  static const struct test tests[] = {
      {"calls_inside_callbacks", calls_inside_callbacks},
      {"delivery_by_thread", delivery_by_thread},
      {"waking", waking},
      {"closing_while_another_waits", closing_while_another_waits},
      {"descriptor", descriptor},
      {"timeouts", timeouts},
      {"last_release_inside_a_callback", last_release_inside_a_callback},
      {"released_delegate", released_delegate},
      {"cancelled_in_dispatch", cancelled_in_dispatch},
      {"cancelled_in_other_calls", cancelled_in_other_calls},
      {"little_stack", little_stack},
  };
  alarm(120); /* a deadlock is a failure, too; SIGALRM ends the process unless a test has taken it */
  const char *wanted = count > 1 ? arguments[1] : "";
  return run_test(tests, sizeof tests / sizeof *tests, wanted);
}
