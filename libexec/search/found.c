/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "found.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/** Tells whether a name can be that of an icon: nothing that a desktop could take for a path. */
static bool is_icon(const char *name) {
  for (const char *each = name; *each; each++)
    if (!isalnum((unsigned char)*each) && !strchr("._-", *each))
      return false;
  return isalnum((unsigned char)name[0]) && strlen(name) < sizeof((struct found *)NULL)->icon;
}

/** Writes what is shown. title, device  may be NULL */
static void describe(struct found *found, const struct settings *settings, const char *title, const char *app,
                     const char *device, const char *bundle) {
  char clean_title[TEXT_SIZE], clean_app[TEXT_SIZE], clean_device[TEXT_SIZE], line[TEXT_SIZE * 3] = "";
  text_clean(title, clean_title);
  text_clean(app, clean_app);
  text_clean(device, clean_device);
  bool has_title = clean_title[0] != '\0' && !settings->hides_titles;
  text_unmark(has_title ? clean_title : clean_app, found->name);
  /* GNOME drops all results of a provider that gives one of them no name. */
  if (found->name[0] == '\0')
    strcpy(found->name, "…");
  if (device && has_title)
    snprintf(line, sizeof line, "%.*s, on %s", TEXT_SIZE, clean_app, clean_device);
  else if (device)
    snprintf(line, sizeof line, "on %s", clean_device);
  else if (has_title)
    snprintf(line, sizeof line, "%s", clean_app);
  text_unmark(line, found->description);
  if (is_icon(bundle))
    strcpy(found->icon, bundle);
}

/* Offers. */

typedef segue_status (*text_getter)(const segue_offer *offer, char **text, size_t *length);

bool found_matches(const segue_offer *offer, const struct settings *settings, const struct words *words) {
  static const text_getter getters[] = {segue_offer_get_title, segue_offer_get_app_name, segue_offer_get_device_name,
                                        segue_offer_get_bundle_identifier, segue_offer_get_type};
  char *texts[5] = {NULL}, folded[FOLDED_SIZE];
  size_t length = 0;
  for (int index = 0; index < 5; index++)
    getters[index](offer, &texts[index], NULL);
  for (int index = 0; index < 3; index++) {
    length = words_fold(texts[index] ? texts[index] : "", folded, length);
    if (length + 1 < FOLDED_SIZE)
      folded[length++] = '\n';
  }
  folded[length] = '\0';
  bool is_wanted = texts[2] && texts[3] && texts[4] && settings_allow(settings, texts[3], texts[4], texts[2]);
  for (int index = 0; index < 5; index++)
    segue_free(texts[index]);
  return is_wanted && words_match(words, folded);
}

bool found_offer(struct found *found, const struct settings *settings, segue_offer *offer) {
  char *title = NULL, *app = NULL, *device = NULL, *bundle = NULL;
  segue_offer_get_title(offer, &title, NULL);
  bool is_whole = segue_offer_get_app_name(offer, &app, NULL) == SEGUE_OK &&
                  segue_offer_get_device_name(offer, &device, NULL) == SEGUE_OK &&
                  segue_offer_get_bundle_identifier(offer, &bundle, NULL) == SEGUE_OK &&
                  segue_offer_get_id(offer, found->activity) == SEGUE_OK;
  if (is_whole)
    describe(found, settings, title, app, device, bundle);
  found->offer = offer;
  segue_free(title);
  segue_free(app);
  segue_free(device);
  segue_free(bundle);
  return is_whole;
}

/* Saved activities. */

size_t found_saved_count(const segue_value *answer) {
  segue_value *results = NULL;
  size_t count = 0;
  if (segue_value_find_value(answer, "results", SEGUE_NUL_TERMINATED, &results) == SEGUE_OK)
    segue_value_get_count(results, &count);
  segue_release(results);
  return count;
}

static char *text_of(const segue_value *saved, const char *key) {
  char *text = NULL;
  segue_dictionary_get_string(saved, key, SEGUE_NUL_TERMINATED, &text, NULL);
  return text;
}

bool found_saved(struct found *found, const struct settings *settings, const segue_value *answer, size_t index) {
  char path[32];
  uint8_t *id = NULL;
  size_t length = 0;
  snprintf(path, sizeof path, "results/%zu", index);
  if (segue_value_find_value(answer, path, SEGUE_NUL_TERMINATED, &found->saved) != SEGUE_OK)
    return false;
  char *title = text_of(found->saved, "title"), *app = text_of(found->saved, "app_name"),
       *bundle = text_of(found->saved, "bundle_identifier"), *type = text_of(found->saved, "type");
  bool has_id = segue_value_find_data(found->saved, "activity_id", SEGUE_NUL_TERMINATED, &id, &length) == SEGUE_OK &&
                length == SEGUE_ID_SIZE;
  /* The device of a saved activity is this one: it has no name that could be switched off. */
  bool is_wanted = has_id && app && bundle && type && settings_allow(settings, bundle, type, "");
  if (is_wanted) {
    memcpy(found->activity, id, SEGUE_ID_SIZE);
    describe(found, settings, title, app, NULL, bundle);
  }
  segue_free(title);
  segue_free(app);
  segue_free(bundle);
  segue_free(type);
  segue_free(id);
  return is_wanted;
}
