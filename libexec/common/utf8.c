/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "utf8.h"

size_t utf8_decode(const char *text, size_t length, uint32_t *character) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (length == 0)
    return 0;
  unsigned char first = (unsigned char)text[0];
  size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (size == 0 || first > 0xf4 || size > length)
    return 0;
  uint32_t value = size == 1 ? first : first & (0x7fu >> size);
  for (size_t index = 1; index < size; index++) {
    unsigned char next = (unsigned char)text[index];
    if ((next & 0xc0) != 0x80)
      return 0;
    value = value << 6 | (next & 0x3fu);
  }
  if (value < least[size] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
    return 0;
  if (character)
    *character = value;
  return size;
}
