/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "public_types.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "channel.h"

/** Groups of required keys that a type may have. */
#define GROUPS_MOST 2

enum key_kind { KEY_STRING, KEY_INTEGER, KEY_DOUBLE, KEY_BOOL, KEY_URL, KEY_URLS };
enum form { FORM_ANY, FORM_DIGEST, FORM_MIME, FORM_LINE, FORM_NAME };

struct public_key {
  const char *name;
  enum key_kind kind;
  enum form form;
  bool has_least, has_most, local;
  double least, most;
  /** of FORM_NAME: the characters, as ranges */
  const char *first, *rest;
  /** words with blanks between; NULL: any */
  const char *values, *schemes;
};

struct public_type {
  const char *name;
  const struct public_key *keys;
  size_t key_count;
  /** of each group one key is required: words with blanks between */
  const char *required[GROUPS_MOST];
};

#include "public_types.inc"

/** A text of the entry that is checked. */
struct text {
  const char *bytes;
  size_t length;
};

const struct public_type *public_type_named(const char *name) {
  for (size_t index = 0; index < sizeof public_types / sizeof *public_types; index++)
    if (strcmp(public_types[index].name, name) == 0)
      return &public_types[index];
  return NULL;
}

static const struct public_key *key_named(const struct public_type *type, struct text name) {
  for (size_t index = 0; index < type->key_count; index++)
    if (strlen(type->keys[index].name) == name.length && memcmp(type->keys[index].name, name.bytes, name.length) == 0)
      return &type->keys[index];
  return NULL;
}

/** Tells whether a text is one of the words that blanks separate. */
static bool is_word_of(const char *words, struct text text, bool ignores_case) {
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

static const char has_user[] = "a URL with a user or a password is not handed over";

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
    problem = has_user;
  else if (key->schemes && !is_word_of(key->schemes, (struct text){url.bytes, scheme}, true))
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
  if (key->values && !is_word_of(key->values, text, false))
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

/** Puts one value by its key. Returns a problem. */
static const char *put(const struct public_key *key, const segue_value *value, bool for_host, segue_writer *writer) {
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

/** The state of one conversion. */
struct conversion {
  const struct public_type *type;
  bool for_host;
  const char *id;
  segue_writer *result;
  /** takes a long `text` in place of result; may be NULL */
  segue_value **long_text;
  struct problem *problem;
  /** the keys of the table that were put: a bit each */
  uint64_t put;
};

static bool is_required(const struct public_type *type, const char *name) {
  for (int group = 0; group < GROUPS_MOST; group++)
    if (type->required[group] && is_word_of(type->required[group], (struct text){name, strlen(name)}, false))
      return true;
  return false;
}

static bool refuse(struct conversion *conversion, const char *name, const char *reason) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "userInfo%s%s", name[0] != '\0' ? "/" : "", name);
  return problem_parameter(conversion->problem, path, reason);
}

static void leave_out(const struct conversion *conversion, const char *key, const char *reason) {
  log_line("%s: userInfo/%s is left out: %s", conversion->id, key, reason);
}

/** Puts an entry of the table whose value is good, or gives it out as the long text. */
static void put_known(struct conversion *conversion, const struct public_key *key, segue_value *made) {
  char *text = NULL;
  size_t length = 0;
  if (conversion->long_text && strcmp(key->name, TEXT_KEY) == 0)
    segue_value_find_string(made, "", 0, &text, &length);
  if (length > TEXT_MOST && segue_retain(made) == SEGUE_OK) {
    segue_release(*conversion->long_text);
    *conversion->long_text = made;
  } else {
    segue_writer_put_string(conversion->result, key->name, SEGUE_NUL_TERMINATED);
    segue_writer_put_value(conversion->result, made);
  }
  segue_free(text);
  conversion->put |= UINT64_C(1) << (key - conversion->type->keys);
}

/** Takes an entry whose key is in the table. Returns false if it is required, and wrong. */
static bool take_known(struct conversion *conversion, const struct public_key *key, const segue_value *value) {
  segue_writer *alone = NULL;
  segue_value *made = NULL;
  segue_writer_create(&alone);
  const char *reason = put(key, value, conversion->for_host, alone);
  if (!reason && segue_writer_finish(alone, &made) != SEGUE_OK)
    reason = "the value cannot be converted";
  segue_release(alone);
  if (!reason) {
    put_known(conversion, key, made);
  } else if (is_required(conversion->type, key->name)) {
    refuse(conversion, key->name, reason);
  } else {
    leave_out(conversion, key->name, reason);
  }
  segue_release(made);
  return !reason || !is_required(conversion->type, key->name);
}

/** Tells whether a value is, or holds, a URL with a user or a password. */
static bool holds_user(const segue_value *value) {
  segue_reader *reader = NULL;
  segue_item item = {0};
  bool is_found = false;
  segue_reader_create(value, &reader);
  while (!is_found && segue_reader_next(reader, &item, NULL, 0) == SEGUE_OK) {
    segue_value *taken = NULL;
    char *url = NULL;
    size_t length = 0;
    if (item.kind != SEGUE_KIND_URL)
      continue;
    segue_reader_take(reader, &taken);
    is_found = segue_value_find_string(taken, "", 0, &url, &length) == SEGUE_OK && url_has_user(url, length);
    segue_free(url);
    segue_release(taken);
  }
  segue_release(reader);
  return is_found;
}

/** Takes an entry whose key is not in the table. */
static void take_other(struct conversion *conversion, const char *key, const segue_value *name,
                       const segue_value *value) {
  if (holds_user(name) || holds_user(value)) {
    leave_out(conversion, key, has_user);
  } else {
    segue_writer_put_value(conversion->result, name);
    segue_writer_put_value(conversion->result, value);
  }
}

/** Takes one entry. skipped  may be NULL: a key that comes from elsewhere */
static bool take_entry(struct conversion *conversion, const segue_value *name, const segue_value *value,
                       const char *skipped) {
  char *text = NULL;
  size_t length = 0;
  segue_kind kind = SEGUE_KIND_NULL;
  const struct public_key *key = NULL;
  bool is_good = true;
  segue_value_get_kind(name, &kind);
  if (kind == SEGUE_KIND_STRING && segue_value_find_string(name, "", 0, &text, &length) == SEGUE_OK)
    key = key_named(conversion->type, (struct text){text, length});
  if (!key)
    take_other(conversion, text ? text : "", name, value);
  else if (!skipped || strcmp(key->name, skipped) != 0)
    is_good = take_known(conversion, key, value);
  segue_free(text);
  return is_good;
}

static bool has_all_required(struct conversion *conversion) {
  for (int group = 0; group < GROUPS_MOST && conversion->type->required[group]; group++) {
    const char *words = conversion->type->required[group];
    bool is_there = false;
    for (size_t index = 0; index < conversion->type->key_count; index++) {
      const char *name = conversion->type->keys[index].name;
      if ((conversion->put >> index & 1) != 0 && is_word_of(words, (struct text){name, strlen(name)}, false))
        is_there = true;
    }
    if (!is_there) {
      char reason[128];
      snprintf(reason, sizeof reason, "%s requires one of: %s", conversion->type->name, words);
      return refuse(conversion, "", reason);
    }
  }
  return true;
}

bool public_type_convert(const struct public_type *type, const segue_value *user_info, const segue_value *text,
                         bool for_host, const char *id, segue_value **result, segue_value **long_text,
                         struct problem *problem) {
  struct conversion conversion = {type, for_host, id, NULL, long_text, problem, 0};
  segue_reader *reader = NULL;
  segue_item item = {0};
  bool is_good = segue_writer_create(&conversion.result) == SEGUE_OK || problem_library(problem, "userInfo");
  segue_writer_begin(conversion.result, SEGUE_KIND_DICTIONARY);
  if (user_info)
    segue_reader_create(user_info, &reader);
  segue_reader_next(reader, &item, NULL, 0);
  while (is_good && segue_reader_next(reader, &item, NULL, 0) == SEGUE_OK && item.kind != SEGUE_KIND_END) {
    segue_value *name = NULL, *value = NULL;
    segue_reader_take(reader, &name);
    segue_reader_next(reader, &item, NULL, 0);
    segue_reader_take(reader, &value);
    is_good = take_entry(&conversion, name, value, text ? TEXT_KEY : NULL);
    segue_release(name);
    segue_release(value);
  }
  const struct public_key *key = text ? key_named(type, (struct text){TEXT_KEY, strlen(TEXT_KEY)}) : NULL;
  if (is_good && key)
    is_good = take_known(&conversion, key, text);
  segue_writer_end(conversion.result);
  is_good = is_good && has_all_required(&conversion) &&
            (segue_writer_finish(conversion.result, result) == SEGUE_OK || problem_library(problem, "userInfo"));
  segue_release(reader);
  segue_release(conversion.result);
  return is_good;
}
