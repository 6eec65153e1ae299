/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void forget(struct result **place) {
  if (!*place)
    return;
  segue_release((*place)->found.offer);
  segue_release((*place)->found.saved);
  free(*place);
  *place = NULL;
}

static bool make_id(char *id) {
  uint8_t bytes[(RESULT_ID_SIZE - 1) / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return false;
  for (size_t index = 0; index < sizeof bytes; index++)
    snprintf(id + 2 * index, 3, "%02x", bytes[index]);
  return true;
}

static bool is_same(const struct result *result, const char *peer, const struct found *found) {
  return (result->found.offer == NULL) == (found->offer == NULL) &&
         memcmp(result->found.activity, found->activity, SEGUE_ID_SIZE) == 0 && strcmp(result->peer, peer) == 0;
}

/** Finds the entry of the same result, or else a free one, or else the one that expires first. */
static struct result **place_of(struct results *results, const char *peer, const struct found *found) {
  struct result **best = &results->list[0];
  for (size_t index = 0; index < RESULTS_MOST; index++) {
    struct result **each = &results->list[index];
    if (*each && is_same(*each, peer, found))
      return each;
    if (*best && (!*each || (*each)->until < (*best)->until))
      best = each;
  }
  return best;
}

struct result *results_add(struct results *results, const char *peer, const struct found *found, uint64_t until) {
  struct result **place = place_of(results, peer, found), *result;
  if (!*place || !is_same(*place, peer, found)) {
    /* All are of this moment: somebody may be about to read them. */
    if (*place && (*place)->until >= until)
      return NULL;
    forget(place);
    if (!(*place = calloc(1, sizeof **place)) || !make_id((*place)->id)) {
      forget(place);
      return NULL;
    }
  }
  result = *place;
  struct found former = result->found;
  if ((found->offer && segue_retain(found->offer) != SEGUE_OK) ||
      (found->saved && segue_retain(found->saved) != SEGUE_OK))
    return NULL;
  result->found = *found;
  segue_release(former.offer);
  segue_release(former.saved);
  snprintf(result->peer, sizeof result->peer, "%s", peer);
  result->until = until;
  return result;
}

struct result *results_find(struct results *results, const char *peer, const char *id, uint64_t now) {
  if (strlen(id) != RESULT_ID_SIZE - 1)
    return NULL;
  for (size_t index = 0; index < RESULTS_MOST; index++) {
    struct result *each = results->list[index];
    if (each && strcmp(each->id, id) == 0)
      return strcmp(each->peer, peer) == 0 && now < each->until ? each : NULL;
  }
  return NULL;
}

bool results_expire(struct results *results, uint64_t now) {
  bool is_left = false;
  for (size_t index = 0; index < RESULTS_MOST; index++) {
    if (results->list[index] && now >= results->list[index]->until)
      forget(&results->list[index]);
    is_left = is_left || results->list[index];
  }
  return is_left;
}

void results_end(struct results *results) { results_expire(results, UINT64_MAX); }
