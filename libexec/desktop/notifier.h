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
#define CLOSED_FOR_OTHER_REASONS 4

/** Tokens that are kept: a server tells all programs of the tokens of all. */
#define TOKENS_MOST 8

/** Clicked notifications that are closed together. */
#define CLICKED_MOST 4

/** Notifications that the server has not answered for yet; more are refused. */
#define REQUESTS_MOST 64

/** Signals about unknown notifications that are kept while a request is under way, and the bytes of an action. */
#define EARLY_MOST 16
#define ACTION_SIZE 16

enum urgency { URGENCY_LOW, URGENCY_NORMAL };

struct notice {
  /** the notification in whose place it comes; 0: none */
  uint32_t replaces;
  enum urgency urgency;
  const char *summary;
  /** with markup escaped if the server has markup */
  const char *body;
  /** pairs of a key and a label, ended by NULL; NULL: none */
  const char *const *actions;
};

/** id  0: it was not shown */
typedef void (*notifier_done)(void *context, uint32_t id);

/** FORMER: of a server that has lost its name. UNWANTED and FORMER ones are closed if who answers gives a number. */
enum request_state { REQUEST_FREE, REQUEST_WANTED, REQUEST_UNWANTED, REQUEST_FORMER };

/** A notification that the server was asked to show. It may take any time: what it shows late is somebody's. */
struct request {
  enum request_state state;
  struct notifier *notifier;
  sd_bus_slot *slot;
  uint32_t replaces;
  /** how many signals had been kept when the server was asked: those are about others */
  uint64_t since;
  notifier_done done;
  void *context;
};

/** A signal that may be about a notification whose number has not come yet. */
struct early {
  /** 0: none */
  uint32_t id;
  /** how many were kept before it */
  uint64_t number;
  /** 0: it is an action */
  uint32_t reason;
  char action[ACTION_SIZE];
};

struct notifier {
  /** the name on the bus: who does not get it is superseded */
  const char *name;
  /** adds objects to a new connection, before the name is asked for; may be NULL. Returns a negative errno */
  int (*exported)(void *context, sd_bus *bus);
  /** asks the server nothing before notifier_ask */
  bool is_lazy;
  struct bus bus;
  /** the unique name of the server, whether it has answered or not; empty: not known to run */
  char server[PEER_SIZE];
  /** whether it has said what it can do, and what that is */
  bool is_known, has_actions, has_markup;
  /** the question about that; NULL: none is under way. When it is asked again, and how often it was refused */
  sd_bus_slot *asking;
  sd_event_source *asking_again;
  unsigned refusals;
  struct request requests[REQUESTS_MOST];
  /** the signals that were kept last, and how many there were in all */
  struct early early[EARLY_MOST];
  uint64_t early_count;
  /** the tokens that came last, each with its notification, and the place of the next one */
  struct {
    uint32_t id;
    char token[TOKEN_SIZE];
  } tokens[TOKENS_MOST];
  size_t next_token;
  /** the notifications that were clicked and are still to be closed, and when; 0: none; NULL: no time is set */
  uint32_t clicked[CLICKED_MOST];
  sd_event_source *closing;
  /** The user has chosen an action. token  borrowed, may be empty. Returns false if nobody knows the notification */
  bool (*acted)(void *context, uint32_t id, const char *action, const char *token);
  bool (*closed)(void *context, uint32_t id, uint32_t reason);
  /**
   * The server is known now, or else it has lost its name: then all that it shows is to be closed, which it does if it
   * lives, and forgotten.
   */
  void (*changed)(void *context);
  /** The program has to end: another one has its place. */
  void (*superseded)(void *context);
  void *context;
};

/** Connects to the session's bus. The functions and their context are set by the caller. */
void notifier_begin(struct notifier *notifier, sd_event *loop);
/** Waits at most half a second for the server if it has not answered, and closes what it shows then. */
void notifier_end(struct notifier *notifier);
/** Asks the server what it can do, which starts one if the bus can; `changed` runs once it is known. */
void notifier_ask(struct notifier *notifier);
/**
 * Shows a notification.
 *   done  runs once if this returns true, unless the server goes or notifier_abandon runs before; may be NULL
 * Signals about it that came before the answer follow `done`.
 */
bool notifier_show(struct notifier *notifier, const struct notice *notice, notifier_done done, void *context);
/**
 * Gives up what was asked for with this context. It is closed if it is shown after all.
 *   kept  the number that is shown with this context, and stays; 0: none
 *   late  runs with its number then, for the one that was not given up before; may be NULL
 */
void notifier_abandon(struct notifier *notifier, const void *context, uint32_t kept, notifier_done late);
/** Closes one that the server of now shows; not by its name on the bus, which would start one, or ask another one. */
void notifier_close(struct notifier *notifier, uint32_t id);
/** Closes one that was clicked, a moment later, unless the server does: what the click is for comes first. */
void notifier_close_clicked(struct notifier *notifier, uint32_t id);

#endif
