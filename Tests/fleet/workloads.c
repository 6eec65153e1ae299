/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Plays random workloads of a fleet against the library in the tree, and says which break a promise.
 *
 *     workloads FIRST COUNT [hashes|trace|shapes|crowds|large|DEVICES APPS EVENTS]
 *
 * hashes: a line a seed, "SEED HASH"; trace: the whole trace of each; shapes: each has devices, apps and events that
 * follow from the seed; crowds: one device with many apps; large: 16 to 64 devices. The last line is "COUNT seeds, N
 * broken, S s".
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <segue.h>

struct shape {
  size_t devices, apps, events;
};

static const struct shape USUAL = {5, 10, 200};

/* Up to 24 devices, 48 apps and 600 events; each third is larger by half, and shorter. */
static struct shape shape_of(uint64_t seed) {
  uint64_t random = (seed + 1) * 0x9e3779b97f4a7c15ULL;
  random = (random ^ (random >> 29)) * 0xbf58476d1ce4e5b9ULL;
  random ^= random >> 32;
  struct shape shape = {1 + random % 24, 1 + (random >> 16) % 48, 1 + (random >> 32) % 600};
  if ((random >> 48) % 3 == 0)
    shape = (struct shape){shape.devices * 3 / 2, shape.apps * 3 / 2, shape.events / 2};
  return shape;
}

/* One device, 60 to 400 apps, and up to 600 events. */
static struct shape crowd_of(uint64_t seed) {
  struct shape shape = shape_of(seed);
  return (struct shape){1, 60 + (shape.devices * 997 + shape.apps * 31) % 341, shape.events};
}

/* 16 to 64 devices, about as many apps, and up to 150 events. */
static struct shape large_of(uint64_t seed) {
  struct shape shape = shape_of(seed);
  size_t devices = 16 + (shape.events * 7 + shape.apps) % 49;
  return (struct shape){devices, 8 + (devices + shape.apps) % 57, 1 + shape.events % 150};
}

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
  /* A test that is killed leaves no process behind that plays on. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  uint64_t first = strtoull(arguments[1], NULL, 10), seeds = strtoull(arguments[2], NULL, 10), broken = 0;
  const char *what = count > 3 ? arguments[3] : "";
  struct shape given = USUAL;
  if (count == 6)
    given = (struct shape){strtoull(arguments[3], NULL, 10), strtoull(arguments[4], NULL, 10),
                           strtoull(arguments[5], NULL, 10)};
  double began = now();
  for (uint64_t seed = first; seed < first + seeds; seed++) {
    segue_fleet *fleet;
    char *text;
    must(segue_fleet_create(seed, &fleet), seed);
    struct shape shape = strcmp(what, "shapes") == 0   ? shape_of(seed)
                         : strcmp(what, "crowds") == 0 ? crowd_of(seed)
                         : strcmp(what, "large") == 0  ? large_of(seed)
                                                       : given;
    must(segue_fleet_play(fleet, shape.devices, shape.apps, shape.events), seed);
    must(segue_fleet_check(fleet, &text, NULL), seed);
    if (text != NULL) {
      broken++;
      printf("BROKEN %" PRIu64 " (%zu %zu %zu) %s\n", seed, shape.devices, shape.apps, shape.events, text);
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
    must(segue_release(fleet), seed);
  }
  size_t handles;
  must(segue_debug_live_handles(&handles), 0);
  if (handles != 0)
    broken++;
  printf("%" PRIu64 " seeds, %" PRIu64 " broken, %.3f s\n", seeds, broken, now() - began);
  return broken == 0 ? 0 : 1;
}
