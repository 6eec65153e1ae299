/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Messages to the extension: one dictionary a frame, with the kind under "t". browser/README.md lists them. */
#ifndef CHANNEL_H
#define CHANNEL_H

#include <segue.h>

#include "frames.h"

struct channel {
  struct frame_writer frames;
  /** of the message that is being written */
  segue_writer *writer;
  /** NULL as long as all is well; then the host ends */
  frame_problem problem;
};

/** Begins a message of a kind. Put keys and values into the writer that it gives, then send. */
segue_writer *channel_begin(struct channel *channel, const char *kind);
void channel_put_text(struct channel *channel, const char *key, const char *text);
void channel_put_number(struct channel *channel, const char *key, int64_t number);
void channel_send(struct channel *channel);

/** Sends {"t": "refused", "reason": ..., "tab": ...}; without a tab (negative) the host ends. */
void channel_refuse(struct channel *channel, int64_t tab, const char *reason);

#endif
