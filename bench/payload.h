/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The payload of the codec figures: what a note-taking app might keep, about 750 bytes. Both libraries build it from
 * these constants. */
#ifndef PAYLOAD_H
#define PAYLOAD_H

#include <stdint.h>

#define PAYLOAD_DOCUMENT "/home/anna/notes/shopping list.txt"
#define PAYLOAD_LINE 1234
#define PAYLOAD_SCROLL 0.3712
#define PAYLOAD_EDITED 1700000000.25
#define PAYLOAD_SELECTION_START 17
#define PAYLOAD_SELECTION_END 344
#define PAYLOAD_SECTIONS 8

/** A thumbnail of 256 bytes. */
static inline const uint8_t *payload_thumbnail(void) {
  static uint8_t bytes[256];
  for (int i = 0; i < 256; i++)
    bytes[i] = (uint8_t)(i * 37);
  return bytes;
}

/** The result of reading every leaf, which must be the same for both libraries. */
struct payload_sum {
  uint64_t items, bytes, numbers;
  double reals;
};

#endif
