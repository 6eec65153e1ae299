/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The place on a page (R12.6). It travels in user_info under SegueBrowserState. */
#ifndef POSITION_H
#define POSITION_H

#include <segue.h>
#include <stdbool.h>

/** Characters of the first visible block, of its surroundings, and of an id. */
#define POSITION_TEXT 80
#define POSITION_CONTEXT 32
#define POSITION_ID 128

/** The key in user_info. */
#define POSITION_KEY "SegueBrowserState"

/** All texts are clean (text_clean), and empty if they are absent. */
struct position {
  char text[POSITION_TEXT * 4 + 1];
  char before[POSITION_CONTEXT * 4 + 1];
  char after[POSITION_CONTEXT * 4 + 1];
  char id[POSITION_ID * 4 + 1];
  /** 0 ... 1 of the height of the page; negative if absent */
  double fraction;
};

/**
 * Reads a position from a dictionary of the extension or of another app. Members that are missing, of another kind or
 * out of range are left out. Returns false if nothing remains.
 */
bool position_read(const segue_value *dictionary, struct position *position);

/** Writes it as a dictionary, as one item of a writer. */
void position_write(const struct position *position, segue_writer *writer);

#endif
