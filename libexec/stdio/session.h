/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One session with a host (R13.5): an app whose state lives in another program. docs/stdio.md is its protocol. */
#ifndef SESSION_H
#define SESSION_H

#include <segue.h>
#include <stdbool.h>
#include <stddef.h>

#include "activities.h"
#include "agent.h"
#include "channel.h"
#include "continuations.h"
#include "lines.h"
#include "offers.h"

/** The version of the protocol. */
#define PROTOCOL 1
/** Milliseconds for the last messages to a host. */
#define LAST_MS 500

struct session {
  struct line_reader reader;
  struct channel channel;
  /** NULL: `open` has not come */
  segue_app *app;
  segue_app_delegate *delegate;
  struct activities activities;
  struct continuations continuations;
  struct offers offers;
  struct agent_question agent;
  /** the request `open` that waits for the agent, and until when; NULL: none */
  segue_value *open_id;
  int64_t open_until;
  /** the request `close`; NULL: none */
  segue_value *close_id;
  /** set when the session has to end, with the status of the process */
  bool is_over;
  int status;
};

void session_prepare(struct session *session, int output);
/** Handles one line of the host. */
void session_take(struct session *session, const char *line, size_t length);
/** Answers `open` once it is known whether an agent runs. */
void session_answer_open(struct session *session);
/** Returns milliseconds until something is due without input; -1: nothing is. */
int session_due(const struct session *session);
/** Ends the session because of the host. problem  static */
void session_give_up(struct session *session, const char *problem);
/** Closes the app: what is pending ends as CANCELLED; then `close` is answered. */
void session_close(struct session *session);
void session_free(struct session *session);

#endif
