/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The continuations that this app receives, whether the host, the agent or another device has begun them. */
#ifndef CONTINUATIONS_H
#define CONTINUATIONS_H

#include <segue.h>
#include <stdbool.h>
#include <stdint.h>

#include "activities.h"
#include "attached_text.h"
#include "channel.h"

/** Continuations at a time. The library has one of the host, and the agent delivers one after the other. */
#define CONTINUATIONS_MOST 8

struct continuation {
  /** NULL: the place is free */
  segue_continuation *handle;
  char id[UUID_TEXT];
  /** by the clock of now_ms */
  int64_t deadline;
  /** the request `offers/continue` whose answer is not written yet; NULL: none */
  segue_value *asked;
  /** of a continuation that the host does not know yet: what `continuation/will` names; NULL: it knows it */
  segue_offer *untold;
  /** retained between continue and the request to the host */
  segue_activity *activity;
  struct attached_text text;
  /** the request that waits for the host; 0: none */
  int64_t request;
};

/** Milliseconds in which most activities of this device come. */
#define EXPECTED_MS 5

struct continuations {
  struct channel *channel;
  /** by the clock of now_ms: until then the activity that the host has asked for is expected */
  int64_t expected_until;
  struct activities *activities;
  struct continuation list[CONTINUATIONS_MOST];
};

/* The callbacks of the app. */

void continuations_will(struct continuations *continuations, const char *type, size_t type_length,
                        segue_continuation *handle);
segue_reply continuations_continue(struct continuations *continuations, segue_activity *activity,
                                   segue_continuation *handle);
void continuations_failed(struct continuations *continuations, const char *type, size_t type_length,
                          const segue_error *error, segue_continuation *handle);
void continuations_opening_failed(struct continuations *continuations, const char *type, size_t type_length,
                                  const segue_error *error, segue_continuation *handle);

/** Returns milliseconds in which an activity that the host has asked for is expected; 0: none is. */
int continuations_expected(const struct continuations *continuations);
/**
 * Notes what the host has begun. Returns false if there is no place.
 *   handle   retained
 *   request  retained: `offers/continue`, which continuations_tell answers; NULL: it was a notification
 */
bool continuations_begin(struct continuations *continuations, segue_continuation *handle, const segue_value *request,
                         uint32_t milliseconds);
/**
 * Writes the answers and the notifications `continuation/will` that are due. They are made while the library waits for
 * the origin, and so delay nothing; whatever comes later for the host calls this first.
 */
void continuations_tell(struct continuations *continuations);
/** offers/cancel: ends a continuation. */
bool continuations_cancel(struct continuations *continuations, const segue_value *parameters, struct problem *problem);
/**
 * Takes the answer to a `continuation/continue`.
 *   result   borrowed: {handled, reason?}
 *   failure  borrowed, NUL-terminated: the message of an error, in place of a result; NULL: none
 * Returns false if no continuation has this number. An answer after the deadline decides about the activity alone.
 */
bool continuations_take_answer(struct continuations *continuations, int64_t number, const segue_value *result,
                               const char *failure);
void continuations_free(struct continuations *continuations);

#endif
