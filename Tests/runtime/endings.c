/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Ends at odd moments, in one process that is hub, origin and receiver at once. The command line names the test; it
 * prints nothing and exits with 0, or prints what is wrong. */
#include <errno.h>
#include <signal.h>

#include "../participant.h"

static struct participant origin, receiver;

/** An origin with delivery by thread that offers what the receiver, with host delivery, sees. */
static segue_activity *open_both(void) {
  open_participant(&receiver, "com.example.receiver", SEGUE_DELIVER_HOST);
  open_participant(&origin, "com.example.origin", SEGUE_DELIVER_THREAD);
  dispatch_until(&receiver, &receiver.ready, 1);
  segue_activity *activity = offer(&origin, "one");
  dispatch_until(&receiver, &receiver.appeared, 1);
  return activity;
}

/* Objects that are passed after the app is closed are not restored, and released exactly once. */
static void restoring_after_close(void) {
  segue_activity *activity = open_both();
  segue_continuation *continuation = continue_first(&receiver);
  dispatch_until(&receiver, &receiver.arrived, 1);
  OK(segue_app_close(receiver.app));
  static struct participant object;
  segue_restorable *restorable;
  OK(segue_restorable_create(restore, &object, destroyed, &restorable));
  for (int i = 0; i < 2; i++)
    REQUIRE(segue_continuation_restore(continuation, &restorable, 1) == SEGUE_ERROR_INVALIDATED);
  REQUIRE(object.destroyed == 0);
  OK(segue_release(restorable));
  REQUIRE(object.destroyed == 1);
  OK(segue_release(continuation));
  OK(segue_release(activity));
  close_participant(&receiver);
  close_participant(&origin);
  REQUIRE(object.destroyed == 1);
}

/* R3.2: the activity is here, its callback is due, and the app closes: did_fail comes before close returns. */
static void closing_between_arrival_and_continue(void) {
  for (int i = 0; i < 20; i++) {
    memset(&origin, 0, sizeof origin);
    memset(&receiver, 0, sizeof receiver);
    segue_activity *activity = open_both();
    segue_continuation *continuation = continue_first(&receiver);
    dispatch_until(&receiver, &receiver.announced, 1);
    uint64_t received = 0, total = 0;
    while (total == 0 || received < total) /* it comes without dispatch */
      OK(segue_continuation_get_progress(continuation, &received, &total));
    close_participant(&receiver);
    REQUIRE(receiver.arrived == 0 && receiver.failed == 1);
    OK(segue_release(continuation));
    OK(segue_release(activity));
    close_participant(&origin);
  }
}

static atomic_int moved, ended;

static void move(void *context, segue_activity *activity, segue_receipt *receipt) {
  (void)context, (void)receipt;
  moved++;
  OK(segue_activity_invalidate(activity));
}

static void count_end(void *context, segue_activity *activity, segue_receipt *receipt) {
  (void)context, (void)activity;
  segue_outcome outcome;
  OK(segue_receipt_get_outcome(receipt, &outcome));
  REQUIRE(outcome == SEGUE_OUTCOME_RESTORED && moved == 1);
  ended++;
}

/* R3.6: a move, which invalidates the activity in was_continued, still gets the end of the attempt. */
static void ending_after_a_move(void) {
  segue_activity *activity = open_both();
  segue_activity_delegate *delegate;
  OK(segue_activity_delegate_create(NULL, NULL, &delegate));
  OK(segue_activity_delegate_on_was_continued(delegate, move));
  OK(segue_activity_delegate_on_continuation_ended(delegate, count_end));
  OK(segue_activity_set_delegate(activity, delegate));
  segue_continuation *continuation = continue_first(&receiver);
  dispatch_until(&receiver, &receiver.arrived, 1);
  wait_until(&ended, 1);
  REQUIRE(moved == 1 && ended == 1);
  OK(segue_release(continuation));
  OK(segue_release(delegate));
  OK(segue_release(activity));
  close_participant(&receiver);
  close_participant(&origin);
  REQUIRE(ended == 1);
}

/* Once a continuation has ended, its progress is what it was. */
static void progress_after_the_end(void) {
  segue_activity *activity = open_both();
  segue_continuation *continuation = continue_first(&receiver);
  dispatch_until(&receiver, &receiver.arrived, 1);
  for (int i = 0; i < 2; i++) {
    uint64_t received = 0, total = 0;
    OK(segue_continuation_get_progress(continuation, &received, &total));
    REQUIRE(total > 0 && received == total);
    OK(segue_app_close(receiver.app));
  }
  OK(segue_release(continuation));
  OK(segue_release(activity));
  close_participant(&receiver);
  close_participant(&origin);
}

/* R1.7: will_save is answered by another thread, perhaps at the moment at which it returns "later". A change after that
 * is not part of the save. */
static pthread_t answering;
static void *answer(void *save) {
  OK(segue_save_complete(save));
  OK(segue_release(save));
  return NULL;
}

static segue_reply saved_by_another(void *context, segue_activity *activity, segue_save *save) {
  (void)activity;
  ((struct participant *)context)->announced++; /* before the answer, which is what the test waits for */
  OK(segue_retain(save));
  REQUIRE(pthread_create(&answering, NULL, answer, save) == 0);
  return SEGUE_REPLY_LATER;
}

static void answering_will_save_elsewhere(void) {
  static struct participant saver;
  segue_activity_delegate *delegate;
  OK(segue_activity_delegate_create(&saver, destroyed, &delegate));
  OK(segue_activity_delegate_on_will_save(delegate, saved_by_another));
  segue_activity *activity = open_both();
  OK(segue_activity_set_delegate(activity, delegate));
  for (int i = 1; i <= 300; i++) {
    OK(segue_activity_set_needs_save(activity, true));
    OK(segue_release(continue_first(&receiver)));
    dispatch_until(&receiver, &receiver.arrived, i);
    pthread_join(answering, NULL);
    bool needs_save = true;
    OK(segue_activity_get_needs_save(activity, &needs_save));
    REQUIRE(!needs_save);
    OK(segue_activity_set_payload_version(activity, (uint32_t)i));
    OK(segue_activity_get_needs_save(activity, &needs_save));
    REQUIRE(needs_save);
  }
  REQUIRE(saver.announced == 300);
  OK(segue_release(activity));
  OK(segue_release(delegate));
  close_participant(&receiver);
  close_participant(&origin);
  REQUIRE(saver.destroyed == 1); /* the last callback may have returned no sooner */
}

/* Two callbacks, each on the thread of its app, close each other's app: the later call fails, and does not deadlock. */
static segue_app *pair[2];
static segue_status closed[2];
static pthread_barrier_t inside;
static atomic_int returned;

static void close_the_other(void *context, segue_app *app, segue_connection connection) {
  (void)app, (void)connection;
  int self = (int)(intptr_t)context;
  pthread_barrier_wait(&inside);
  closed[self] = segue_app_close(pair[1 - self]);
  returned++;
}

static void closing_each_other(void) {
  pthread_barrier_init(&inside, NULL, 2);
  segue_app_delegate *delegates[2];
  for (int i = 0; i < 2; i++) {
    OK(segue_app_create("com.example.mutual", NUL, &pair[i]));
    OK(segue_app_set_delivery(pair[i], SEGUE_DELIVER_THREAD));
    OK(segue_app_delegate_create((void *)(intptr_t)i, NULL, &delegates[i]));
    OK(segue_app_delegate_on_connection(delegates[i], close_the_other));
    OK(segue_app_set_delegate(pair[i], delegates[i]));
  }
  for (int i = 0; i < 2; i++)
    OK(segue_app_open(pair[i]));
  wait_until(&returned, 2);
  int later = closed[0] == SEGUE_OK;
  REQUIRE(closed[later] == SEGUE_ERROR_BUSY && closed[1 - later] == SEGUE_OK);
  for (int i = 0; i < 2; i++) {
    OK(segue_release(pair[i]));
    OK(segue_release(delegates[i]));
  }
}

/* The same, where each callback releases the last handle of the other app: both close in the end. */
static void release_the_other(void *context, segue_app *app, segue_connection connection) {
  struct participant *self = context;
  (void)app;
  if (connection != SEGUE_CONNECTION_READY)
    return;
  pthread_barrier_wait(&inside);
  OK(segue_release(self == &origin ? receiver.app : origin.app));
  self->ready++;
}

static void releasing_each_other(void) {
  pthread_barrier_init(&inside, NULL, 2);
  struct participant *apps[2] = {&origin, &receiver};
  for (int i = 0; i < 2; i++) {
    OK(segue_app_create("com.example.mutual", NUL, &apps[i]->app));
    OK(segue_app_set_delivery(apps[i]->app, SEGUE_DELIVER_THREAD));
    OK(segue_app_delegate_create(apps[i], destroyed, &apps[i]->delegate));
    OK(segue_app_delegate_on_connection(apps[i]->delegate, release_the_other));
    OK(segue_app_set_delegate(apps[i]->app, apps[i]->delegate));
  }
  for (int i = 0; i < 2; i++)
    OK(segue_app_open(apps[i]->app));
  for (int i = 0; i < 2; i++)
    wait_until(&apps[i]->ready, 1);
  for (int i = 0; i < 2; i++)
    OK(segue_release(apps[i]->delegate));
  for (int i = 0; i < 2; i++)
    wait_until(&apps[i]->destroyed, 1);
}

/* A signal handler leaves errno as it was, also if the descriptor is as readable as can be, or the handle is none. */
static void waking_keeps_errno(void) {
  open_participant(&receiver, "com.example.waking", SEGUE_DELIVER_HOST);
  int fd = -1;
  OK(segue_app_fd(receiver.app, &fd));
  uint64_t most = UINT64_MAX - 1;
  REQUIRE(write(fd, &most, sizeof most) == sizeof most || errno == EAGAIN);
  char before[SEGUE_MESSAGE_SIZE], after[SEGUE_MESSAGE_SIZE];
  REQUIRE(segue_app_create(NULL, 1, NULL) != SEGUE_OK);
  segue_last_error(before, sizeof before);
  errno = EILSEQ;
  segue_status good = segue_app_wake(receiver.app);
  segue_status bad = segue_app_wake((segue_app *)&receiver);
  REQUIRE(errno == EILSEQ && good == SEGUE_OK && bad == SEGUE_ERROR_INVALID_HANDLE);
  segue_last_error(after, sizeof after);
  REQUIRE(strcmp(before, after) == 0);
  close_participant(&receiver);
}

int main(int count, char **arguments) {
  static const struct test tests[] = {
      {"restoring_after_close", restoring_after_close},
      {"closing_between_arrival_and_continue", closing_between_arrival_and_continue},
      {"ending_after_a_move", ending_after_a_move},
      {"progress_after_the_end", progress_after_the_end},
      {"answering_will_save_elsewhere", answering_will_save_elsewhere},
      {"closing_each_other", closing_each_other},
      {"releasing_each_other", releasing_each_other},
      {"waking_keeps_errno", waking_keeps_errno},
  };
  alarm(60); /* a deadlock is a failure, too */
  const char *wanted = count > 1 ? arguments[1] : "";
  return run_test(tests, sizeof tests / sizeof *tests, wanted);
}
