/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <stdio.h>
#include <unistd.h>

#include "interfaces.h"
#include "query.h"

/** Identifiers that are looked up in one call. */
#define METAS_MOST 64

static void answer_ids(struct query *query, struct result *const *results, size_t count) {
  sd_bus_message *reply = NULL;
  int problem = sd_bus_message_new_method_return(query->call, &reply);
  if (problem >= 0)
    problem = sd_bus_message_open_container(reply, 'a', "s");
  for (size_t index = 0; index < count && problem >= 0; index++)
    problem = sd_bus_message_append(reply, "s", results[index]->id);
  if (problem >= 0)
    problem = sd_bus_message_close_container(reply);
  if (problem >= 0)
    sd_bus_message_send(reply);
  sd_bus_message_unref(reply);
}

/** Reads the terms, and begins to search. */
static int find(struct search *search, sd_bus_message *call) {
  struct words words = {0};
  const char *term;
  int result = sd_bus_message_enter_container(call, 'a', "s");
  while (result >= 0 && (result = sd_bus_message_read(call, "s", &term)) > 0)
    if (!words_add(&words, term))
      return sd_bus_reply_method_return(call, "as", 0);
  if (result < 0)
    return result;
  return words.count == 0 ? sd_bus_reply_method_return(call, "as", 0)
                          : query_begin(search, call, &words, "", answer_ids);
}

static int initial(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)error;
  return find(context, call);
}

/** The results of before do not count: newer ones may have taken the place of some. */
static int subsearch(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)error;
  int result = sd_bus_message_skip(call, "as");
  return result < 0 ? result : find(context, call);
}

static int append_meta(sd_bus_message *reply, const struct result *result) {
  const struct found *found = &result->found;
  int problem = sd_bus_message_open_container(reply, 'a', "{sv}");
  if (problem >= 0)
    problem = sd_bus_message_append(reply, "{sv}{sv}", "id", "s", result->id, "name", "s", found->name);
  if (problem >= 0 && found->description[0] != '\0')
    problem = sd_bus_message_append(reply, "{sv}", "description", "s", found->description);
  /* A themed icon of GIO: the first of these names that the theme has. */
  if (problem >= 0)
    problem = sd_bus_message_append(reply, "{sv}", "icon", "(sv)", "themed", "as", 3,
                                    found->icon[0] != '\0' ? found->icon : APP_ID, APP_ID, "document-open-recent");
  return problem < 0 ? problem : sd_bus_message_close_container(reply);
}

static int metas(sd_bus_message *call, void *context, sd_bus_error *error) {
  struct search *search = context;
  sd_bus_message *reply = NULL;
  const char *id, *peer = sd_bus_message_get_sender(call);
  (void)error;
  search->used_at = search_now(search);
  int result = sd_bus_message_enter_container(call, 'a', "s");
  if (result >= 0)
    result = sd_bus_message_new_method_return(call, &reply);
  if (result >= 0)
    result = sd_bus_message_open_container(reply, 'a', "a{sv}");
  bool may_show = peer && search_may_show(search);
  for (int count = 0; result >= 0 && count < METAS_MOST && (result = sd_bus_message_read(call, "s", &id)) > 0;
       count++) {
    const struct result *found = may_show ? results_find(&search->results, peer, id, search->used_at) : NULL;
    if (found)
      result = append_meta(reply, found);
  }
  if (result >= 0)
    result = sd_bus_message_close_container(reply);
  if (result >= 0)
    result = sd_bus_message_send(reply);
  sd_bus_message_unref(reply);
  return result < 0 ? result : 1;
}

/** Makes the startup id that has the time of a click, by which X11 decides what comes to the front. */
static void write_token(uint32_t time, char *token) {
  static unsigned number;
  token[0] = '\0';
  if (time != 0)
    snprintf(token, TOKEN_SIZE, "%s-%ld-%u_TIME%u", SEARCH_ID, (long)getpid(), number++, time);
}

static int activate(sd_bus_message *call, void *context, sd_bus_error *error) {
  struct search *search = context;
  const char *id, *peer = sd_bus_message_get_sender(call);
  char token[TOKEN_SIZE];
  uint32_t time = 0;
  (void)error;
  search->used_at = search_now(search);
  int result = sd_bus_message_read(call, "s", &id);
  if (result >= 0)
    result = sd_bus_message_skip(call, "as");
  if (result >= 0)
    result = sd_bus_message_read(call, "u", &time);
  if (result < 0)
    return result;
  struct result *found = peer ? results_find(&search->results, peer, id, search->used_at) : NULL;
  write_token(time, token);
  if (found)
    search_activate(search, found, token);
  return sd_bus_reply_method_return(call, "");
}

/** There is no window that could show more. */
static int launch(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)context, (void)error;
  return sd_bus_reply_method_return(call, "");
}

static const sd_bus_vtable interface[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("GetInitialResultSet", "as", "as", initial, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("GetSubsearchResultSet", "asas", "as", subsearch, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("GetResultMetas", "as", "aa{sv}", metas, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("ActivateResult", "sasu", "", activate, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("LaunchSearch", "asu", "", launch, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

int gnome_export(struct search *search, sd_bus *bus) {
  return sd_bus_add_object_vtable(bus, NULL, search->path, "org.gnome.Shell.SearchProvider2", interface, search);
}
