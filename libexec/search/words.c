/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "words.h"

#include <ctype.h>
#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <wctype.h>

#include "utf8.h"

#define BLANKS " \t\n\v\f\r"

/** The letters from U+00C0 to U+017F without their accents; a blank: it stays as it is. */
static const char latin[] = "aaaaaa ceeeeiiii nooooo ouuuuy  aaaaaa ceeeeiiii nooooo ouuuuy y"
                            "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii  jjkk llllll "
                            " llnnnnnn   oooooo  rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzz ";
_Static_assert(sizeof latin == 0x180 - 0xc0 + 1, "a letter for each character");

/** A locale that knows the letters of all languages; made once. */
static locale_t letters(void) {
  static locale_t made;
  if (!made)
    made = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  return made;
}

/** Folds a character. Returns 0 for an accent that stands alone. */
static uint32_t fold(uint32_t character) {
  if (character < 0x80)
    return (uint32_t)tolower((int)character);
  if (character >= 0x300 && character < 0x370)
    return 0;
  if (character >= 0xc0 && character < 0x180 && latin[character - 0xc0] != ' ')
    return (unsigned char)latin[character - 0xc0];
  return letters() ? (uint32_t)towlower_l((wint_t)character, letters()) : character;
}

/** Writes a character as UTF-8. Returns its bytes. */
static size_t encode(uint32_t character, char *bytes) {
  if (character < 0x80)
    return bytes[0] = (char)character, 1;
  size_t size = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
  for (size_t index = size - 1; index > 0; index--, character >>= 6)
    bytes[index] = (char)(0x80 | (character & 0x3f));
  bytes[0] = (char)((size == 2 ? 0xc0u : size == 3 ? 0xe0u : 0xf0u) | character);
  return size;
}

size_t words_fold(const char *text, char *folded, size_t length) {
  size_t rest = strlen(text);
  for (size_t size; rest > 0 && length + 4 < FOLDED_SIZE; text += size, rest -= size) {
    uint32_t character = 0;
    size = utf8_decode(text, rest, &character);
    if (size == 0) {
      size = 1;
      continue;
    }
    character = fold(character);
    if (character != 0)
      length += encode(character, folded + length);
  }
  folded[length] = '\0';
  return length;
}

/** Tells whether anything is in a word that can be found: letters and digits, and whatever is beyond ASCII. */
static bool has_letters(const char *word) {
  for (; *word; word++)
    if (isalnum((unsigned char)*word) || (unsigned char)*word >= 0x80)
      return true;
  return false;
}

/** Adds a word, which ends where a blank or the text does. Marks and symbols alone are no word. */
static bool add(struct words *words, const char *word, size_t length) {
  char copy[QUERY_MOST + 1];
  bool is_prefix = word[length - 1] == '*';
  size_t needed = length + !is_prefix + (words->length > 0);
  if (words->count >= WORDS_MOST || needed > QUERY_MOST || words->length + needed > QUERY_MOST ||
      words->folded_length + 3 * length + 4 > FOLDED_SIZE)
    return false;
  memcpy(copy, word, length);
  copy[length - is_prefix] = '\0';
  size_t folded_length = words_fold(copy, words->folded, words->folded_length);
  if (!has_letters(words->folded + words->folded_length))
    return true;
  words->folded_length = folded_length + 1;
  if (words->length > 0)
    words->query[words->length++] = ' ';
  memcpy(words->query + words->length, word, length);
  words->length += length;
  if (!is_prefix)
    words->query[words->length++] = '*';
  words->query[words->length] = '\0';
  words->count++;
  return true;
}

bool words_add(struct words *words, const char *text) {
  for (text += strspn(text, BLANKS); *text; text += strspn(text, BLANKS)) {
    size_t length = strcspn(text, BLANKS);
    if (!add(words, text, length))
      return false;
    text += length;
  }
  return true;
}

/** Tells whether a word can begin at a place of a text: after a blank or a mark; beyond ASCII anywhere, as Chinese,
 * Japanese and Korean have no blanks between words. */
static bool can_begin(const char *text, const char *place) {
  return place == text || (unsigned char)*place >= 0x80 || !isalnum((unsigned char)place[-1]);
}

static bool has(const char *text, const char *word) {
  for (const char *place = text; (place = strstr(place, word)); place++)
    if (can_begin(text, place))
      return true;
  return false;
}

bool words_match(const struct words *words, const char *folded) {
  const char *word = words->folded;
  for (size_t index = 0; index < words->count; index++, word += strlen(word) + 1)
    if (!has(folded, word))
      return false;
  return true;
}
