/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the bench programs: a clock, percentiles, and "name value" lines for bench/run to read. */
#ifndef BENCH_H
#define BENCH_H

#include <segue.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/** Bytes of the message that the raw socket and the D-Bus peer carry in each direction. */
#define BENCH_MESSAGE_SIZE 200

/** Microseconds of the monotonic clock. */
static inline double bench_now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/** Ends the program: a run with an error gives no figure. */
static inline void bench_fail(const char *what, const char *why) {
  fprintf(stderr, "bench: %s: %s\n", what, why);
  exit(1);
}

/** Stops at the first failing call of the library, with its message. */
#define BENCH_CALL(call)                                                                                               \
  do {                                                                                                                 \
    if ((call) != SEGUE_OK) {                                                                                          \
      char message[SEGUE_MESSAGE_SIZE];                                                                                \
      segue_last_error(message, sizeof message);                                                                       \
      bench_fail(#call, message);                                                                                      \
    }                                                                                                                  \
  } while (0)

static inline int bench_compare(const void *left, const void *right) {
  double l = *(const double *)left, r = *(const double *)right;
  return (l > r) - (l < r);
}

/** The value below which `percent` of the samples lie; sorts them. */
static inline double bench_percentile(double *samples, size_t count, double percent) {
  qsort(samples, count, sizeof *samples, bench_compare);
  size_t index = (size_t)((double)(count - 1) * percent / 100.0 + 0.5);
  return samples[index];
}

/** A count from the command line: 1 or more. */
static inline size_t bench_count(const char *text) {
  char *end;
  unsigned long count = strtoul(text, &end, 10);
  if (*end != '\0' || count == 0)
    bench_fail(text, "not a count");
  return count;
}

/** One measured value, as bench/run reads it. */
static inline void bench_print(const char *name, double value) {
  printf("%s %.9g\n", name, value);
  fflush(stdout);
}

#endif
