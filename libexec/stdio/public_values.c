/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "public_values.h"

#include <string.h>
#include <strings.h>

#include "public_types.h"

bool text_is_word_of(const char *words, struct text text, bool ignores_case) {
  for (const char *word = words; word; word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL) {
    size_t length = strcspn(word, " ");
    if (length == text.length &&
        (ignores_case ? strncasecmp(word, text.bytes, length) == 0 : memcmp(word, text.bytes, length) == 0))
      return true;
  }
  return false;
}

/** Tells whether a character is in ranges such as A-Z0-9._-, where a - at the end means itself. */
static bool is_in(const char *ranges, unsigned char character) {
  for (const char *at = ranges; *at; at++) {
    bool is_range = at[1] == '-' && at[2] != '\0';
    if (is_range ? character >= (unsigned char)at[0] && character <= (unsigned char)at[2]
                 : character == (unsigned char)at[0])
      return true;
    at += is_range ? 2 : 0;
  }
  return false;
}

static bool are_all_in(const char *ranges, struct text text) {
  for (size_t index = 0; index < text.length; index++)
    if (!is_in(ranges, (unsigned char)text.bytes[index]))
      return false;
  return text.length > 0;
}

static bool has_form(const struct public_key *key, struct text text) {
  static const char digest[] = "sha-256:", token[] = "A-Za-z0-9!#$&^_.+-";
  struct text left = {text.bytes + 1, text.length - 1};
  const char *slash;
  switch (key->form) {
  case FORM_DIGEST:
    return text.length == strlen(digest) + 64 && memcmp(text.bytes, digest, strlen(digest)) == 0 &&
           are_all_in("0-9a-f", (struct text){text.bytes + strlen(digest), 64});
  case FORM_MIME:
    slash = text.length > 0 ? memchr(text.bytes, '/', text.length) : NULL;
    return slash && are_all_in(token, (struct text){text.bytes, (size_t)(slash - text.bytes)}) &&
           are_all_in(token, (struct text){slash + 1, text.length - 1 - (size_t)(slash - text.bytes)});
  case FORM_LINE:
    for (size_t index = 0; index < text.length; index++)
      if ((unsigned char)text.bytes[index] < 0x20 || text.bytes[index] == 0x7f)
        return false;
    return text.length > 0 && text.bytes[0] != '-';
  case FORM_NAME:
    return text.length > 0 && is_in(key->first, (unsigned char)text.bytes[0]) &&
           (text.length == 1 || are_all_in(key->rest, left));
  default:
    return true;
  }
}

bool url_has_user(const char *url, size_t length) {
  const char *colon = memchr(url, ':', length);
  size_t left = colon ? length - (size_t)(colon - url) : 0;
  if (left < 3 || colon[1] != '/' || colon[2] != '/')
    return false;
  for (size_t index = 3; index < left; index++) {
    if (colon[index] == '@')
      return true;
    if (colon[index] == '/' || colon[index] == '?' || colon[index] == '#')
      return false;
  }
  return false;
}

/** Puts a URL, or its string. Returns a problem. */
static const char *put_url(const struct public_key *key, struct text url, bool for_host, segue_writer *writer) {
  const char *colon = url.length > 0 ? memchr(url.bytes, ':', url.length) : NULL;
  size_t scheme = colon ? (size_t)(colon - url.bytes) : 0, rest = url.length - scheme - 1;
  segue_value *checked = NULL;
  segue_writer *alone = NULL;
  segue_status status = colon ? segue_writer_create(&alone) : SEGUE_ERROR_INVALID_URL;
  segue_writer_put_url(alone, url.bytes, url.length);
  if (status == SEGUE_OK)
    status = segue_writer_finish(alone, &checked);
  segue_release(alone);
  if (status != SEGUE_OK)
    return "a URL is needed";
  const char *problem = NULL;
  if (url_has_user(url.bytes, url.length))
    problem = PROBLEM_USER;
  else if (key->schemes && !text_is_word_of(key->schemes, (struct text){url.bytes, scheme}, true))
    problem = "a URL of another scheme is needed";
  else if (key->local &&
           (rest < 1 || colon[1] != '/' || (rest > 1 && colon[2] == '/' && (rest < 3 || colon[3] != '/'))))
    problem = "a file URL without host is needed";
  else if (for_host)
    segue_writer_put_string(writer, url.bytes, url.length);
  else
    segue_writer_put_value(writer, checked);
  segue_release(checked);
  return problem;
}

/** Puts a text by its key. Returns a problem. */
static const char *put_text(const struct public_key *key, segue_kind kind, struct text text, bool for_host,
                            segue_writer *writer) {
  if (key->kind == KEY_URL || key->kind == KEY_URLS)
    return put_url(key, text, for_host, writer);
  if (kind != SEGUE_KIND_STRING)
    return "a string is needed";
  if (key->values && !text_is_word_of(key->values, text, false))
    return "another value is needed";
  if (!has_form(key, text))
    return "the string has another form";
  segue_writer_put_string(writer, text.bytes, text.length);
  return NULL;
}

static const char *put_number(const struct public_key *key, const segue_item *item, segue_writer *writer) {
  bool is_double = item->kind == SEGUE_KIND_DOUBLE;
  double real = is_double ? item->as.real : item->negative ? (double)item->as.int64 : (double)item->as.uint64;
  /* Both bounds are doubles, and every double between them is an int64. An integer may be between two doubles. */
  bool fits = is_double ? real >= -9223372036854775808.0 && real < 9223372036854775808.0
                        : item->negative || item->as.uint64 <= INT64_MAX;
  if (key->kind == KEY_INTEGER && (!fits || (is_double && real != (double)(int64_t)real)))
    return "an integer is needed";
  if (real != real || real - real != 0)
    return "a finite number is needed";
  if ((key->has_least && real < key->least) || (key->has_most && real > key->most))
    return "the number is out of range";
  if (key->kind == KEY_DOUBLE)
    segue_writer_put_double(writer, real);
  else
    segue_writer_put_int64(writer, is_double ? (int64_t)real : item->as.int64);
  return NULL;
}

static const char *put_urls(const struct public_key *key, const segue_value *value, bool for_host,
                            segue_writer *writer) {
  segue_reader *reader = NULL;
  segue_item item = {0};
  const char *problem = NULL;
  segue_reader_create(value, &reader);
  segue_reader_next(reader, &item, NULL, 0);
  segue_writer_begin(writer, SEGUE_KIND_ARRAY);
  while (!problem && segue_reader_next(reader, &item, NULL, 0) == SEGUE_OK && item.kind != SEGUE_KIND_END) {
    segue_value *element = NULL;
    char *url = NULL;
    size_t length = 0;
    segue_reader_take(reader, &element);
    problem = segue_value_find_string(element, "", 0, &url, &length) == SEGUE_OK
                  ? put_url(key, (struct text){url, length}, for_host, writer)
                  : "an array of URLs is needed";
    segue_free(url);
    segue_release(element);
  }
  segue_writer_end(writer);
  segue_release(reader);
  return problem;
}

const char *public_value_put(const struct public_key *key, const segue_value *value, bool for_host,
                             segue_writer *writer) {
  segue_reader *reader = NULL;
  segue_item item = {0};
  segue_reader_create(value, &reader);
  segue_reader_next(reader, &item, NULL, 0);
  segue_release(reader);
  char *text = NULL;
  size_t length = 0;
  const char *problem = NULL;
  bool is_number = item.kind == SEGUE_KIND_INTEGER || item.kind == SEGUE_KIND_DOUBLE;
  switch (key->kind) {
  case KEY_BOOL:
    if (item.kind != SEGUE_KIND_BOOL)
      return "a bool is needed";
    segue_writer_put_bool(writer, item.as.boolean);
    return NULL;
  case KEY_INTEGER:
  case KEY_DOUBLE:
    if (!is_number)
      return key->kind == KEY_INTEGER ? "an integer is needed" : "a number is needed";
    return put_number(key, &item, writer);
  case KEY_URLS:
    return item.kind == SEGUE_KIND_ARRAY ? put_urls(key, value, for_host, writer) : "an array of URLs is needed";
  default:
    if (segue_value_find_string(value, "", 0, &text, &length) != SEGUE_OK)
      return key->kind == KEY_URL ? "a URL is needed" : "a string is needed";
    problem = put_text(key, item.kind, (struct text){text, length}, for_host, writer);
    segue_free(text);
    return problem;
  }
}
