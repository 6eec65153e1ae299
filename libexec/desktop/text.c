/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text.h"

#include <stdint.h>
#include <string.h>

#include "utf8.h"

struct range {
  uint32_t first, last;
};

/** Characters that show nothing, or change how others are shown (Unicode: Cc, Cf, Zl, Zp, blank fillers, tags). */
static const struct range hidden[] = {
    {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},
    {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
    {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
    {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
};

static bool is_hidden(uint32_t character) {
  for (size_t index = 0; index < sizeof hidden / sizeof *hidden; index++)
    if (character >= hidden[index].first && character <= hidden[index].last)
      return true;
  return false;
}

/** Tells whether a character separates words: among the hidden ones, those that end a line or a column. */
static bool is_blank(uint32_t character) {
  return character == ' ' || (character >= 0x09 && character <= 0x0d) || character == 0x85 || character == 0xa0 ||
         character == 0x2028 || character == 0x2029;
}

void text_clean(const char *text, char *clean) {
  size_t length = text ? strlen(text) : 0, written = 0, characters = 0;
  bool is_pending = false;
  for (size_t index = 0, size; index < length; index += size) {
    uint32_t character = 0;
    size = utf8_decode(text + index, length - index, &character);
    if (size == 0 || is_blank(character) || is_hidden(character)) {
      is_pending = is_pending || (size > 0 && is_blank(character));
      size = size > 0 ? size : 1;
      continue;
    }
    if (characters + (is_pending && written > 0) >= TEXT_CHARACTERS) {
      written += (size_t)(stpcpy(clean + written, "…") - (clean + written));
      break;
    }
    if (is_pending && written > 0) {
      clean[written++] = ' ';
      characters++;
    }
    is_pending = false;
    memcpy(clean + written, text + index, size);
    written += size;
    characters++;
  }
  clean[written] = '\0';
}

/** Replaces characters of ASCII by the texts of a table. */
static void replace(const char *text, const char *from, const char *const *to, char *out) {
  for (; *text; text++) {
    const char *found = strchr(from, *text);
    if (found)
      out = stpcpy(out, to[found - from]);
    else
      *out++ = *text;
  }
  *out = '\0';
}

void text_unmark(const char *clean, char *unmarked) {
  static const char *const to[] = {"‹", "›"};
  replace(clean, "<>", to, unmarked);
}

void text_escape(const char *clean, bool has_markup, char *escaped) {
  static const char *const to[] = {"&lt;", "&gt;", "&amp;"};
  replace(clean, has_markup ? "<>&" : "", to, escaped);
}

uint64_t text_hash(uint64_t value, const char *text) {
  for (; *text; text++)
    value = (value ^ (unsigned char)*text) * 0x100000001b3ull;
  return value;
}
