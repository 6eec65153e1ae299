/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>
#include <stdint.h>

/**
 * Decodes the first character of a text (RFC 3629).
 *   character  out, may be NULL
 * Returns its bytes, 1 to 4; 0 if the text is empty, or does not begin with a whole character.
 */
size_t utf8_decode(const char *text, size_t length, uint32_t *character);

#endif
