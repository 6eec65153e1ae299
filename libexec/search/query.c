/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asking.h"
#include "found.h"

static void discard(struct query *query) {
  for (size_t index = 0; index < query->offer_count; index++)
    segue_release(query->offers[index]);
  segue_release(query->saved);
  segue_release(query->app);
  free(query);
}

/** Answers a query. It is freed, unless the worker still has it. */
static void finish(struct query *query, struct result *const *results, size_t count) {
  struct query **place = &query->search->queries;
  while (*place != query)
    place = &(*place)->next;
  *place = query->next;
  query->is_over = true;
  query->deadline = sd_event_source_disable_unref(query->deadline);
  query->answer(query, results, count);
  query->call = sd_bus_message_unref(query->call);
  if (!query->is_begun)
    discard(query);
}

/* On the worker's thread. */

/** Keeps the offers of other devices that something here can continue, as many as are shown. */
static void sift_offers(struct query *query) {
  segue_value *account = NULL;
  size_t kept = 0, index = 0;
  bool is_known = query->offer_count > 0 && asking_account(query->app, &account) == SEGUE_OK;
  for (; is_known && index < query->offer_count && kept < OFFERS_SHOWN && !query->is_over; index++) {
    segue_offer *offer = query->offers[index];
    uint8_t id[SEGUE_ID_SIZE];
    char *device = NULL;
    bool can_continue = false;
    if (segue_offer_get_device_name(offer, &device, NULL) == SEGUE_OK && !asking_is_here(account, device) &&
        segue_offer_get_id(offer, id) == SEGUE_OK)
      asking_route(query->app, id, &can_continue);
    segue_free(device);
    if (can_continue)
      query->offers[kept++] = offer;
    else
      segue_release(offer);
  }
  for (; index < query->offer_count; index++)
    segue_release(query->offers[index]);
  query->offer_count = kept;
  segue_release(account);
}

static void find_saved(struct query *query) {
  segue_writer *writer = NULL;
  segue_value *options = NULL;
  if (segue_writer_create(&writer) != SEGUE_OK)
    return;
  segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
  segue_writer_put_string(writer, "query", SEGUE_NUL_TERMINATED);
  segue_writer_put_string(writer, query->words.query, SEGUE_NUL_TERMINATED);
  segue_writer_put_string(writer, "limit", SEGUE_NUL_TERMINATED);
  segue_writer_put_int64(writer, SAVED_SHOWN);
  segue_writer_end(writer);
  if (segue_writer_finish(writer, &options) == SEGUE_OK)
    segue_app_ask_agent(query->app, "search", SEGUE_NUL_TERMINATED, options, 0, &query->saved);
  segue_release(options);
  segue_release(writer);
}

static void work(struct job *job) {
  struct query *query = (struct query *)job;
  if (!query->is_over)
    sift_offers(query);
  if (query->finds_saved && !query->is_over)
    find_saved(query);
}

/* On the thread of the loop. */

/** Gives the results identifiers, and answers. */
static void answer(struct query *query) {
  struct search *search = query->search;
  const char *peer = sd_bus_message_get_sender(query->call);
  struct result *results[OFFERS_SHOWN + SAVED_SHOWN];
  size_t count = 0, saved = 0;
  uint64_t until = search_now(search) + search->stay;
  bool may_show = peer && search_may_show(search);
  if (may_show && query->saved)
    saved = found_saved_count(query->saved);
  for (size_t index = 0; may_show && index < query->offer_count + saved && count < OFFERS_SHOWN + SAVED_SHOWN;
       index++) {
    struct found found = {0};
    bool is_found = index < query->offer_count
                        ? found_offer(&found, &search->settings, query->offers[index])
                        : found_saved(&found, &search->settings, query->saved, index - query->offer_count);
    if (is_found && (results[count] = results_add(&search->results, peer, &found, until)))
      count++;
    if (!found.offer)
      segue_release(found.saved);
  }
  finish(query, results, count);
}

static void done(struct job *job) {
  struct query *query = (struct query *)job;
  query->search->is_stuck = false;
  if (query->call)
    answer(query);
  discard(query);
}

/** Finds the offers that match, of all devices: only the agent knows which this one is. */
static void list_offers(struct query *query) {
  struct search *search = query->search;
  size_t count = 0;
  segue_offer **offers = calloc(OFFERS_MOST, sizeof *offers);
  if (!offers || segue_app_get_offers(search->app, offers, OFFERS_MOST, &count) != SEGUE_OK)
    count = 0;
  for (size_t index = 0; index < count && index < OFFERS_MOST; index++) {
    if (query->offer_count < CANDIDATES_MOST && found_matches(offers[index], &search->settings, &query->words))
      query->offers[query->offer_count++] = offers[index];
    else
      segue_release(offers[index]);
  }
  free(offers);
}

/** Gives a query to the worker. Returns false, and leaves it, if that has no room. */
static bool begin(struct query *query) {
  struct search *search = query->search;
  settings_read(&search->settings);
  if (!search_may_show(search) || segue_retain(search->app) != SEGUE_OK)
    return false;
  query->app = search->app;
  list_offers(query);
  query->is_begun = worker_add(&search->asking, &query->job);
  return query->is_begun;
}

static bool is_prepared(const struct search *search) {
  return search->has_offers && search->presence.knowledge != SESSION_SOUGHT;
}

static int is_late(sd_event_source *source, uint64_t usec, void *context) {
  struct query *query = context;
  (void)source, (void)usec;
  query->search->is_stuck = query->search->is_stuck || query->is_begun;
  finish(query, NULL, 0);
  return 0;
}

/** Tells whether there is room for another query of a peer. */
static bool has_room(const struct search *search, const char *peer) {
  unsigned all = 0, of_peer = 0;
  for (const struct query *each = search->queries; each; each = each->next, all++)
    of_peer += strcmp(sd_bus_message_get_sender(each->call), peer) == 0;
  return all < QUERIES_MOST && of_peer < QUERIES_OF_PEER_MOST;
}

int query_begin(struct search *search, sd_bus_message *call, const struct words *words, const char *token,
                void (*answer)(struct query *query, struct result *const *results, size_t count)) {
  const char *peer = sd_bus_message_get_sender(call);
  struct query *query = calloc(1, sizeof *query), **place = &search->queries;
  if (!query || !peer) {
    free(query);
    return -ENOMEM;
  }
  search->used_at = search_now(search);
  query->job = (struct job){work, done, NULL};
  query->search = search;
  query->call = sd_bus_message_ref(call);
  query->answer = answer;
  query->finds_saved = words != NULL;
  if (words)
    query->words = *words;
  strncpy(query->token, token, TOKEN_SIZE - 1);
  bool is_taken = has_room(search, peer) && !search->is_stuck;
  while (*place)
    place = &(*place)->next;
  *place = query;
  if (is_taken)
    is_taken = sd_event_add_time_relative(search->loop, &query->deadline, CLOCK_MONOTONIC, ANSWER_WITHIN_USEC, 0,
                                          is_late, query) >= 0;
  if (!is_taken || (is_prepared(search) && !begin(query)))
    finish(query, NULL, 0);
  return 1;
}

void query_begin_waiting(struct search *search) {
  for (struct query *query = search->queries, *next; query && is_prepared(search); query = next) {
    next = query->next;
    if (!query->is_begun && !begin(query))
      finish(query, NULL, 0);
  }
}

void query_end(struct search *search) {
  while (search->queries)
    finish(search->queries, NULL, 0);
}
