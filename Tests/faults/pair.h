/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An origin and a receiver in one process, of whose system calls one may fail, and what one can have them do. */
#ifndef PAIR_H
#define PAIR_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shim.h"

static char run_name[256];

/** The run, and the call that has failed. */
static const char *where(void) {
  static _Thread_local char text[512];
  snprintf(text, sizeof text, "%s, %s failed", run_name, fault_where());
  return text;
}
#define WHERE where()
#include "../participant.h"

/* Milliseconds in which a scenario comes to its end although something failed. */
#define PATIENCE 8000

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct participant origin, receiver;
static segue_delivery delivery = SEGUE_DELIVER_HOST; /* of both */

static void explained(void *context, segue_app *app, const segue_value *reasons) {
  (void)app, (void)reasons;
  ((struct participant *)context)->explained++;
}

/** Opening is where the system may refuse something: the error says so, and the next attempt succeeds. */
static void open_one(struct participant *self, const char *name) {
  create_participant(self, name, delivery);
  segue_status status = segue_app_open(self->app);
  if (status != SEGUE_OK) {
    REQUIRE(status == SEGUE_ERROR_SYSTEM && fault_fired());
    OK(segue_app_open(self->app));
  }
}

/* Dispatches both until a counter has come to a value. */
static void pump(void) {
  struct pollfd descriptors[2] = {{.fd = -1, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
  struct participant *both[2] = {&origin, &receiver};
  for (int i = 0; i < 2; i++) {
    if (both[i]->app && !both[i]->is_closed && delivery == SEGUE_DELIVER_HOST)
      OK(segue_app_fd(both[i]->app, &descriptors[i].fd));
  }
  poll(descriptors, 2, delivery == SEGUE_DELIVER_THREAD ? 1 : 100);
  for (int i = 0; i < 2; i++) {
    if (descriptors[i].revents)
      OK(segue_app_dispatch(both[i]->app, 0, NULL));
  }
}

static bool comes(atomic_int *counter, int value) {
  double end = milliseconds() + PATIENCE;
  while (*counter < value && milliseconds() < end)
    pump();
  return *counter >= value;
}
#define AWAIT(counter, value) REQUIRE(comes(&(counter), (value)))

/** Two apps, of which one offers what the other sees. */
static void open_both(void) {
  open_one(&receiver, "com.example.receiver");
  open_one(&origin, "com.example.origin");
  AWAIT(receiver.ready, 1);
  AWAIT(origin.ready, 1);
  origin.activity = offer(&origin, "one");
  AWAIT(receiver.appeared, 1);
}

/** Continues the first offer, which may be gone for a while. */
static segue_continuation *begin(void) {
  double end = milliseconds() + PATIENCE;
  segue_continuation *continuation;
  while (!(continuation = try_to_continue(&receiver))) {
    REQUIRE(milliseconds() < end);
    pump();
  }
  return continuation;
}

/** Continues until it succeeds: once, or twice if what failed made the first attempt fail. */
static void continue_one(void) {
  int arrived = receiver.arrived;
  for (int attempt = 0; receiver.arrived == arrived; attempt++) {
    REQUIRE(attempt < 2);
    REQUIRE(attempt == 0 || fault_fired());
    int over = receiver.arrived + receiver.failed;
    OK(segue_release(begin()));
    double end = milliseconds() + PATIENCE;
    while (receiver.arrived + receiver.failed == over && milliseconds() < end)
      pump();
    REQUIRE(receiver.arrived + receiver.failed == over + 1);
  }
}

static bool is_connection_trouble(int status) {
  return status == SEGUE_ERROR_CONNECTION_UNAVAILABLE || status == SEGUE_ERROR_HANDOFF_FAILED;
}

#endif
