/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The activities of the host: its own, by the ids that it gives them, and those that it has continued, by the ids of
 * their continuations. */
#ifndef ACTIVITIES_H
#define ACTIVITIES_H

#include <segue.h>
#include <stdbool.h>

#include "channel.h"
#include "public_types.h"

/** Activities that a host may have at a time. */
#define ACTIVITIES_MOST 64
/** Bytes of an id of an activity, NUL included. */
#define ACTIVITY_ID_SIZE 256

struct activity {
  /** NULL: the place is free */
  segue_activity *handle;
  char id[ACTIVITY_ID_SIZE];
  /** NULL: the type is not public */
  const struct public_type *public_type;
  /** `text` is attached because it is too long for user_info */
  bool has_attached_text;
  /** the host has changed it since its last `activity/set` or answer */
  bool is_dirty;
  /** the save that waits for the host, and the number of the request; NULL: none */
  segue_save *save;
  int64_t save_number;
  /** the `continuation/continue` that the host has not answered; 0: none */
  int64_t request;
};

struct continuations;

struct activities {
  struct channel *channel;
  /** the host hears of these first */
  struct continuations *continuations;
  segue_app *app;
  /** the host is asked before a save */
  bool asks;
  /** the session ends: the host is asked no longer */
  bool is_ending;
  struct activity list[ACTIVITIES_MOST];
};

/** Sets everything that parameters name. Those that stand before a wrong one may have been set. */
bool activity_apply(struct activity *activity, const segue_value *parameters, struct problem *problem);

/* The methods of the host. Each returns false and a problem if it cannot be done. */

/** activity/set: makes or changes an activity. */
bool activities_set(struct activities *activities, const segue_value *parameters, struct problem *problem);
/** activity/current: offers an activity in place of the former one; null: none. */
bool activities_make_current(struct activities *activities, const segue_value *parameters, struct problem *problem);
/** activity/invalidate: withdraws an activity for ever, and forgets it. */
bool activities_invalidate(struct activities *activities, const segue_value *parameters, struct problem *problem);
/** activity/release: forgets an activity. */
bool activities_release(struct activities *activities, const segue_value *parameters, struct problem *problem);
/** activity/needsSave: the state of the host has changed. */
bool activities_need_save(struct activities *activities, const segue_value *parameters, struct problem *problem);

/**
 * Takes the answer to an `activity/save`.
 *   result   borrowed: as the parameters of activity/set
 *   failure  borrowed, NUL-terminated: the message of an error, in place of a result; NULL: none
 * Returns false if no save has this number.
 */
bool activities_take_answer(struct activities *activities, int64_t number, const segue_value *result,
                            const char *failure);
/**
 * Keeps a continued activity under an id. Returns false if there is no place.
 *   handle             retained
 *   has_attached_text  `text` came as an attachment
 *   request            the number of the `continuation/continue` that gives it to the host
 */
bool activities_adopt(struct activities *activities, segue_activity *handle, const char *id,
                      const struct public_type *type, bool has_attached_text, int64_t request);
/**
 * Ends the `continuation/continue` of an activity, which is forgotten unless the host has taken it. Returns false if no
 * activity waits for an answer with this number.
 */
bool activities_end_request(struct activities *activities, int64_t number, bool handled);
/** Forgets the activity with this id, if there is one. */
void activities_forget(struct activities *activities, const char *id);
/** Forgets all, without withdrawing what the agent keeps. */
void activities_free(struct activities *activities);

#endif
