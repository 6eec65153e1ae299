/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Texts of other devices, made harmless for a notification. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Characters that are shown of a name or a title. */
#define TEXT_CHARACTERS 80
/** Bytes of a text that text_clean makes, NUL included. */
#define TEXT_SIZE 384
/** Bytes of such a text with its markup escaped, NUL included: an ampersand becomes five bytes. */
#define ESCAPED_SIZE (5 * TEXT_SIZE)

#define TEXT_FIRST_HASH 0xcbf29ce484222325ull

/**
 * Copies a text in one line: without characters that control, hide, or change the direction of writing.
 *   text   borrowed; NULL: as an empty one. Bytes that are no UTF-8 are left out
 *   clean  out: TEXT_SIZE bytes
 */
void text_clean(const char *text, char *clean);
/** Puts look-alikes in place of angle brackets: the spec gives summaries no markup, but some servers read one. */
void text_unmark(const char *clean, char *unmarked);
/**
 * Escapes markup, if the server reads any.
 *   escaped  out: ESCAPED_SIZE bytes
 */
void text_escape(const char *clean, bool has_markup, char *escaped);
/** FNV-1a, 64 bits: continues with a text, from TEXT_FIRST_HASH. */
uint64_t text_hash(uint64_t value, const char *text);

#endif
