/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "parameters.h"

#include <string.h>

/** Bytes of a name. */
#define NAME_MOST 255
#define SECONDS_MOST 3600.0

enum presence parameter(const segue_value *parameters, const char *key, segue_value **value) {
  segue_kind kind = SEGUE_KIND_NULL;
  *value = NULL;
  if (segue_dictionary_get_value(parameters, key, SEGUE_NUL_TERMINATED, value) != SEGUE_OK)
    return ABSENT;
  segue_value_get_kind(*value, &kind);
  if (kind != SEGUE_KIND_NULL)
    return GIVEN;
  segue_release(*value);
  *value = NULL;
  return CLEARED;
}

bool parameter_text(const segue_value *parameters, const char *key, char **text, size_t *length,
                    struct problem *problem) {
  segue_value *value = NULL;
  *text = NULL;
  *length = 0;
  if (parameter(parameters, key, &value) != GIVEN)
    return true;
  segue_status status = segue_value_find_string(value, "", 0, text, length);
  segue_release(value);
  if (status != SEGUE_OK)
    return problem_parameter(problem, key, "a string is needed");
  if (strlen(*text) == *length)
    return true;
  segue_free(*text);
  *text = NULL;
  return problem_parameter(problem, key, "a NUL is not allowed here");
}

bool parameter_name(const segue_value *parameters, const char *key, char **text, struct problem *problem) {
  size_t length = 0;
  if (!parameter_text(parameters, key, text, &length, problem))
    return false;
  if (length > 0 && length <= NAME_MOST)
    return true;
  const char *reason = !*text ? "is required" : length == 0 ? "is empty" : "has more than 255 bytes";
  segue_free(*text);
  *text = NULL;
  return problem_parameter(problem, key, reason);
}

bool parameter_bool(const segue_value *parameters, const char *key, bool *value, struct problem *problem) {
  segue_value *given = NULL;
  if (parameter(parameters, key, &given) != GIVEN)
    return true;
  segue_status status = segue_value_find_bool(given, "", 0, value);
  segue_release(given);
  return status == SEGUE_OK || problem_parameter(problem, key, "a bool is needed");
}

bool parameter_seconds(const segue_value *parameters, const char *key, uint32_t *milliseconds,
                       struct problem *problem) {
  segue_value *given = NULL;
  double seconds = 0;
  if (parameter(parameters, key, &given) != GIVEN)
    return true;
  segue_status status = segue_value_find_double(given, "", 0, &seconds);
  segue_release(given);
  if (status != SEGUE_OK || !(seconds >= 0.001 && seconds <= SECONDS_MOST))
    return problem_parameter(problem, key, "seconds are needed, 0.001 to 3600");
  *milliseconds = (uint32_t)(seconds * 1000);
  return true;
}
