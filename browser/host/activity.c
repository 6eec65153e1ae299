/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "activity.h"

#include <string.h>

#include "identity.h"

/** Tells whether a text is a type that a page may have: printable ASCII, and no page of the web as such. */
static bool is_type(const char *text, size_t length) {
  if (length == 0 || length > TYPE_MOST || strcmp(text, BROWSING_TYPE) == 0)
    return false;
  for (size_t index = 0; index < length; index++)
    if (text[index] <= 0x20 || text[index] >= 0x7f)
      return false;
  return true;
}

void activity_read_type(const segue_value *message, char type[TYPE_MOST + 1]) {
  char *text = NULL;
  size_t length = 0;
  strcpy(type, BROWSING_TYPE);
  if (segue_dictionary_get_string(message, "activity", SEGUE_NUL_TERMINATED, &text, &length) != SEGUE_OK)
    return;
  if (is_type(text, length))
    strcpy(type, text);
  segue_free(text);
}

segue_value *activity_read_state(const segue_value *message) {
  char *json = NULL;
  size_t length = 0;
  segue_value *info = NULL;
  segue_kind kind = 0;
  if (segue_dictionary_get_string(message, "userInfo", SEGUE_NUL_TERMINATED, &json, &length) != SEGUE_OK)
    return NULL;
  if (length <= STATE_MOST)
    segue_value_decode_json(json, length, SEGUE_JSON_TAGGED, &info);
  segue_free(json);
  if (info && segue_value_get_kind(info, &kind) == SEGUE_OK && kind != SEGUE_KIND_DICTIONARY) {
    segue_release(info);
    return NULL;
  }
  return info;
}

void activity_write(const segue_value *info, segue_writer *writer) {
  segue_value *activity = NULL, *state = NULL;
  char *type = NULL, *json = NULL;
  size_t type_length = 0, length = 0;
  if (segue_dictionary_get_value(info, ACTIVITY_KEY, SEGUE_NUL_TERMINATED, &activity) == SEGUE_OK &&
      segue_dictionary_get_string(activity, "type", SEGUE_NUL_TERMINATED, &type, &type_length) == SEGUE_OK &&
      is_type(type, type_length) &&
      segue_dictionary_get_value(activity, "userInfo", SEGUE_NUL_TERMINATED, &state) == SEGUE_OK &&
      segue_value_encode_json(state, SEGUE_JSON_TAGGED_INTEGERS, &json, &length) == SEGUE_OK && length <= STATE_MOST) {
    segue_writer_put_string(writer, "activity", SEGUE_NUL_TERMINATED);
    segue_writer_put_string(writer, type, type_length);
    segue_writer_put_string(writer, "userInfo", SEGUE_NUL_TERMINATED);
    segue_writer_put_string(writer, json, length);
  }
  segue_free(json);
  segue_free(type);
  segue_release(state);
  segue_release(activity);
}
