/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finds out whether an agent runs, on a thread of its own: a stopped agent would hold the host up. */
#ifndef AGENT_H
#define AGENT_H

#include <pthread.h>
#include <segue.h>
#include <stdbool.h>

/** Milliseconds after which an agent that has not answered counts as none. */
#define AGENT_MS 250

struct agent_question {
  segue_app *app;
  pthread_t thread;
  bool has_thread;
  /** readable once the thread has the answer; -1: the question was not asked, or is over */
  int descriptor;
  /** written by the thread */
  _Atomic bool runs;
};

/** Asks. app  borrowed until agent_end */
void agent_ask(struct agent_question *question, segue_app *app);
/** Ends the question. Call it when the descriptor is readable, or after segue_app_close, which ends the asking. */
void agent_end(struct agent_question *question);

#endif
