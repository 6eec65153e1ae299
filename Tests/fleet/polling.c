// SPDX-License-Identifier: Apache-2.0
// Programs with their own event loop and threads on a virtual fleet, unchanged: callbacks run in their loop, and the
// fleet waits for answers of other threads.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <segue.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TYPE "com.example.note"
#define CHECK(call) assert((call) == SEGUE_OK)

struct program {
  segue_fleet *fleet;
  segue_app *app;
  segue_activity *activity;
  segue_activity *continued;
  segue_app_delegate *delegate;
  segue_activity_delegate *activityDelegate;
  pthread_t thread;
  int fd;
  int told;
  bool isDispatching;
  bool answersLater;
  bool cancels;
  bool isWithoutLoop;
  atomic_bool stops;
  atomic_bool hasContinued;
};

static void note(struct program *program) {
  bool busy;
  assert(program->isDispatching);
  // A fleet does not move around a callback.
  assert(segue_fleet_run(program->fleet, NULL) == SEGUE_ERROR_BUSY);
  assert(segue_fleet_wait(program->fleet, 0, &busy) == SEGUE_ERROR_BUSY);
  program->told++;
  if (!program->cancels)
    return;
  program->cancels = false;
  assert(pthread_cancel(pthread_self()) == 0);
  pthread_testcancel();
}

static void onOffer(void *context, segue_app *app, int event, segue_offer *offer) {
  (void)app, (void)event, (void)offer;
  note(context);
}

static segue_reply onContinue(void *context, segue_app *app, segue_activity *activity,
                              segue_continuation *continuation) {
  struct program *program = context;
  (void)app, (void)continuation;
  note(program);
  if (program->continued == NULL) {
    CHECK(segue_activity_retain(activity));
    program->continued = activity;
  }
  program->hasContinued = true;
  return SEGUE_REPLY_YES;
}

// The fleet has nothing to do meanwhile: that is what is tried.
static void *saveLater(void *context) {
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  CHECK(segue_save_complete(context));
  CHECK(segue_save_release(context));
  return NULL;
}

static segue_reply onWillSave(void *context, segue_activity *activity, segue_save *save) {
  struct program *program = context;
  (void)activity;
  note(program);
  if (!program->answersLater)
    return SEGUE_REPLY_YES;
  CHECK(segue_save_retain(save));
  assert(pthread_create(&program->thread, NULL, saveLater, save) == 0);
  return SEGUE_REPLY_LATER;
}

static void start(struct program *program, segue_fleet *fleet, const char *name) {
  segue_fleet_device *device;
  program->fleet = fleet;
  CHECK(segue_fleet_add_device(fleet, name, SEGUE_NUL_TERMINATED, &device));
  CHECK(segue_fleet_device_create_app(device, "com.example.notes", SEGUE_NUL_TERMINATED, &program->app));
  CHECK(segue_fleet_device_release(device));
  CHECK(segue_app_add_activity_type(program->app, TYPE, SEGUE_NUL_TERMINATED));
  CHECK(segue_app_delegate_create(program, NULL, &program->delegate));
  CHECK(segue_app_delegate_on_offer(program->delegate, onOffer));
  CHECK(segue_app_delegate_on_continue(program->delegate, onContinue));
  CHECK(segue_app_set_delegate(program->app, program->delegate));
  CHECK(segue_app_open(program->app));
  if (!program->isWithoutLoop)
    CHECK(segue_app_fd(program->app, &program->fd));
}

static void edit(struct program *program) {
  CHECK(segue_activity_create(program->app, TYPE, SEGUE_NUL_TERMINATED, &program->activity));
  CHECK(segue_activity_delegate_create(program, NULL, &program->activityDelegate));
  CHECK(segue_activity_delegate_on_will_save(program->activityDelegate, onWillSave));
  CHECK(segue_activity_set_delegate(program->activity, program->activityDelegate));
  CHECK(segue_activity_become_current(program->activity));
}

static bool isReadable(struct program *program, int timeout) {
  struct pollfd watched = {.fd = program->fd, .events = POLLIN};
  return poll(&watched, 1, timeout) == 1;
}

// A turn of a loop: whether there was anything to do.
static bool turn(struct program *program, int timeout) {
  size_t count = 0;
  if (!isReadable(program, timeout))
    return false;
  program->isDispatching = true;
  CHECK(segue_app_dispatch(program->app, 0, &count));
  program->isDispatching = false;
  return true;
}

static void *loop(void *context) {
  struct program *program = context;
  while (!program->stops)
    turn(program, -1);
  return NULL;
}

static void goOn(struct program *viewer) {
  segue_offer *offer;
  segue_continuation *continuation;
  size_t count;
  CHECK(segue_app_get_offers(viewer->app, &offer, 1, &count));
  assert(count == 1);
  CHECK(segue_app_continue(viewer->app, offer, 0, &continuation));
  CHECK(segue_continuation_release(continuation));
  CHECK(segue_offer_release(offer));
}

static void end(segue_fleet *fleet, struct program *programs, int count) {
  char *violation;
  for (int i = 0; i < count; i++) {
    programs[i].isDispatching = true;
    CHECK(segue_app_close(programs[i].app));
    CHECK(segue_app_delegate_release(programs[i].delegate));
    CHECK(segue_activity_delegate_release(programs[i].activityDelegate));
    CHECK(segue_activity_release(programs[i].activity));
    CHECK(segue_activity_release(programs[i].continued));
    CHECK(segue_app_release(programs[i].app));
  }
  CHECK(segue_fleet_check(fleet, &violation, NULL));
  if (violation != NULL)
    puts(violation);
  assert(violation == NULL);
  CHECK(segue_fleet_release(fleet));
}

// One thread, two loops, and nobody told outside of them. Late: the fleet goes on for a minute before the first turn.
static void turns(bool isLate) {
  struct program programs[2] = {0};
  segue_fleet *fleet;
  CHECK(segue_fleet_create(7, &fleet));
  start(&programs[0], fleet, "phone");
  start(&programs[1], fleet, "laptop");
  edit(&programs[0]);
  for (int step = 0; step < 2; step++) {
    do {
      CHECK(segue_fleet_run(fleet, NULL));
      if (programs[1].told == 0)
        assert(isReadable(&programs[1], 0));
      if (isLate)
        CHECK(segue_fleet_advance(fleet, 60000, NULL));
      isLate = false;
    } while (turn(&programs[0], 0) | turn(&programs[1], 0));
    assert(programs[1].told > step);
    if (step == 0)
      goOn(&programs[1]);
  }
  assert(programs[1].hasContinued && programs[0].told > 0);
  assert(!isReadable(&programs[0], 0) && !isReadable(&programs[1], 0));
  CHECK(segue_app_wake(programs[0].app));
  assert(turn(&programs[0], 0) && !isReadable(&programs[0], 0));
  end(fleet, programs, 2);
}

// A loop in a thread each, and a save that a third thread completes.
static void threads(void) {
  struct program programs[2] = {0};
  pthread_t loops[2];
  segue_fleet *fleet;
  size_t offers = 0;
  bool busy = true;
  CHECK(segue_fleet_create(8, &fleet));
  start(&programs[0], fleet, "phone");
  start(&programs[1], fleet, "laptop");
  programs[0].answersLater = true;
  edit(&programs[0]);
  for (int i = 0; i < 2; i++)
    assert(pthread_create(&loops[i], NULL, loop, &programs[i]) == 0);
  while (offers == 0) {
    CHECK(segue_fleet_run(fleet, NULL));
    CHECK(segue_app_get_offers(programs[1].app, NULL, 0, &offers));
  }
  goOn(&programs[1]);
  while (!programs[1].hasContinued) {
    CHECK(segue_fleet_run(fleet, NULL));
    CHECK(segue_fleet_wait(fleet, 20000, &busy));
    assert(busy || programs[1].hasContinued);
  }
  assert(pthread_join(programs[0].thread, NULL) == 0);
  for (int i = 0; i < 2; i++) {
    programs[i].stops = true;
    CHECK(segue_app_wake(programs[i].app));
    assert(pthread_join(loops[i], NULL) == 0);
  }
  do
    CHECK(segue_fleet_run(fleet, NULL));
  while (turn(&programs[0], 0) | turn(&programs[1], 0));
  CHECK(segue_fleet_wait(fleet, 10, &busy));
  assert(!busy);
  end(fleet, programs, 2);
}

static void onFetched(void *context, segue_activity *activity, const segue_error *error) {
  (void)activity;
  assert(error == NULL);
  *(bool *)context = true;
}

static void onBroken(void *context, segue_activity *activity, const segue_error *error) {
  segue_status status;
  (void)activity;
  assert(error != NULL);
  CHECK(segue_error_get_status(error, &status));
  assert(status == SEGUE_ERROR_SYSTEM);
  *(bool *)context = true;
}

// Bytes that are attached on one device come to a descriptor on another. Into a pipe that nobody reads: no SIGPIPE.
static void attachments(void) {
  struct program programs[2] = {0};
  segue_fleet *fleet;
  segue_transfer *transfer;
  uint8_t bytes[100000], came[sizeof bytes + 1];
  bool isThere = false;
  FILE *file = tmpfile();
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (uint8_t)(i * i >> 3);
  CHECK(segue_fleet_create(9, &fleet));
  start(&programs[0], fleet, "phone");
  start(&programs[1], fleet, "laptop");
  edit(&programs[0]);
  CHECK(segue_activity_attach_bytes(programs[0].activity, "a", 1, bytes, sizeof bytes));
  do
    CHECK(segue_fleet_run(fleet, NULL));
  while (turn(&programs[0], 0) | turn(&programs[1], 0));
  goOn(&programs[1]);
  while (!programs[1].hasContinued) {
    CHECK(segue_fleet_run(fleet, NULL));
    turn(&programs[0], 0);
    turn(&programs[1], 0);
  }
  CHECK(segue_activity_fetch_attachment_to_fd(programs[1].continued, "a", 1, fileno(file), NULL, onFetched, &isThere,
                                              NULL, &transfer));
  while (!isThere) {
    CHECK(segue_fleet_advance(fleet, 100, NULL));
    turn(&programs[1], 0);
  }
  assert(pread(fileno(file), came, sizeof came, 0) == sizeof bytes);
  assert(memcmp(came, bytes, sizeof bytes) == 0);
  fclose(file);
  CHECK(segue_transfer_release(transfer));
  int ends[2];
  assert(pipe(ends) == 0 && signal(SIGPIPE, SIG_DFL) == SIG_DFL);
  close(ends[0]);
  isThere = false;
  CHECK(segue_activity_fetch_attachment_to_fd(programs[1].continued, "a", 1, ends[1], NULL, onBroken, &isThere, NULL,
                                              &transfer));
  while (!isThere) {
    CHECK(segue_fleet_advance(fleet, 100, NULL));
    turn(&programs[1], 0);
  }
  close(ends[1]);
  CHECK(segue_transfer_release(transfer));
  end(fleet, programs, 2);
}

// An unlimited wait ends with a callback, or when no event is left: the wait itself lets no time pass.
static void waitForEver(void) {
  struct program program = {0};
  segue_fleet *fleet;
  size_t count = 0;
  uint64_t time;
  CHECK(segue_fleet_create(10, &fleet));
  start(&program, fleet, "phone");
  program.isDispatching = true;
  do
    CHECK(segue_app_dispatch(program.app, -1, &count));
  while (count != 0);
  CHECK(segue_fleet_get_time_ms(fleet, &time));
  assert(time < 86400000);
  end(fleet, &program, 1);
}

static void *runsAlone(void *fleet) {
  CHECK(segue_fleet_run(fleet, NULL));
  pthread_testcancel();
  return NULL;
}

static void *dispatchesAlone(void *app) {
  CHECK(segue_app_dispatch(app, -1, NULL));
  pthread_testcancel();
  return NULL;
}

static void *waitsAlone(void *fleet) {
  bool busy;
  CHECK(segue_fleet_wait(fleet, 60000, &busy));
  assert(busy);
  pthread_testcancel();
  return NULL;
}

static void endsCancelled(pthread_t thread) {
  void *result;
  assert(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

// pthread_cancel takes effect when the call returns: the fleet is nobody's then, and can be moved on.
static void cancelled(void) {
  struct program programs[2] = {0};
  pthread_t thread;
  segue_fleet *fleet;
  bool busy;
  CHECK(segue_fleet_create(11, &fleet));
  programs[0].isWithoutLoop = programs[0].isDispatching = programs[1].isDispatching = true;
  start(&programs[0], fleet, "phone");
  start(&programs[1], fleet, "laptop");
  edit(&programs[0]);
  CHECK(segue_fleet_run(fleet, NULL));
  programs[1].cancels = true;
  assert(pthread_create(&thread, NULL, dispatchesAlone, programs[1].app) == 0);
  endsCancelled(thread);
  CHECK(segue_app_dispatch(programs[1].app, 0, NULL));
  goOn(&programs[1]);
  CHECK(segue_app_dispatch(programs[1].app, 0, NULL));
  programs[0].cancels = true;
  assert(pthread_create(&thread, NULL, runsAlone, fleet) == 0);
  endsCancelled(thread);
  assert(!programs[0].cancels);
  CHECK(segue_fleet_run(fleet, NULL));
  assert(pthread_create(&thread, NULL, waitsAlone, fleet) == 0);
  while (segue_fleet_wait(fleet, 0, &busy) != SEGUE_ERROR_BUSY)
    sched_yield();
  assert(pthread_cancel(thread) == 0);
  CHECK(segue_activity_resign_current(programs[0].activity));
  endsCancelled(thread);
  CHECK(segue_fleet_wait(fleet, 0, &busy));
  do
    CHECK(segue_fleet_run(fleet, NULL));
  while (turn(&programs[1], 0));
  end(fleet, programs, 2);
}

int main(void) {
  turns(false);
  turns(true);
  attachments();
  waitForEver();
  cancelled();
  for (int i = 0; i < 5; i++)
    threads();
  puts("as in a device");
  return 0;
}
