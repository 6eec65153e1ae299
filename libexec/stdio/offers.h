/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The offers that the host could continue. */
#ifndef OFFERS_H
#define OFFERS_H

#include <segue.h>
#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "continuations.h"

/** Milliseconds between two lists of offers. */
#define OFFERS_MS 100
/** Offers in a list. */
#define OFFERS_MOST 1000

struct offers {
  struct channel *channel;
  segue_app *app;
  struct continuations *continuations;
  /** all offers that the hub knew have arrived */
  bool is_ready;
  /** the host has not got the list as it is now */
  bool is_changed;
  /** by the clock of now_ms */
  int64_t sent_at;
};

/** Returns milliseconds until the next list is due; -1: none is. */
int offers_due(const struct offers *offers);
/** offers/changed: sends the list if it is due. */
void offers_send(struct offers *offers);
/**
 * offers/continue: begins to continue an offer.
 *   request  borrowed: the id of the request, which continuations_tell answers; NULL: it was a notification
 */
bool offers_continue(struct offers *offers, const segue_value *parameters, const segue_value *request,
                     struct problem *problem);

#endif
