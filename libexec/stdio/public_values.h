/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The values in user_info of a public type: each has the kind and the form of its key in the table. */
#ifndef PUBLIC_VALUES_H
#define PUBLIC_VALUES_H

#include <segue.h>
#include <stdbool.h>
#include <stddef.h>

enum key_kind { KEY_STRING, KEY_INTEGER, KEY_DOUBLE, KEY_BOOL, KEY_URL, KEY_URLS };
enum form { FORM_ANY, FORM_DIGEST, FORM_MIME, FORM_LINE, FORM_NAME };

struct public_key {
  const char *name;
  enum key_kind kind;
  enum form form;
  bool has_least, has_most, local;
  double least, most;
  /** of FORM_NAME: the characters, as ranges */
  const char *first, *rest;
  /** words with blanks between; NULL: any */
  const char *values, *schemes;
};

/** A text of the entry that is checked. */
struct text {
  const char *bytes;
  size_t length;
};

/** Tells whether a text is one of the words that blanks separate. */
bool text_is_word_of(const char *words, struct text text, bool ignores_case);

#define PROBLEM_USER "a URL with a user or a password is not handed over"

/** Puts one value by its key. Returns a problem; NULL: there is none. */
const char *public_value_put(const struct public_key *key, const segue_value *value, bool for_host,
                             segue_writer *writer);

/** Tells whether a URL has a user or a password: it is never handed over. */
bool url_has_user(const char *url, size_t length);

#endif
