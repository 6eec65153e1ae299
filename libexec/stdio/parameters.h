/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The parameters of a request, which are a dictionary. */
#ifndef PARAMETERS_H
#define PARAMETERS_H

#include <segue.h>
#include <stdbool.h>
#include <stddef.h>

#include "problem.h"

/** A member may be absent, null, or anything else. */
enum presence { ABSENT, CLEARED, GIVEN };

/** value  out, owned: release with segue_release; NULL unless the member is GIVEN */
enum presence parameter(const segue_value *parameters, const char *key, segue_value **value);

/**
 * Gets a text without NUL.
 *   text  out, owned: free with segue_free; NULL if the member is absent or null
 */
bool parameter_text(const segue_value *parameters, const char *key, char **text, size_t *length,
                    struct problem *problem);
/** Gets a text that has to be there, of at most 255 bytes and not empty. */
bool parameter_name(const segue_value *parameters, const char *key, char **text, struct problem *problem);
/** Gets a bool. value  in: the default; out */
bool parameter_bool(const segue_value *parameters, const char *key, bool *value, struct problem *problem);
/** Gets seconds as milliseconds. milliseconds  in: the default; out: 1 to 3600000 */
bool parameter_seconds(const segue_value *parameters, const char *key, uint32_t *milliseconds, struct problem *problem);

#endif
