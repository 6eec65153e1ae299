/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef REQUESTS_H
#define REQUESTS_H

#include "segue.h"

/** Makes the options {"activity": id} of a request to the agent. id: SEGUE_ID_SIZE bytes. The caller releases them.
 * NULL: there is no memory. */
segue_value *activity_options(const uint8_t *id);

#endif
