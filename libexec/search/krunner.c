/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <string.h>

#include "interfaces.h"
#include "query.h"

/** The type of all results: a possible match (Plasma::QueryMatch). */
#define POSSIBLE_MATCH 30
#define ICON "document-open-recent"

/** The token that a peer has announced for its next call of Run. */
static struct { char peer[PEER_SIZE], token[TOKEN_SIZE]; } announced;

static int append_match(sd_bus_message *reply, const struct result *result, double relevance) {
  const struct found *found = &result->found;
  return sd_bus_message_append(reply, "(sssida{sv})", result->id, found->name, ICON, POSSIBLE_MATCH, relevance, 1,
                               "subtext", "s", found->description);
}

static void answer_matches(struct query *query, struct result *const *results, size_t count) {
  sd_bus_message *reply = NULL;
  int problem = sd_bus_message_new_method_return(query->call, &reply);
  if (problem >= 0)
    problem = sd_bus_message_open_container(reply, 'a', "(sssida{sv})");
  /* KRunner orders by relevance, from 0 to 1: the first result is to stay the first. */
  for (size_t index = 0; index < count && problem >= 0; index++)
    problem = append_match(reply, results[index], 0.9 - 0.01 * (double)index);
  if (problem >= 0)
    problem = sd_bus_message_close_container(reply);
  if (problem >= 0)
    sd_bus_message_send(reply);
  sd_bus_message_unref(reply);
}

static int match(sd_bus_message *call, void *context, sd_bus_error *error) {
  struct words words = {0};
  const char *text;
  (void)error;
  int result = sd_bus_message_read(call, "s", &text);
  if (result < 0)
    return result;
  return words_add(&words, text) && words.count > 0 ? query_begin(context, call, &words, "", answer_matches)
                                                    : sd_bus_reply_method_return(call, "a(sssida{sv})", 0);
}

static int set_token(sd_bus_message *call, void *context, sd_bus_error *error) {
  const char *token;
  (void)context, (void)error;
  int result = sd_bus_message_read(call, "s", &token);
  if (result < 0)
    return result;
  bus_note_peer(call, announced.peer);
  announced.token[0] = '\0';
  if (strlen(token) < TOKEN_SIZE)
    strcpy(announced.token, token);
  return sd_bus_reply_method_return(call, "");
}

static int run(sd_bus_message *call, void *context, sd_bus_error *error) {
  struct search *search = context;
  const char *id, *action, *peer = sd_bus_message_get_sender(call);
  (void)error;
  search->used_at = search_now(search);
  int result = sd_bus_message_read(call, "ss", &id, &action);
  if (result < 0)
    return result;
  struct result *found = peer ? results_find(&search->results, peer, id, search->used_at) : NULL;
  if (found)
    search_activate(search, found, bus_is_from(call, announced.peer) ? announced.token : "");
  if (bus_is_from(call, announced.peer))
    announced.peer[0] = '\0';
  return sd_bus_reply_method_return(call, "");
}

static int actions(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)context, (void)error;
  return sd_bus_reply_method_return(call, "a(sss)", 0);
}

static int config(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)context, (void)error;
  return sd_bus_reply_method_return(call, "a{sv}", 1, "MinLetterCount", "i", 1);
}

/** Identifiers expire by themselves: KRunner may end its session before it calls Run. */
static int teardown(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)context, (void)error;
  return sd_bus_reply_method_return(call, "");
}

static const sd_bus_vtable interface[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Match", "s", "a(sssida{sv})", match, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Run", "ss", "", run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("SetActivationToken", "s", "", set_token, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Actions", "", "a(sss)", actions, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Config", "", "a{sv}", config, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Teardown", "", "", teardown, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

int krunner_export(struct search *search, sd_bus *bus) {
  return sd_bus_add_object_vtable(bus, NULL, search->path, "org.kde.krunner1", interface, search);
}
