/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "showing.h"

#include <errno.h>
#include <string.h>

#include "app_id.h"
#include "log.h"

/* Signals. One that nobody knows may be about what is being shown: it is kept until the server has answered. */

static bool is_under_way(const struct notifier *notifier) {
  for (size_t index = 0; index < REQUESTS_MOST; index++) {
    const struct request *request = &notifier->requests[index];
    if (request->state == REQUEST_WANTED || (request->state == REQUEST_UNWANTED && request->done))
      return true;
  }
  return false;
}

static void keep(struct notifier *notifier, const struct early *early) {
  if (!is_under_way(notifier))
    return;
  struct early *place = &notifier->early[notifier->early_count % EARLY_MOST];
  *place = *early;
  place->number = notifier->early_count++;
}

static size_t place_of_token(const struct notifier *notifier, uint32_t id) {
  size_t index = 0;
  while (index < TOKENS_MOST && (id == 0 || notifier->tokens[index].id != id))
    index++;
  return index;
}

void showing_drop_token(struct notifier *notifier, uint32_t id) {
  size_t index = place_of_token(notifier, id);
  if (index < TOKENS_MOST)
    notifier->tokens[index].id = 0;
}

/** Hands an action over, with its token. Returns false if nobody knows the notification. */
static bool act(struct notifier *notifier, uint32_t id, const char *action) {
  size_t index = place_of_token(notifier, id);
  bool is_known =
      notifier->acted(notifier->context, id, action, index < TOKENS_MOST ? notifier->tokens[index].token : "");
  if (is_known)
    showing_drop_token(notifier, id);
  return is_known;
}

void showing_take_action(struct notifier *notifier, uint32_t id, const char *action) {
  struct early early = {.id = id};
  if (act(notifier, id, action) || strlen(action) >= sizeof early.action)
    return;
  strcpy(early.action, action);
  keep(notifier, &early);
}

void showing_take_end(struct notifier *notifier, uint32_t id, uint32_t reason) {
  if (!notifier->closed(notifier->context, id, reason))
    keep(notifier, &(struct early){.id = id, .reason = reason != 0 ? reason : CLOSED_FOR_OTHER_REASONS});
}

/**
 * Hands over what was said of a notification between its request and its number. A server may give a number again: what
 * came before the request is about another notification. Without a request nothing more is awaited.
 */
static void hand_over(struct notifier *notifier, const struct request *request, uint32_t id) {
  for (size_t count = 0; count < EARLY_MOST; count++) {
    struct early *place = &notifier->early[(notifier->early_count + count) % EARLY_MOST], early = *place;
    if (id == 0 || early.id != id)
      continue;
    place->id = 0;
    if (early.number < request->since)
      continue;
    if (early.reason != 0)
      notifier->closed(notifier->context, id, early.reason);
    else
      act(notifier, id, early.action);
  }
  if (!is_under_way(notifier))
    memset(notifier->early, 0, sizeof notifier->early);
}

/* Requests. */

static void forget(struct request *request) {
  sd_bus_slot_unref(request->slot);
  *request = (struct request){0};
}

/** Finds a place. One of a server that is gone makes room. */
static struct request *find_place(struct notifier *notifier) {
  struct request *former = NULL;
  for (size_t index = 0; index < REQUESTS_MOST; index++) {
    struct request *request = &notifier->requests[index];
    if (request->state == REQUEST_FREE)
      return request;
    if (request->state == REQUEST_FORMER)
      former = request;
  }
  if (former)
    forget(former);
  return former;
}

void showing_end_server(struct notifier *notifier) {
  for (size_t index = 0; index < REQUESTS_MOST; index++)
    if (notifier->requests[index].state != REQUEST_FREE)
      notifier->requests[index].state = REQUEST_FORMER;
  memset(notifier->early, 0, sizeof notifier->early);
}

void showing_end_bus(struct notifier *notifier) {
  for (size_t index = 0; index < REQUESTS_MOST; index++)
    if (notifier->requests[index].state != REQUEST_FREE)
      forget(&notifier->requests[index]);
  memset(notifier->early, 0, sizeof notifier->early);
}

void notifier_abandon(struct notifier *notifier, const void *context, uint32_t kept, notifier_done late) {
  for (size_t index = 0; index < REQUESTS_MOST; index++) {
    struct request *request = &notifier->requests[index];
    if (request->context != context || (request->state != REQUEST_WANTED && request->state != REQUEST_UNWANTED))
      continue;
    if (request->replaces != kept)
      request->replaces = 0;
    request->done = request->state == REQUEST_WANTED ? late : NULL;
    request->state = REQUEST_UNWANTED;
  }
}

/** Takes an answer that nobody waits for. A number that was given may be of a notification that is shown since. */
static void take_unwanted(struct notifier *notifier, const struct request *request, const char *server, uint32_t id) {
  bool is_former = request->state == REQUEST_FORMER;
  if (id == 0 || (!is_former && (id == request->replaces || strcmp(server, notifier->server) != 0)))
    return;
  notifier_close_at(notifier, server, id);
  if (!is_former && request->done)
    request->done(request->context, id);
}

bool showing_closes(const struct notifier *notifier) {
  for (size_t index = 0; index < REQUESTS_MOST; index++)
    if (notifier->requests[index].state == REQUEST_FORMER)
      return true;
  return false;
}

static int shown(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct request request = *(struct request *)context;
  struct notifier *notifier = request.notifier;
  char sender[PEER_SIZE] = "";
  uint32_t id = 0;
  (void)error;
  forget(context);
  if (sd_bus_message_is_method_error(message, NULL)) {
    if (request.state == REQUEST_WANTED)
      log_line("a notification was not shown: %s", sd_bus_message_get_error(message)->message);
  } else {
    sd_bus_message_read(message, "u", &id);
    bus_note_peer(message, sender);
    if (request.state == REQUEST_WANTED && notifier->server[0] == '\0')
      bus_note_peer(message, notifier->server);
  }
  uint32_t known_id = strcmp(sender, notifier->server) == 0 ? id : 0;
  if (request.state != REQUEST_WANTED)
    take_unwanted(notifier, &request, sender, id);
  else if (request.done)
    request.done(request.context, known_id);
  hand_over(notifier, &request, known_id);
  return 0;
}

static int append(sd_bus_message *message, const struct notice *notice) {
  int result =
      sd_bus_message_append(message, "susss", "Segue", notice->replaces, APP_ID, notice->summary, notice->body);
  if (result >= 0)
    result = sd_bus_message_open_container(message, 'a', "s");
  for (const char *const *each = notice->actions; each && *each && result >= 0; each++)
    result = sd_bus_message_append(message, "s", *each);
  if (result >= 0)
    result = sd_bus_message_close_container(message);
  if (result >= 0)
    result = sd_bus_message_append(message, "a{sv}i", 4, "urgency", "y", (uint8_t)notice->urgency, "transient", "b",
                                   true, "suppress-sound", "b", true, "desktop-entry", "s", APP_ID, -1);
  return result;
}

bool notifier_show(struct notifier *notifier, const struct notice *notice, notifier_done done, void *context) {
  sd_bus_message *message = NULL;
  struct request *request = notifier->bus.bus ? find_place(notifier) : NULL;
  int result = request ? 0 : -ENOBUFS;
  if (result >= 0)
    result = sd_bus_message_new_method_call(notifier->bus.bus, &message, SERVER, SERVER_PATH, SERVER, "Notify");
  if (result >= 0)
    result = append(message, notice);
  if (result >= 0)
    result = sd_bus_call_async(notifier->bus.bus, &request->slot, message, shown, request, SERVER_USEC);
  sd_bus_message_unref(message);
  if (result < 0)
    return false;
  request->state = REQUEST_WANTED;
  request->notifier = notifier;
  request->replaces = notice->replaces;
  request->since = notifier->early_count;
  request->done = done;
  request->context = context;
  return true;
}
