/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "notifier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app_id.h"
#include "log.h"

#define SERVER "org.freedesktop.Notifications"
#define SERVER_PATH "/org/freedesktop/Notifications"
#define BUS "org.freedesktop.DBus"
/** The answer of the bus to a request for a name that another program has. */
#define NAME_EXISTS 3
/** Microseconds until a notification that was clicked is closed, and how much longer it may take. */
#define CLOSE_USEC 100000
#define CLOSE_LATER_USEC 10000

/** Takes the token for an action; empty: none has come. */
static const char *token_of(struct notifier *notifier, uint32_t id) {
  for (size_t index = 0; index < TOKENS_MOST; index++)
    if (id != 0 && notifier->tokens[index].id == id) {
      notifier->tokens[index].id = 0;
      return notifier->tokens[index].token;
    }
  return "";
}

/** Forgets what was said of the notifications of a server that is gone. */
static void forget_ids(struct notifier *notifier) {
  for (size_t index = 0; index < TOKENS_MOST; index++)
    notifier->tokens[index].id = 0;
  for (size_t index = 0; index < CLICKED_MOST; index++)
    notifier->clicked[index] = 0;
}

static int take_capabilities(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct notifier *notifier = context;
  const char *capability;
  (void)error;
  if (sd_bus_message_is_method_error(message, NULL)) {
    log_line("no notification server answers: %s", sd_bus_message_get_error(message)->message);
    return 0;
  }
  bus_note_peer(message, notifier->server);
  notifier->is_known = true;
  notifier->has_actions = notifier->has_markup = false;
  if (sd_bus_message_enter_container(message, 'a', "s") < 0)
    return 0;
  while (sd_bus_message_read(message, "s", &capability) > 0) {
    notifier->has_actions = notifier->has_actions || strcmp(capability, "actions") == 0;
    notifier->has_markup = notifier->has_markup || strcmp(capability, "body-markup") == 0;
  }
  notifier->changed(notifier->context);
  return 0;
}

static int ask_capabilities(struct notifier *notifier) {
  return sd_bus_call_method_async(notifier->bus.bus, NULL, SERVER, SERVER_PATH, SERVER, "GetCapabilities",
                                  take_capabilities, notifier, "");
}

void notifier_ask(struct notifier *notifier) {
  notifier->is_lazy = false;
  if (notifier->bus.bus)
    ask_capabilities(notifier);
}

static int owner_changed(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct notifier *notifier = context;
  const char *name, *former, *owner;
  (void)error;
  if (!bus_is_from(message, BUS) || sd_bus_message_read(message, "sss", &name, &former, &owner) < 0 ||
      strcmp(name, SERVER) != 0 || strcmp(owner, notifier->server) == 0)
    return 0;
  notifier->server[0] = '\0';
  notifier->is_known = false;
  forget_ids(notifier);
  notifier->changed(notifier->context);
  if (owner[0] != '\0' && !notifier->is_lazy)
    ask_capabilities(notifier);
  return 0;
}

static int action_invoked(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct notifier *notifier = context;
  const char *action;
  uint32_t id;
  (void)error;
  if (bus_is_from(message, notifier->server) && sd_bus_message_read(message, "us", &id, &action) >= 0)
    notifier->acted(notifier->context, id, action, token_of(notifier, id));
  return 0;
}

static int notification_closed(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct notifier *notifier = context;
  uint32_t id, reason;
  (void)error;
  if (!bus_is_from(message, notifier->server) || sd_bus_message_read(message, "uu", &id, &reason) < 0)
    return 0;
  for (size_t index = 0; index < CLICKED_MOST; index++)
    if (notifier->clicked[index] == id)
      notifier->clicked[index] = 0;
  notifier->closed(notifier->context, id, reason);
  return 0;
}

/** Keeps a token until the action that it is for. Servers that have none send none. */
static int activation_token(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct notifier *notifier = context;
  const char *token;
  uint32_t id;
  (void)error;
  if (!bus_is_from(message, notifier->server) || sd_bus_message_read(message, "us", &id, &token) < 0)
    return 0;
  if (strlen(token) >= TOKEN_SIZE)
    return 0;
  token_of(notifier, id);
  notifier->tokens[notifier->next_token].id = id;
  strcpy(notifier->tokens[notifier->next_token].token, token);
  notifier->next_token = (notifier->next_token + 1) % TOKENS_MOST;
  return 0;
}

static int name_answered(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct notifier *notifier = context;
  uint32_t answer;
  (void)error;
  if (sd_bus_message_is_method_error(message, NULL))
    log_line("the bus refuses the name %s: %s", notifier->name, sd_bus_message_get_error(message)->message);
  else if (sd_bus_message_read(message, "u", &answer) >= 0 && answer == NAME_EXISTS)
    notifier->superseded(notifier->context);
  return 0;
}

static int connected(void *context, sd_bus *bus) {
  struct notifier *notifier = context;
  static const struct {
    const char *name;
    sd_bus_message_handler_t handler;
  } signals[] = {
      {"ActionInvoked", action_invoked},
      {"NotificationClosed", notification_closed},
      {"ActivationToken", activation_token},
  };
  int result = notifier->exported ? notifier->exported(notifier->context, bus) : 0;
  if (result >= 0)
    result = sd_bus_request_name_async(bus, NULL, notifier->name, 0, name_answered, notifier);
  for (size_t index = 0; index < sizeof signals / sizeof *signals && result >= 0; index++)
    result = sd_bus_match_signal_async(bus, NULL, SERVER, SERVER_PATH, SERVER, signals[index].name,
                                       signals[index].handler, NULL, notifier);
  if (result >= 0)
    result = sd_bus_add_match_async(
        bus, NULL, "type='signal',sender='" BUS "',interface='" BUS "',member='NameOwnerChanged',arg0='" SERVER "'",
        owner_changed, NULL, notifier);
  return result < 0 || notifier->is_lazy ? result : ask_capabilities(notifier);
}

static void lost(void *context) {
  struct notifier *notifier = context;
  notifier->server[0] = '\0';
  notifier->is_known = false;
  forget_ids(notifier);
  notifier->changed(notifier->context);
}

static void close_all_clicked(struct notifier *notifier) {
  notifier->closing = sd_event_source_disable_unref(notifier->closing);
  for (size_t index = 0; index < CLICKED_MOST; index++) {
    if (notifier->clicked[index] != 0)
      notifier_close(notifier, notifier->clicked[index]);
    notifier->clicked[index] = 0;
  }
}

static int close_time(sd_event_source *source, uint64_t usec, void *context) {
  (void)source, (void)usec;
  close_all_clicked(context);
  return 0;
}

void notifier_close_clicked(struct notifier *notifier, uint32_t id) {
  size_t index = 0;
  while (index < CLICKED_MOST && notifier->clicked[index] != 0)
    index++;
  bool has_time =
      notifier->closing || sd_event_add_time_relative(notifier->bus.loop, &notifier->closing, CLOCK_MONOTONIC,
                                                      CLOSE_USEC, CLOSE_LATER_USEC, close_time, notifier) >= 0;
  if (index < CLICKED_MOST && has_time)
    notifier->clicked[index] = id;
  else
    notifier_close(notifier, id);
}

void notifier_begin(struct notifier *notifier, sd_event *loop) {
  notifier->bus = (struct bus){.name = "session bus",
                               .loop = loop,
                               .open = sd_bus_open_user,
                               .connected = connected,
                               .lost = lost,
                               .context = notifier};
  bus_begin(&notifier->bus);
}

void notifier_end(struct notifier *notifier) {
  close_all_clicked(notifier);
  bus_end(&notifier->bus);
}

struct showing {
  struct notifier *notifier;
  notifier_done done;
  void *context;
};

static int shown(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct showing *showing = context;
  struct notifier *notifier = showing->notifier;
  uint32_t id = 0;
  (void)error;
  if (sd_bus_message_is_method_error(message, NULL))
    log_line("a notification was not shown: %s", sd_bus_message_get_error(message)->message);
  else if (sd_bus_message_read(message, "u", &id) >= 0 && notifier->server[0] == '\0')
    bus_note_peer(message, notifier->server);
  if (showing->done)
    showing->done(showing->context, id);
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
  sd_bus_slot *slot = NULL;
  struct showing *showing = malloc(sizeof *showing);
  int result = !showing ? -ENOMEM : notifier->bus.bus ? 0 : -ENOTCONN;
  if (result >= 0)
    result = sd_bus_message_new_method_call(notifier->bus.bus, &message, SERVER, SERVER_PATH, SERVER, "Notify");
  if (result >= 0)
    result = append(message, notice);
  if (result >= 0)
    result = sd_bus_call_async(notifier->bus.bus, &slot, message, shown, showing, ANSWER_USEC);
  sd_bus_message_unref(message);
  if (result < 0) {
    free(showing);
    return false;
  }
  *showing = (struct showing){notifier, done, context};
  sd_bus_slot_set_destroy_callback(slot, free);
  sd_bus_slot_set_floating(slot, true);
  sd_bus_slot_unref(slot);
  return true;
}

void notifier_close(struct notifier *notifier, uint32_t id) {
  sd_bus_message *message = NULL;
  if (!notifier->bus.bus ||
      sd_bus_message_new_method_call(notifier->bus.bus, &message, SERVER, SERVER_PATH, SERVER, "CloseNotification") < 0)
    return;
  if (sd_bus_message_append(message, "u", id) >= 0 && sd_bus_message_set_expect_reply(message, false) >= 0)
    sd_bus_send(notifier->bus.bus, message, NULL);
  sd_bus_message_unref(message);
}
