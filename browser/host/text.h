/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Text of pages and of other apps, made harmless. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Copies text without control characters, marks of direction and invisible marks, cut to a number of characters.
 *   text        UTF-8 of length bytes; what is malformed ends the copy
 *   characters  the most that are kept
 *   result      room for 4 * characters + 1 bytes; NUL-terminated
 * Returns the length of the result in bytes.
 */
size_t text_clean(const char *text, size_t length, size_t characters, char *result);

/**
 * Tells whether a text is a URL that may be offered or opened: http or https, a host, no user and no password, no byte
 * outside of printable ASCII, at most URL_MOST bytes.
 */
bool text_is_page_url(const char *url, size_t length);

/** Bytes of a URL. */
#define URL_MOST 8192

#endif
