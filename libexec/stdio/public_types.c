/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "public_types.h"

#include <stdio.h>
#include <string.h>

#include "channel.h"
#include "public_values.h"

/** Groups of required keys that a type may have. */
#define GROUPS_MOST 2

struct public_type {
  const char *name;
  const struct public_key *keys;
  size_t key_count;
  /** of each group one key is required: words with blanks between */
  const char *required[GROUPS_MOST];
};

#include "public_types.inc"

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
    if (type->required[group] && text_is_word_of(type->required[group], (struct text){name, strlen(name)}, false))
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
  const char *reason = public_value_put(key, value, conversion->for_host, alone);
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
    leave_out(conversion, key, PROBLEM_USER);
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
      if ((conversion->put >> index & 1) != 0 && text_is_word_of(words, (struct text){name, strlen(name)}, false))
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
