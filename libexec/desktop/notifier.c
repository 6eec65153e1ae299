/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "notifier.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "showing.h"

#define BUS "org.freedesktop.DBus"
/** The answer of the bus to a request for a name that another program has. */
#define NAME_EXISTS 3
/** Microseconds until a notification that was clicked is closed, and how much longer it may take. */
#define CLOSE_USEC 100000
#define CLOSE_LATER_USEC 10000
/** Microseconds before a server that refuses to say what it can do is asked again; then twice as long, so often. */
#define ASK_AGAIN_USEC 1000000ull
#define REFUSALS_MOST 5
/** Microseconds in which a server may answer at the end of the program. */
#define END_USEC 500000ull

static void forget_tokens(struct notifier *notifier) {
  for (size_t index = 0; index < TOKENS_MOST; index++)
    notifier->tokens[index].id = 0;
}

static void close_all_clicked(struct notifier *notifier) {
  notifier->closing = sd_event_source_disable_unref(notifier->closing);
  for (size_t index = 0; index < CLICKED_MOST; index++) {
    if (notifier->clicked[index] != 0)
      notifier_close(notifier, notifier->clicked[index]);
    notifier->clicked[index] = 0;
  }
}

/* The question about what the server can do. It has no time limit: a server that hangs may answer later. */

static void forget_question(struct notifier *notifier) {
  notifier->asking = sd_bus_slot_unref(notifier->asking);
  notifier->asking_again = sd_event_source_disable_unref(notifier->asking_again);
}

static int ask_capabilities(struct notifier *notifier);

static int ask_again(sd_event_source *source, uint64_t usec, void *context) {
  (void)source, (void)usec;
  ask_capabilities(context);
  return 0;
}

/** Takes a refusal. One of the bus means that there is no server, and it says when one comes. */
static void take_refusal(struct notifier *notifier, sd_bus_message *message) {
  const char *sender = sd_bus_message_get_sender(message);
  log_line("no notification server answers: %s", sd_bus_message_get_error(message)->message);
  if (sender && sender[0] == ':' && notifier->refusals < REFUSALS_MOST)
    sd_event_add_time_relative(notifier->bus.loop, &notifier->asking_again, CLOCK_MONOTONIC,
                               ASK_AGAIN_USEC << notifier->refusals++, 0, ask_again, notifier);
}

static int take_capabilities(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct notifier *notifier = context;
  const char *capability;
  (void)error;
  forget_question(notifier);
  if (sd_bus_message_is_method_error(message, NULL)) {
    take_refusal(notifier, message);
    return 0;
  }
  bus_note_peer(message, notifier->server);
  notifier->is_known = true;
  notifier->refusals = 0;
  notifier->has_actions = notifier->has_markup = false;
  sd_bus_message_enter_container(message, 'a', "s");
  while (sd_bus_message_read(message, "s", &capability) > 0) {
    notifier->has_actions = notifier->has_actions || strcmp(capability, "actions") == 0;
    notifier->has_markup = notifier->has_markup || strcmp(capability, "body-markup") == 0;
  }
  notifier->changed(notifier->context);
  return 0;
}

static int ask_capabilities(struct notifier *notifier) {
  sd_bus_message *message = NULL;
  forget_question(notifier);
  int result =
      sd_bus_message_new_method_call(notifier->bus.bus, &message, SERVER, SERVER_PATH, SERVER, "GetCapabilities");
  if (result >= 0)
    result = sd_bus_call_async(notifier->bus.bus, &notifier->asking, message, take_capabilities, notifier, SERVER_USEC);
  sd_bus_message_unref(message);
  return result;
}

void notifier_ask(struct notifier *notifier) {
  notifier->is_lazy = false;
  notifier->refusals = 0;
  if (notifier->bus.bus)
    ask_capabilities(notifier);
}

/* Signals. */

static int owner_changed(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct notifier *notifier = context;
  const char *name, *former, *owner;
  (void)error;
  if (!bus_is_from(message, BUS) || sd_bus_message_read(message, "sss", &name, &former, &owner) < 0 ||
      strcmp(name, SERVER) != 0 || (owner[0] != '\0' && strcmp(owner, notifier->server) == 0))
    return 0;
  bool had_one = former[0] != '\0' || notifier->server[0] != '\0';
  notifier->is_known = false;
  notifier->refusals = 0;
  forget_question(notifier);
  close_all_clicked(notifier);
  forget_tokens(notifier);
  if (had_one) {
    /* Without one, the bus has started this one for what was asked. The former one may live, and is to close all. */
    showing_end_server(notifier);
    notifier->changed(notifier->context);
  }
  snprintf(notifier->server, sizeof notifier->server, "%s", owner);
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
    showing_take_action(notifier, id, action);
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
  showing_take_end(notifier, id, reason);
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
  showing_drop_token(notifier, id);
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
  forget_question(notifier);
  close_all_clicked(notifier);
  forget_tokens(notifier);
  showing_end_bus(notifier);
  notifier->changed(notifier->context);
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

/** Takes answers alone: signals and calls have come too late. */
static int ignore(sd_bus_message *message, void *context, sd_bus_error *error) {
  (void)message, (void)context, (void)error;
  return 1;
}

/** Waits a little for the numbers of what the server was asked for: all is closed with its answer. */
static void await_answers(struct notifier *notifier) {
  sd_bus *bus = notifier->bus.bus;
  int result = bus ? sd_bus_add_filter(bus, NULL, ignore, NULL) : -ENOTCONN;
  uint64_t until = now_usec() + END_USEC;
  showing_end_server(notifier);
  for (uint64_t now; result >= 0 && showing_closes(notifier) && (now = now_usec()) < until;) {
    result = sd_bus_process(bus, NULL);
    if (result == 0)
      result = sd_bus_wait(bus, until - now);
  }
}

void notifier_end(struct notifier *notifier) {
  forget_question(notifier);
  close_all_clicked(notifier);
  await_answers(notifier);
  bus_end(&notifier->bus);
}

void notifier_close(struct notifier *notifier, uint32_t id) { notifier_close_at(notifier, notifier->server, id); }

void notifier_close_at(struct notifier *notifier, const char *server, uint32_t id) {
  sd_bus_message *message = NULL;
  if (!notifier->bus.bus || server[0] == '\0' ||
      sd_bus_message_new_method_call(notifier->bus.bus, &message, server, SERVER_PATH, SERVER, "CloseNotification") < 0)
    return;
  if (sd_bus_message_append(message, "u", id) >= 0 && sd_bus_message_set_expect_reply(message, false) >= 0)
    sd_bus_send(notifier->bus.bus, message, NULL);
  sd_bus_message_unref(message);
}
