/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The browsers that the extension runs in, by the names that it gives them. */
#ifndef BROWSERS_H
#define BROWSERS_H

#include <stdbool.h>

struct browser {
  /** the word of the extension's "hello" */
  const char *word;
  const char *bundle_identifier;
  /** for people */
  const char *name;
  /** starts the host as Firefox does; the others as Chromium does */
  bool is_firefox;
};

/** Returns NULL for a word that is not known. */
const struct browser *browser_named(const char *word);

#endif
