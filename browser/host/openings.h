/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pages that this browser continues (R12.3): each is answered when the extension says how its opening has ended. */
#ifndef OPENINGS_H
#define OPENINGS_H

#include <segue.h>

#include "channel.h"

/** Pages that are being opened; one more fails the oldest. */
#define OPENINGS_MOST 16

struct opening {
  segue_continuation *continuation;
  segue_activity *activity;
  int64_t number;
};

struct openings {
  struct channel *channel;
  int64_t last_number;
  struct opening list[OPENINGS_MOST];
};

/** Gives the app a delegate that opens pages. The caller owns the delegate. */
segue_status openings_prepare(struct openings *openings, struct channel *channel, segue_app *app,
                              segue_app_delegate **delegate);
/** {"t": "opened", "deferred" or "failed"}: answers a continuation. */
void openings_opened(struct openings *openings, const segue_value *message);
void openings_deferred(struct openings *openings, const segue_value *message);
void openings_failed(struct openings *openings, const segue_value *message);

#endif
