/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The notification server of the session (org.freedesktop.Notifications). It may be absent, hang, and begin anew. */
#ifndef NOTIFIER_H
#define NOTIFIER_H

#include <stdbool.h>
#include <stdint.h>

#include "bus.h"
#include "token.h"

/** Why a notification was closed (Desktop Notifications Specification 1.2). */
#define CLOSED_BY_USER 2

/** Tokens that are kept: a server tells all programs of the tokens of all. */
#define TOKENS_MOST 8

/** Clicked notifications that are closed together. */
#define CLICKED_MOST 4

enum urgency { URGENCY_LOW, URGENCY_NORMAL };

struct notice {
  /** the notification in whose place it comes; 0: none */
  uint32_t replaces;
  enum urgency urgency;
  const char *summary;
  /** with markup escaped as notifier_has_markup says */
  const char *body;
  /** pairs of a key and a label, ended by NULL; NULL: none */
  const char *const *actions;
};

struct notifier {
  /** the name on the bus: who does not get it is superseded */
  const char *name;
  /** adds objects to a new connection, before the name is asked for; may be NULL. Returns a negative errno */
  int (*exported)(void *context, sd_bus *bus);
  /** asks the server nothing before notifier_ask */
  bool is_lazy;
  struct bus bus;
  /** the unique name of the server; empty: not known to run */
  char server[PEER_SIZE];
  /** whether it has said what it can do, and what that is */
  bool is_known, has_actions, has_markup;
  /** the tokens that came last, each with its notification, and the place of the next one */
  struct {
    uint32_t id;
    char token[TOKEN_SIZE];
  } tokens[TOKENS_MOST];
  size_t next_token;
  /** the notifications that were clicked and are still to be closed, and when; 0: none; NULL: no time is set */
  uint32_t clicked[CLICKED_MOST];
  sd_event_source *closing;
  /** The user has chosen an action. token  borrowed, may be empty */
  void (*acted)(void *context, uint32_t id, const char *action, const char *token);
  void (*closed)(void *context, uint32_t id, uint32_t reason);
  /** The server has come or gone: it shows nothing of before. */
  void (*changed)(void *context);
  /** The program has to end: another one has its place. */
  void (*superseded)(void *context);
  void *context;
};

/** id  0: it was not shown */
typedef void (*notifier_done)(void *context, uint32_t id);

/** Connects to the session's bus. The functions and their context are set by the caller. */
void notifier_begin(struct notifier *notifier, sd_event *loop);
void notifier_end(struct notifier *notifier);
/** Asks the server what it can do, which starts one if the bus can; `changed` runs once it is known. */
void notifier_ask(struct notifier *notifier);
/** Shows a notification. done  runs once if this returns true, unless `changed` runs before; may be NULL */
bool notifier_show(struct notifier *notifier, const struct notice *notice, notifier_done done, void *context);
void notifier_close(struct notifier *notifier, uint32_t id);
/** Closes one that was clicked, a moment later, unless the server does: what the click is for comes first. */
void notifier_close_clicked(struct notifier *notifier, uint32_t id);

#endif
