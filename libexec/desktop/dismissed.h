/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Activities of which the user wants to hear no more. They outlive this process. */
#ifndef DISMISSED_H
#define DISMISSED_H

#include <segue.h>
#include <stdbool.h>
#include <stddef.h>

/** Activities that are remembered; the oldest are forgotten for new ones. */
#define DISMISSED_MOST 512

struct dismissed {
  unsigned char ids[DISMISSED_MOST][SEGUE_ID_SIZE];
  size_t count;
  /** the place of the next one */
  size_t next;
};

/** Reads $XDG_STATE_HOME/segue-desktop/dismissed. */
void dismissed_read(struct dismissed *dismissed);
bool dismissed_has(const struct dismissed *dismissed, const unsigned char *id);
/** Remembers an activity, and writes the file. */
void dismissed_add(struct dismissed *dismissed, const unsigned char *id);

#endif
