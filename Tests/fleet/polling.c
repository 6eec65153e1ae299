// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs with their own event loop and threads on a virtual fleet, unchanged: callbacks run in their loop, and the
// fleet waits for answers of other threads.
#include <poll.h>
#include <sched.h>
#include <signal.h>

#include "../participant.h"

struct program {
  struct participant app; // the first, so that its context is that of the program
  segue_fleet *fleet;
  pthread_t saving;
  int fd;
  int told;
  bool isDispatching;
  bool cancels;
  bool isWithoutLoop;
  atomic_bool stops;
};

static void note(struct participant *app) {
  struct program *program = (struct program *)app;
  bool busy;
  REQUIRE(program->isDispatching);
  // A fleet does not move around a callback.
  REQUIRE(segue_fleet_run(program->fleet, NULL) == SEGUE_ERROR_BUSY);
  REQUIRE(segue_fleet_wait(program->fleet, 0, &busy) == SEGUE_ERROR_BUSY);
  program->told++;
  if (!program->cancels)
    return;
  program->cancels = false;
  REQUIRE(pthread_cancel(pthread_self()) == 0);
  pthread_testcancel();
}

// The fleet has nothing to do meanwhile: that is what is tried.
static void *saveLater(void *context) {
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  OK(segue_save_complete(context));
  OK(segue_release(context));
  return NULL;
}

static segue_reply savesElsewhere(void *context, segue_activity *activity, segue_save *save) {
  struct program *program = context;
  segue_reply reply = will_save(context, activity, save);
  if (reply == SEGUE_REPLY_LATER) {
    OK(segue_retain(save));
    REQUIRE(pthread_create(&program->saving, NULL, saveLater, save) == 0);
  }
  return reply;
}

static void start(struct program *program, segue_fleet *fleet, const char *name) {
  segue_fleet_device *device;
  program->fleet = fleet;
  program->app.inside = note;
  OK(segue_fleet_add_device(fleet, name, NUL, &device));
  OK(segue_fleet_device_create_app(device, "com.example.notes", NUL, &program->app.app));
  OK(segue_release(device));
  prepare_participant(&program->app);
  OK(segue_activity_delegate_on_will_save(program->app.watcher, savesElsewhere));
  OK(segue_app_open(program->app.app));
  if (!program->isWithoutLoop)
    OK(segue_app_fd(program->app.app, &program->fd));
}

static void edit(struct program *program) { program->app.activity = offer(&program->app, "Draft"); }

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
  OK(segue_app_dispatch(program->app.app, 0, &count));
  program->isDispatching = false;
  return true;
}

static void *loop(void *context) {
  struct program *program = context;
  while (!program->stops)
    turn(program, -1);
  return NULL;
}

static void goOn(struct program *viewer) { OK(segue_release(continue_first(&viewer->app))); }

static void end(segue_fleet *fleet, struct program *programs, int count) {
  char *violation;
  for (int i = 0; i < count; i++) {
    programs[i].isDispatching = true;
    close_participant(&programs[i].app);
  }
  OK(segue_fleet_check(fleet, &violation, NULL));
  if (violation != NULL)
    puts(violation);
  REQUIRE(violation == NULL);
  OK(segue_release(fleet));
}

// One thread, two loops, and nobody told outside of them. Late: the fleet goes on for a minute before the first turn.
static void turns(bool isLate) {
  struct program programs[2] = {0};
  segue_fleet *fleet;
  OK(segue_fleet_create(7, &fleet));
  start(&programs[0], fleet, "phone");
  start(&programs[1], fleet, "laptop");
  edit(&programs[0]);
  for (int step = 0; step < 2; step++) {
    do {
      OK(segue_fleet_run(fleet, NULL));
      if (programs[1].told == 0)
        REQUIRE(isReadable(&programs[1], 0));
      if (isLate)
        OK(segue_fleet_advance(fleet, 60000, NULL));
      isLate = false;
    } while (turn(&programs[0], 0) | turn(&programs[1], 0));
    REQUIRE(programs[1].told > step);
    if (step == 0)
      goOn(&programs[1]);
  }
  REQUIRE(programs[1].app.arrived && programs[0].told > 0);
  REQUIRE(!isReadable(&programs[0], 0) && !isReadable(&programs[1], 0));
  OK(segue_app_wake(programs[0].app.app));
  REQUIRE(turn(&programs[0], 0) && !isReadable(&programs[0], 0));
  end(fleet, programs, 2);
}

// A loop in a thread each, and a save that a third thread completes.
static void threads(void) {
  struct program programs[2] = {0};
  pthread_t loops[2];
  segue_fleet *fleet;
  size_t offers = 0;
  bool busy = true;
  OK(segue_fleet_create(8, &fleet));
  start(&programs[0], fleet, "phone");
  start(&programs[1], fleet, "laptop");
  programs[0].app.saves_later = true;
  edit(&programs[0]);
  for (int i = 0; i < 2; i++)
    REQUIRE(pthread_create(&loops[i], NULL, loop, &programs[i]) == 0);
  while (offers == 0) {
    OK(segue_fleet_run(fleet, NULL));
    OK(segue_app_get_offers(programs[1].app.app, NULL, 0, &offers));
  }
  goOn(&programs[1]);
  while (!programs[1].app.arrived) {
    OK(segue_fleet_run(fleet, NULL));
    OK(segue_fleet_wait(fleet, 20000, &busy));
    REQUIRE(busy || programs[1].app.arrived);
  }
  REQUIRE(pthread_join(programs[0].saving, NULL) == 0);
  for (int i = 0; i < 2; i++) {
    programs[i].stops = true;
    OK(segue_app_wake(programs[i].app.app));
    REQUIRE(pthread_join(loops[i], NULL) == 0);
  }
  do
    OK(segue_fleet_run(fleet, NULL));
  while (turn(&programs[0], 0) | turn(&programs[1], 0));
  OK(segue_fleet_wait(fleet, 10, &busy));
  REQUIRE(!busy);
  end(fleet, programs, 2);
}

static void onFetched(void *context, segue_activity *activity, const segue_error *error) {
  (void)activity;
  REQUIRE(error == NULL);
  *(bool *)context = true;
}

static void onBroken(void *context, segue_activity *activity, const segue_error *error) {
  segue_status status;
  (void)activity;
  REQUIRE(error != NULL);
  OK(segue_error_get_status(error, &status));
  REQUIRE(status == SEGUE_ERROR_SYSTEM);
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
  OK(segue_fleet_create(9, &fleet));
  start(&programs[0], fleet, "phone");
  start(&programs[1], fleet, "laptop");
  edit(&programs[0]);
  OK(segue_activity_attach_bytes(programs[0].app.activity, "a", 1, bytes, sizeof bytes));
  do
    OK(segue_fleet_run(fleet, NULL));
  while (turn(&programs[0], 0) | turn(&programs[1], 0));
  goOn(&programs[1]);
  while (!programs[1].app.arrived) {
    OK(segue_fleet_run(fleet, NULL));
    turn(&programs[0], 0);
    turn(&programs[1], 0);
  }
  OK(segue_activity_fetch_attachment_to_fd(programs[1].app.continued, "a", 1, fileno(file), NULL, onFetched, &isThere,
                                           NULL, &transfer));
  while (!isThere) {
    OK(segue_fleet_advance(fleet, 100, NULL));
    turn(&programs[1], 0);
  }
  REQUIRE(pread(fileno(file), came, sizeof came, 0) == sizeof bytes);
  REQUIRE(memcmp(came, bytes, sizeof bytes) == 0);
  fclose(file);
  OK(segue_release(transfer));
  int ends[2];
  REQUIRE(pipe(ends) == 0 && signal(SIGPIPE, SIG_DFL) == SIG_DFL);
  close(ends[0]);
  isThere = false;
  OK(segue_activity_fetch_attachment_to_fd(programs[1].app.continued, "a", 1, ends[1], NULL, onBroken, &isThere, NULL,
                                           &transfer));
  while (!isThere) {
    OK(segue_fleet_advance(fleet, 100, NULL));
    turn(&programs[1], 0);
  }
  close(ends[1]);
  OK(segue_release(transfer));
  end(fleet, programs, 2);
}

// An unlimited wait ends with a callback, or when nothing is left that could happen: the pings of linked devices repeat
// for ever, and do not count. The wait itself lets no time pass.
static void waitForEver(int devices) {
  struct program programs[2] = {0};
  segue_fleet *fleet;
  size_t count = 0;
  uint64_t time;
  OK(segue_fleet_create(10, &fleet));
  for (int i = 0; i < devices; i++) {
    programs[i].isDispatching = programs[i].isWithoutLoop = i > 0;
    start(&programs[i], fleet, i == 0 ? "phone" : "laptop");
  }
  edit(&programs[0]);
  programs[0].isDispatching = true;
  do
    OK(segue_app_dispatch(programs[0].app.app, -1, &count));
  while (count != 0);
  OK(segue_fleet_get_time_ms(fleet, &time));
  REQUIRE(time < 86400000);
  REQUIRE(devices == 1 || programs[1].told > 0);
  end(fleet, programs, devices);
}

static void *runsAlone(void *fleet) {
  for (;;)
    OK(segue_fleet_run(fleet, NULL));
  return NULL;
}

static void *dispatchesAlone(void *app) {
  for (;;)
    OK(segue_app_dispatch(app, -1, NULL));
  return NULL;
}

static void *waitsAlone(void *fleet) {
  bool busy;
  OK(segue_fleet_wait(fleet, 60000, &busy));
  REQUIRE(false); // The wait is where it ends.
  return NULL;
}

static void endsCancelled(pthread_t thread) {
  void *result;
  REQUIRE(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
}

// pthread_cancel takes effect when the call returns: the fleet is nobody's then, and can be moved on.
static void cancelled(void) {
  struct program programs[2] = {0};
  pthread_t thread;
  segue_fleet *fleet;
  bool busy;
  OK(segue_fleet_create(11, &fleet));
  programs[0].isWithoutLoop = programs[0].isDispatching = programs[1].isDispatching = true;
  start(&programs[0], fleet, "phone");
  start(&programs[1], fleet, "laptop");
  edit(&programs[0]);
  OK(segue_fleet_run(fleet, NULL));
  programs[1].cancels = true;
  REQUIRE(pthread_create(&thread, NULL, dispatchesAlone, programs[1].app.app) == 0);
  endsCancelled(thread);
  OK(segue_app_dispatch(programs[1].app.app, 0, NULL));
  goOn(&programs[1]);
  OK(segue_app_dispatch(programs[1].app.app, 0, NULL));
  programs[0].cancels = true;
  REQUIRE(pthread_create(&thread, NULL, runsAlone, fleet) == 0);
  endsCancelled(thread);
  REQUIRE(!programs[0].cancels);
  OK(segue_fleet_run(fleet, NULL));
  REQUIRE(pthread_create(&thread, NULL, waitsAlone, fleet) == 0);
  while (segue_fleet_wait(fleet, 0, &busy) != SEGUE_ERROR_BUSY)
    sched_yield();
  REQUIRE(pthread_cancel(thread) == 0);
  OK(segue_activity_resign_current(programs[0].app.activity));
  endsCancelled(thread);
  OK(segue_fleet_wait(fleet, 0, &busy));
  do
    OK(segue_fleet_run(fleet, NULL));
  while (turn(&programs[1], 0));
  end(fleet, programs, 2);
}

static atomic_bool isHeld, goesOn;

static void holdsFirst(struct participant *app) {
  (void)app;
  if (atomic_exchange(&isHeld, true))
    return;
  while (!goesOn)
    sched_yield();
}

static void *closes(void *app) {
  OK(segue_app_close(app));
  return NULL;
}

// One thread closes an app, whose callbacks take long, while another moves the fleet. The closing thread tells what
// ends meanwhile, in its own time. Callbacks of that thread are not late (R3.9).
static void closedElsewhere(void) {
  struct program programs[2] = {0};
  pthread_t thread;
  segue_fleet *fleet;
  char *violation;
  OK(segue_fleet_create(12, &fleet));
  programs[0].isWithoutLoop = programs[1].isWithoutLoop = programs[0].isDispatching = programs[1].isDispatching = true;
  start(&programs[0], fleet, "phone");
  start(&programs[1], fleet, "laptop");
  edit(&programs[0]);
  OK(segue_fleet_run(fleet, NULL));
  programs[1].app.inside = holdsFirst;
  goOn(&programs[1]);
  goOn(&programs[1]);
  REQUIRE(pthread_create(&thread, NULL, closes, programs[1].app.app) == 0);
  while (!isHeld)
    sched_yield();
  OK(segue_fleet_advance(fleet, 3600000, NULL));
  OK(segue_fleet_check(fleet, &violation, NULL));
  if (violation != NULL)
    puts(violation);
  REQUIRE(violation == NULL);
  goesOn = true;
  REQUIRE(pthread_join(thread, NULL) == 0);
  REQUIRE(programs[1].app.failed == 2 && programs[1].app.arrived == 0);
  end(fleet, programs, 2);
}

int main(void) {
  turns(false);
  turns(true);
  attachments();
  waitForEver(1);
  waitForEver(2);
  cancelled();
  closedElsewhere();
  for (int i = 0; i < 5; i++)
    threads();
  puts("as in a device");
  return 0;
}
