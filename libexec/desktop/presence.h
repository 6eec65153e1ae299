/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Whether the user is there, as logind says it of this session: locked, idle, asleep. */
#ifndef PRESENCE_H
#define PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "bus.h"
#include "settings.h"

#define OBJECT_SIZE 256

/** The session, as far as it is known. */
enum knowledge {
  /** nothing: there is none, or no logind */
  SESSION_UNKNOWN,
  /** logind is asked, for the first time */
  SESSION_SOUGHT,
  SESSION_KNOWN,
};

struct presence {
  struct bus bus;
  const struct settings *settings;
  /** the unique name of logind; empty: there is none */
  char logind[PEER_SIZE];
  /** the objects of the session and of the user; empty: not known */
  char session[OBJECT_SIZE], user[OBJECT_SIZE];
  sd_bus_slot *session_match, *user_match;
  /** the question about the state that is on its way, or NULL; another one follows */
  sd_bus_slot *state_call;
  bool asks_again;
  enum knowledge knowledge;
  bool is_locked, is_idle;
  /** microseconds of CLOCK_MONOTONIC; 0: not idle */
  uint64_t idle_since;
  bool has_woken;
  /** The user arrives; NULL: nobody wants to know. */
  void (*arrived)(void *context);
  /** The session was locked or unlocked, its state is known, or it is known that there is none. */
  void (*locked)(void *context);
  void *context;
};

/** Connects to the system's bus. The settings, the functions and their context are set by the caller. */
void presence_begin(struct presence *presence, sd_event *loop);
void presence_end(struct presence *presence);

#endif
