/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The public types of activities (R13.2): user_info is checked by the table share/public-types.toml, and converted
 * between values of the library and plain JSON. */
#ifndef PUBLIC_TYPES_H
#define PUBLIC_TYPES_H

#include <segue.h>
#include <stdbool.h>
#include <stddef.h>

#include "problem.h"

/** The payload version of public types; 0 counts as this (R13.3). */
#define PUBLIC_VERSION 1
/** Bytes of `text` above which it travels as an attachment. */
#define TEXT_MOST (64u * 1024)
/** The key, and the name of the attachment. */
#define TEXT_KEY "text"

struct public_type;

/** Returns a type of the table, NULL if it has none of this name. name  NUL-terminated */
const struct public_type *public_type_named(const char *name);

/** URL keys become URLs, for the library. */
#define FOR_LIBRARY false
/** URL keys become strings, for the host. */
#define FOR_HOST true

/**
 * Checks user_info and gives each key of the table its kind. Other keys stay as they are.
 *   user_info  borrowed: a dictionary; NULL: an empty one
 *   text       borrowed, may be NULL: the entry `text` that has travelled as an attachment; it wins
 *   id         borrowed, NUL-terminated: names the activity in the log, which says what is left out
 *   result     out, owned: release with segue_release
 *   long_text  out, owned, may be NULL: an entry `text` above TEXT_MOST, which result then lacks; NULL: there is none
 * Returns false if a required entry is missing or wrong.
 */
bool public_type_convert(const struct public_type *type, const segue_value *user_info, const segue_value *text,
                         bool for_host, const char *id, segue_value **result, segue_value **long_text,
                         struct problem *problem);

#endif
