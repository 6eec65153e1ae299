/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The words of a search: as the agent takes them for saved activities, and as offers are compared with them. */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stddef.h>

/** Words, and bytes of a query, that the agent takes (segue.h, "search"). */
#define WORDS_MOST 32
#define QUERY_MOST 1024
/** Bytes of a folded text, NUL included; a longer one is cut. */
#define FOLDED_SIZE 4096

struct words {
  /** the query for the agent: each word is the begin of one */
  char query[QUERY_MOST + 1];
  size_t length, count;
  /** the same, folded, each with a NUL at its end */
  char folded[FOLDED_SIZE];
  size_t folded_length;
};

/** Adds the words of a text. Returns false if there are too many: nothing is found then. */
bool words_add(struct words *words, const char *text);
/** Tells whether a text, folded, has words that begin with all of these. */
bool words_match(const struct words *words, const char *folded);
/**
 * Folds a text: in lower case, Latin letters without accents.
 *   folded  out: FOLDED_SIZE bytes, from `length` on
 * Returns the new length.
 */
size_t words_fold(const char *text, char *folded, size_t length);

#endif
