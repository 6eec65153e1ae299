/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tells people if the agent is stopped: its answer may come once it goes on. */
#ifndef STOPPED_H
#define STOPPED_H

#include <segue.h>

/** Looks every two seconds, until it has told people, or the wait is over. */
void stopped_begin(segue_app *app);
void stopped_end(void);

#endif
