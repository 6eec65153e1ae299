/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The text of an activity that has travelled as an attachment, and belongs into user_info. */
#ifndef ATTACHED_TEXT_H
#define ATTACHED_TEXT_H

#include <segue.h>
#include <stdbool.h>
#include <stdint.h>

#include "problem.h"

struct attached_text {
  /** NULL: nothing is being fetched */
  segue_transfer *transfer;
  /** in memory, while something is being fetched */
  int file;
};

/** Returns the bytes of the attachment that belongs into user_info; 0: there is none. */
uint64_t attached_text_size(segue_activity *activity);
/**
 * Fetches the attachment. Returns false if it does not begin; then `destroy` was called.
 *   done  called once, if it begins, unless it is stopped
 */
bool attached_text_fetch(struct attached_text *text, segue_activity *activity, segue_fetched_function done,
                         void *context, segue_destroy destroy, struct problem *problem);
/** Reads as a text what was fetched. Returns NULL if it is none; otherwise: release with segue_release. */
segue_value *attached_text_read(const struct attached_text *text);
/** Releases what has ended. */
void attached_text_end(struct attached_text *text);
/** Ends the fetch, if one goes on. */
void attached_text_stop(struct attached_text *text);

#endif
