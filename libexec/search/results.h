/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Results that were given to somebody on the bus, under identifiers that say nothing, and expire. */
#ifndef RESULTS_H
#define RESULTS_H

#include <segue.h>
#include <stdbool.h>
#include <stdint.h>

#include "bus.h"
#include "text.h"

/** Results that are kept, of all callers; beyond that those that were found first go. */
#define RESULTS_MOST 256
/** Bytes of an identifier, NUL included: 128 random bits. */
#define RESULT_ID_SIZE 33

/** A find of a search. */
struct found {
  /** retained by whoever keeps it: one of both */
  segue_offer *offer;
  segue_value *saved;
  uint8_t activity[SEGUE_ID_SIZE];
  /** clean, and without markup; the last is a name of an icon, or empty */
  char name[TEXT_SIZE * 2], description[TEXT_SIZE * 3], icon[256];
};

struct result {
  /** empty: this entry is free */
  char id[RESULT_ID_SIZE];
  /** the unique name of the only peer for which the identifier means something */
  char peer[PEER_SIZE];
  /** microseconds of CLOCK_MONOTONIC */
  uint64_t until;
  struct found found;
};

struct results {
  struct result *list[RESULTS_MOST];
};

/**
 * Keeps a result for a peer, under its former identifier if it has one. Returns NULL: there is no memory, or no room.
 *   until  microseconds of CLOCK_MONOTONIC at which the identifier expires
 */
struct result *results_add(struct results *results, const char *peer, const struct found *found, uint64_t until);
/** Finds a result. Returns NULL: the identifier was not given to this peer, or has expired. */
struct result *results_find(struct results *results, const char *peer, const char *id, uint64_t now);
/** Forgets what has expired. Returns whether anything is left. */
bool results_expire(struct results *results, uint64_t now);
void results_end(struct results *results);

#endif
