/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The host gives up what it does not need, before its first thread starts. */
#ifndef CONFINEMENT_H
#define CONFINEMENT_H

/**
 * No new privileges; no other program; no socket but those of the machine; no files but the runtime folder (to write)
 * and those of the system (to read). A kernel without Landlock leaves the last one out. Returns the call that failed,
 * else NULL.
 */
const char *confine(void);

#endif
