/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The host gives up what it does not need, before its first thread starts. */
#ifndef CONFINEMENT_H
#define CONFINEMENT_H

#include <stdbool.h>

/**
 * No new privileges; no other program; no socket but those of the machine; no call that reaches another process or gets
 * around this (Sources/CLinux/refused_calls.h); no files but the runtime folder (to write) and those of the system (to
 * read). A kernel without Landlock leaves the files out, one with an old version what that cannot refuse. Returns the
 * call that failed, else NULL.
 */
const char *confine(void);

/** Tells whether the runtime folder was deleted: this process may not use the one that takes its place. */
bool confine_is_over(void);

#endif
