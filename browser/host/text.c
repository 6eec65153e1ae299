/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text.h"
#include "utf8.h"

#include <string.h>
#include <strings.h>

/** Controls, marks of direction, and characters that have no shape. */
static bool is_invisible(uint32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x61c || character == 0xad ||
         (character >= 0x200b && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
         (character >= 0x2060 && character <= 0x206f) || character == 0xfeff ||
         (character >= 0xfff9 && character <= 0xfffb) || (character >= 0xe0000 && character <= 0xe0fff);
}

size_t text_clean(const char *text, size_t length, size_t characters, char *result) {
  size_t written = 0, kept = 0;
  while (kept < characters && length > 0) {
    uint32_t character;
    size_t size = utf8_decode(text, length, &character);
    if (size == 0)
      break;
    if (!is_invisible(character)) {
      memcpy(result + written, text, size);
      written += size;
      kept++;
    }
    text += size;
    length -= size;
  }
  result[written] = '\0';
  return written;
}

bool text_is_page_url(const char *url, size_t length) {
  if (length > URL_MOST)
    return false;
  size_t host = 0;
  if (length > 8 && strncasecmp(url, "https://", 8) == 0)
    host = 8;
  else if (length > 7 && strncasecmp(url, "http://", 7) == 0)
    host = 7;
  if (host == 0)
    return false;
  bool in_authority = true;
  for (size_t index = 0; index < length; index++) {
    unsigned char byte = (unsigned char)url[index];
    if (byte <= 0x20 || byte >= 0x7f || byte == '"' || byte == '<' || byte == '>' || byte == '\\' || byte == '`')
      return false;
    if (index < host || !in_authority)
      continue;
    if (byte == '@')
      return false;
    if (byte == '/' || byte == '?' || byte == '#') {
      if (index == host)
        return false;
      in_authority = false;
    }
  }
  return url[host] != ':';
}
