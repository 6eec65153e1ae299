/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offers and saved activities as results: whether the user wants them, and the words that are shown. */
#ifndef FOUND_H
#define FOUND_H

#include "results.h"
#include "settings.h"
#include "words.h"

/** Tells whether an offer is wanted, and has all the words in its title, or the names of its app and device. */
bool found_matches(const segue_offer *offer, const struct settings *settings, const struct words *words);
/** Makes a result of an offer. Returns false: it cannot be shown. */
bool found_offer(struct found *found, const struct settings *settings, segue_offer *offer);
/** Returns how many results an answer to the request "search" has. */
size_t found_saved_count(const segue_value *answer);
/** Makes a result of one of them; found->saved is owned by the caller. Returns false: it is not wanted. */
bool found_saved(struct found *found, const struct settings *settings, const segue_value *answer, size_t index);

#endif
