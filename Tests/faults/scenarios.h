/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The scenarios during which a system call fails. */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "pair.h"

static void opening(void) {
  open_one(&origin, "com.example.one");
  AWAIT(origin.ready, 1);
}

static void opening_by_thread(void) {
  delivery = SEGUE_DELIVER_THREAD;
  opening();
}

static void opening_again(void) {
  for (int i = 0; i < 3; i++) {
    opening();
    close_participant(&origin);
    origin = (struct participant){0};
  }
}

static void offering(void) { open_both(); }

static void offering_by_thread(void) {
  delivery = SEGUE_DELIVER_THREAD;
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
  delivery = SEGUE_DELIVER_THREAD;
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
  open_one(&receiver, "com.example.receiver");
  open_one(&origin, "com.example.origin");
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
  origin.saves_later = receiver.answers_later = true;
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
      OK(segue_release(continuation));
      continuation = begin();
    }
  }
  OK(segue_release(continuation));
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
  receiver.refuses = true;
  OK(segue_release(begin()));
  double end = milliseconds() + PATIENCE;
  while (origin.ended + receiver.failed == 0 && milliseconds() < end)
    pump();
  /* If the origin's connection is lost before it is asked, it gets nothing. */
  REQUIRE(origin.ended == 1 || (fault_fired() && is_connection_trouble(receiver.last_status)));
  REQUIRE(origin.moved == 0);
}

static void declining(void) {
  receiver.declines = true;
  open_both();
  OK(segue_release(begin()));
  AWAIT(receiver.failed, 1);
  REQUIRE(receiver.last_status == SEGUE_ERROR_DECLINED);
  REQUIRE(origin.saves == 0);
}

static void cancelling(void) {
  origin.saves_later = true;
  open_both();
  segue_continuation *continuation = begin();
  AWAIT(receiver.announced, 1);
  OK(segue_continuation_cancel(continuation));
  AWAIT(receiver.failed, 1);
  REQUIRE(receiver.last_status == SEGUE_ERROR_USER_CANCELLED || is_connection_trouble(receiver.last_status));
  OK(segue_release(continuation));
}

static void replacing(void) {
  origin.saves_later = true;
  open_both();
  OK(segue_release(begin()));
  AWAIT(receiver.announced, 1);
  origin.saves_later = false;
  OK(segue_release(begin()));
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
  origin.saves_later = true;
  open_both();
  OK(segue_release(begin()));
  AWAIT(receiver.announced, 1);
  close_app(&origin);
  AWAIT(receiver.gone, 1);
  double end = milliseconds() + PATIENCE;
  while (receiver.arrived + receiver.failed == 0 && milliseconds() < end)
    pump();
  REQUIRE(receiver.arrived + receiver.failed == 1);
  REQUIRE(receiver.arrived == 1 || is_connection_trouble(receiver.last_status));
}

static void receiver_closing(void) {
  origin.saves_later = true;
  open_both();
  OK(segue_release(begin()));
  AWAIT(receiver.announced, 1);
  close_app(&receiver);
  REQUIRE(receiver.failed == 1 && receiver.arrived == 0);
}

static void invalidating(void) {
  origin.saves_later = true;
  open_both();
  OK(segue_release(begin()));
  AWAIT(receiver.announced, 1);
  OK(segue_activity_invalidate(origin.activity));
  AWAIT(receiver.failed, 1);
  AWAIT(receiver.gone, 1);
  REQUIRE(is_connection_trouble(receiver.last_status));
}

static void not_saving(void) {
  OK(segue_limit_set(SEGUE_LIMIT_SAVE_MS, 30));
  origin.saves_later = true;
  open_both();
  OK(segue_release(begin()));
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

#endif
