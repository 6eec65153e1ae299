/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The fields of activity/set, and of the answer to activity/save. */
#include <stdio.h>
#include <string.h>

#include "activities.h"
#include "parameters.h"
#include "public_values.h"

/** Attaches `text` that is too long for user_info, in place of the former one. text  borrowed, may be NULL: none */
static bool attach_text(struct activity *activity, const segue_value *text, struct problem *problem) {
  char *bytes = NULL;
  size_t length = 0;
  bool is_good = true;
  if (text)
    is_good = (segue_value_find_string(text, "", 0, &bytes, &length) == SEGUE_OK &&
               segue_activity_attach_bytes(activity->handle, TEXT_KEY, SEGUE_NUL_TERMINATED, (const uint8_t *)bytes,
                                           length) == SEGUE_OK) ||
              problem_library(problem, "userInfo/" TEXT_KEY);
  else if (activity->has_attached_text)
    segue_activity_remove_attachment(activity->handle, TEXT_KEY, SEGUE_NUL_TERMINATED);
  activity->has_attached_text = text && is_good;
  segue_free(bytes);
  return is_good;
}

/** Reads tagged JSON that was decoded as plain JSON. */
static bool read_tagged(const segue_value *plain, segue_value **tagged, struct problem *problem) {
  char *json = NULL;
  size_t length = 0;
  bool is_good = segue_value_encode_json(plain, SEGUE_JSON_PLAIN, &json, &length) == SEGUE_OK &&
                 segue_value_decode_json(json, length, SEGUE_JSON_TAGGED, tagged) == SEGUE_OK;
  if (!is_good)
    problem_library(problem, "userInfo");
  segue_free(json);
  return is_good;
}

static bool set_user_info(struct activity *activity, enum presence presence, const segue_value *given,
                          struct problem *problem) {
  segue_value *info = NULL, *converted = NULL, *text = NULL;
  segue_kind kind = SEGUE_KIND_NULL;
  bool is_good = true;
  if (presence == ABSENT)
    return true;
  if (presence == GIVEN)
    is_good = read_tagged(given, &info, problem);
  segue_value_get_kind(info, &kind);
  if (is_good && presence == GIVEN && kind != SEGUE_KIND_DICTIONARY)
    is_good = problem_parameter(problem, "userInfo", "an object is needed");
  if (is_good && activity->public_type) {
    is_good =
        public_type_convert(activity->public_type, info, NULL, FOR_LIBRARY, activity->id, &converted, &text, problem) &&
        attach_text(activity, text, problem);
    segue_release(info);
    segue_release(text);
    info = converted;
  }
  if (is_good)
    is_good = segue_activity_set_user_info(activity->handle, info) == SEGUE_OK || problem_library(problem, "userInfo");
  segue_release(info);
  return is_good;
}

static bool set_text(struct activity *activity, const segue_value *parameters, const char *key,
                     segue_status (*set)(segue_activity *, const char *, size_t), struct problem *problem) {
  segue_value *value = NULL;
  char *text = NULL;
  size_t length = 0;
  enum presence presence = parameter(parameters, key, &value);
  segue_release(value);
  if (presence == ABSENT)
    return true;
  bool is_good = parameter_text(parameters, key, &text, &length, problem);
  if (is_good && set == segue_activity_set_webpage_url && activity->public_type && text && url_has_user(text, length))
    is_good = problem_parameter(problem, key, "a URL with a user or a password is not handed over");
  if (is_good)
    is_good = set(activity->handle, text, length) == SEGUE_OK || problem_library(problem, key);
  segue_free(text);
  return is_good;
}

static bool set_public(struct activity *activity, const segue_value *parameters, struct problem *problem) {
  bool is_public = false;
  segue_value *value = NULL;
  enum presence presence = parameter(parameters, "public", &value);
  segue_release(value);
  if (presence == ABSENT)
    return true;
  if (!parameter_bool(parameters, "public", &is_public, problem))
    return false;
  return segue_activity_set_public(activity->handle, is_public) == SEGUE_OK || problem_library(problem, "public");
}

/** Removes the attachments that the host names no longer. given  borrowed, may be NULL: it names none */
static void remove_attachments(struct activity *activity, const segue_value *given) {
  segue_value *attachments = NULL, *kept = NULL;
  segue_reader *reader = NULL;
  segue_item item = {0};
  char name[256];
  segue_activity_get_attachments(activity->handle, &attachments);
  segue_reader_create(attachments, &reader);
  segue_reader_next(reader, &item, NULL, 0);
  while (segue_reader_next(reader, &item, (uint8_t *)name, sizeof name) == SEGUE_OK && item.kind != SEGUE_KIND_END) {
    if (item.kind != SEGUE_KIND_STRING || item.count >= sizeof name)
      continue;
    name[item.count] = '\0';
    bool is_text = activity->has_attached_text && strcmp(name, TEXT_KEY) == 0;
    if (!is_text && (!given || segue_dictionary_get_value(given, name, SEGUE_NUL_TERMINATED, &kept) != SEGUE_OK))
      segue_activity_remove_attachment(activity->handle, name, SEGUE_NUL_TERMINATED);
    segue_release(kept);
    kept = NULL;
  }
  segue_release(reader);
  segue_release(attachments);
}

static bool attach(struct activity *activity, const segue_value *name, const segue_value *path,
                   struct problem *problem) {
  char *name_text = NULL, *path_text = NULL, place[PATH_SIZE];
  size_t name_length = 0, path_length = 0;
  segue_value_find_string(name, "", 0, &name_text, &name_length);
  snprintf(place, sizeof place, "attachments/%s", name_text ? name_text : "");
  bool is_good = segue_value_find_string(path, "", 0, &path_text, &path_length) == SEGUE_OK ||
                 problem_parameter(problem, place, "a path is needed");
  if (is_good && activity->has_attached_text && name_text && strcmp(name_text, TEXT_KEY) == 0)
    is_good = problem_parameter(problem, place, "the name belongs to the key text");
  if (is_good)
    is_good =
        segue_activity_attach_file(activity->handle, name_text, name_length, path_text, path_length) == SEGUE_OK ||
        problem_library(problem, place);
  segue_free(name_text);
  segue_free(path_text);
  return is_good;
}

static bool set_attachments(struct activity *activity, const segue_value *parameters, struct problem *problem) {
  segue_value *given = NULL;
  segue_reader *reader = NULL;
  segue_item item = {0};
  bool is_good = true;
  enum presence presence = parameter(parameters, "attachments", &given);
  if (presence == ABSENT)
    return true;
  if (presence == GIVEN) {
    segue_reader_create(given, &reader);
    segue_reader_next(reader, &item, NULL, 0);
    is_good =
        item.kind == SEGUE_KIND_DICTIONARY || problem_parameter(problem, "attachments", "an object of paths is needed");
  }
  while (is_good && segue_reader_next(reader, &item, NULL, 0) == SEGUE_OK && item.kind != SEGUE_KIND_END) {
    segue_value *name = NULL, *path = NULL;
    segue_reader_take(reader, &name);
    segue_reader_next(reader, &item, NULL, 0);
    segue_reader_take(reader, &path);
    is_good = attach(activity, name, path, problem);
    segue_release(name);
    segue_release(path);
  }
  if (is_good)
    remove_attachments(activity, given);
  segue_release(reader);
  segue_release(given);
  return is_good;
}

/** Sets a mark that is a bool, if it is there. */
static bool set_mark(struct activity *activity, const segue_value *parameters, const char *key,
                     segue_status (*set)(segue_activity *, bool), struct problem *problem) {
  segue_value *value = NULL;
  bool mark = false;
  enum presence presence = parameter(parameters, key, &value);
  segue_release(value);
  if (presence == ABSENT)
    return true;
  return parameter_bool(parameters, key, &mark, problem) &&
         (set(activity->handle, mark) == SEGUE_OK || problem_library(problem, key));
}

bool activity_apply(struct activity *activity, const segue_value *parameters, struct problem *problem) {
  segue_value *info = NULL;
  enum presence presence = parameter(parameters, "userInfo", &info);
  bool is_good = set_user_info(activity, presence, info, problem) &&
                 set_text(activity, parameters, "title", segue_activity_set_title, problem) &&
                 set_text(activity, parameters, "webpageURL", segue_activity_set_webpage_url, problem) &&
                 set_public(activity, parameters, problem) && set_attachments(activity, parameters, problem) &&
                 set_mark(activity, parameters, "retain", segue_activity_set_keeps_offering, problem) &&
                 set_mark(activity, parameters, "needsSave", segue_activity_set_needs_save, problem);
  segue_release(info);
  if (is_good)
    activity->is_dirty = false;
  return is_good;
}
