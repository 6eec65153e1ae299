/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Questions about offers that go to the agent, and wait for it: where they are, and whether they can be continued. */
#ifndef ASKING_H
#define ASKING_H

#include <segue.h>
#include <stdbool.h>
#include <stdint.h>

/** Tells whether the agent might answer later: it is not there yet, or not ready. */
bool asking_is_for_now(segue_status status);
/**
 * Gets the account of this device.
 *   account  out, owned; NULL: the agent refuses, and knows no other devices
 */
segue_status asking_account(segue_app *app, segue_value **account);
/**
 * Tells whether a name is that of this device. An offer has only a name: one that this device has counts as here.
 *   account  borrowed, may be NULL
 */
bool asking_is_here(const segue_value *account, const char *name);
/** Asks whether something here can continue an offer. id  SEGUE_ID_SIZE bytes. can_continue  out, also with an error */
segue_status asking_route(segue_app *app, const uint8_t *id, bool *can_continue);

#endif
