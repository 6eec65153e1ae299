/* SPDX-License-Identifier: Apache-2.0 */
/* Plays random lives of a fleet against the library in the tree, and says which break a promise.
 *
 *     stories FIRST COUNT [hashes|trace]
 *
 * hashes: a line a seed, "SEED HASH"; trace: the whole trace of each. The last line is "COUNT seeds, N broken, S s".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <segue.h>

enum { DEVICES = 5, APPS = 10, EVENTS = 200 };

static void must(segue_status status, uint64_t seed) {
  if (status == SEGUE_OK)
    return;
  char message[SEGUE_MESSAGE_SIZE];
  segue_last_error(message, sizeof message);
  fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, message);
  exit(2);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
  if (count < 3)
    return 2;
  uint64_t first = strtoull(arguments[1], NULL, 10), seeds = strtoull(arguments[2], NULL, 10), broken = 0;
  const char *what = count > 3 ? arguments[3] : "";
  double began = now();
  for (uint64_t seed = first; seed < first + seeds; seed++) {
    segue_fleet *fleet;
    char *text;
    must(segue_fleet_create(seed, &fleet), seed);
    must(segue_fleet_play(fleet, DEVICES, APPS, EVENTS), seed);
    must(segue_fleet_check(fleet, &text, NULL), seed);
    if (text != NULL) {
      broken++;
      printf("BROKEN %" PRIu64 " %s\n", seed, text);
      fflush(stdout);
      segue_free(text);
    }
    if (strcmp(what, "hashes") == 0) {
      uint64_t hash;
      must(segue_fleet_get_trace_hash(fleet, &hash), seed);
      printf("%" PRIu64 " %016" PRIx64 "\n", seed, hash);
    } else if (strcmp(what, "trace") == 0) {
      must(segue_fleet_get_trace(fleet, &text, NULL), seed);
      fputs(text, stdout);
      segue_free(text);
    }
    must(segue_fleet_release(fleet), seed);
  }
  size_t handles;
  must(segue_debug_live_handles(&handles), 0);
  if (handles != 0)
    broken++;
  printf("%" PRIu64 " seeds, %" PRIu64 " broken, %.3f s\n", seeds, broken, now() - began);
  return broken == 0 ? 0 : 1;
}
