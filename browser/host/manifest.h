/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The host's entry in a browser: a file of native messaging. */
#ifndef MANIFEST_H
#define MANIFEST_H

#include <stdbool.h>

/**
 * Prints the file for a browser to standard output: {"name": ..., "path": this program, "allowed_...": [...]}.
 *   browser  "firefox" or "chromium", for all that are like it
 * Returns false for another word, or if the program does not know its path.
 */
bool manifest_print(const char *browser);

/** Tells whether the arguments are those of a browser that was started by our extension, and by which kind. */
bool manifest_allows(int count, char *const *arguments, bool *is_firefox);

#endif
