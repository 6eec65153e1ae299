/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Continuations that the user has asked for by a click, and how they ended. */
#ifndef LAUNCHES_H
#define LAUNCHES_H

#include <segue.h>
#include <stdbool.h>
#include <stdint.h>

#include "notifier.h"
#include "presence.h"
#include "settings.h"
#include "text.h"
#include "worker.h"

/** Clicks that are under way or ask something; the oldest that only asks makes room. */
#define LAUNCHES_MOST 4

struct launch {
  struct launches *launches;
  /** retained: one of both; if both are NULL, this entry is free */
  segue_offer *offer;
  segue_value *saved;
  char title[TEXT_SIZE];
  /** the notification that asks whether text may stay behind; 0: none */
  uint32_t card;
  bool is_showing;
  /** in the order of clicks */
  uint64_t number;
};

struct launches {
  segue_app *app;
  struct notifier *notifier;
  const struct settings *settings;
  const struct presence *presence;
  /** does one launch at a time: the environment has room for one activation token */
  struct worker *worker;
  struct launch list[LAUNCHES_MOST];
  uint64_t count;
  /** the notifications that told failures last, and the place of the next one; 0: none */
  uint32_t failures[LAUNCHES_MOST];
  size_t next_failure;
};

/** Has the agent continue the offer in the app that fits. offer  retained */
void launches_begin(struct launches *launches, segue_offer *offer, const char *token);
/**
 * Has the agent continue a saved activity in its app.
 *   saved  retained: of the results of the request "search"
 *   title  clean, and so shorter than TEXT_SIZE
 */
void launches_begin_saved(struct launches *launches, segue_value *saved, const char *title, const char *token);
/** Tells whether a click is under way, or asks something. */
bool launches_are_busy(const struct launches *launches);
/** Tells the user something, unless the session is locked. A lock closes it, and the end. body  without markup */
void launches_tell(struct launches *launches, const char *summary, const char *body);
/** Tells the user in this way why nothing came to the front. title  clean */
void launches_show_failure(struct launches *launches, const char *title, const char *message);
/** Each returns false if the notification is of somebody else. */
bool launches_acted(struct launches *launches, uint32_t id, const char *action, const char *token);
bool launches_closed(struct launches *launches, uint32_t id);
/** The session was locked or unlocked. One that is locked shows no titles, and nobody is there to agree. */
void launches_locked(struct launches *launches);
/** Closes all notifications: the session was locked, the server has lost its name, or this program ends. */
void launches_forget_cards(struct launches *launches);
void launches_end(struct launches *launches);

#endif
