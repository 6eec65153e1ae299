/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Searches that somebody on the bus waits for: offers of other devices first, then saved activities. */
#ifndef QUERY_H
#define QUERY_H

#include <stdatomic.h>

#include "search.h"
#include "words.h"

/** Microseconds until a search is answered, if need be with nothing. */
#define ANSWER_WITHIN_USEC 2000000ull
/** Searches that wait, of all peers, and of one; more are answered at once, with nothing. */
#define QUERIES_MOST 16
#define QUERIES_OF_PEER_MOST 4
/** Offers that are compared with the words, that are asked about, and that are shown. */
#define OFFERS_MOST 1024
#define CANDIDATES_MOST 64
#define OFFERS_SHOWN 8
/** Saved activities that are shown. */
#define SAVED_SHOWN 20

struct query {
  struct job job;
  struct search *search;
  struct query *next;
  /** NULL: it is answered */
  sd_bus_message *call;
  sd_event_source *deadline;
  /** Answers the call. results  borrowed */
  void (*answer)(struct query *query, struct result *const *results, size_t count);
  struct words words;
  bool finds_saved;
  /** of the click that has caused it */
  char token[TOKEN_SIZE];
  /** the worker has it */
  bool is_begun;
  atomic_bool is_over;
  /** retained, for the worker: at first those that match, then those that can be continued */
  segue_app *app;
  segue_offer *offers[CANDIDATES_MOST];
  size_t offer_count;
  /** owned: the answer of the agent */
  segue_value *saved;
};

/**
 * Begins a search, which ends with `answer`.
 *   words   NULL: all offers are found, and no saved activities
 *   token   of a click; may be empty
 * Returns 1, or a negative errno: it is not answered.
 */
int query_begin(struct search *search, sd_bus_message *call, const struct words *words, const char *token,
                void (*answer)(struct query *query, struct result *const *results, size_t count));
/** Begins those that had to wait until the session and the offers are known. */
void query_begin_waiting(struct search *search);
/** Frees all, once the worker has ended. */
void query_end(struct search *search);

#endif
