/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pushes of other devices, and the user's answer (R3.15). */
#ifndef PUSHES_H
#define PUSHES_H

#include <segue.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "notifier.h"
#include "presence.h"
#include "settings.h"
#include "watcher.h"
#include "worker.h"

/** Pushes that are shown at a time; the agent keeps no more. */
#define PUSHES_MOST 16
/** Pauses that grow, after servers that died while they were asked for a push: 1 s, and each is twice as long. */
#define PAUSES_MOST 5

struct push {
  struct pushes *pushes;
  bool is_used, is_listed, is_showing;
  uint8_t id[SEGUE_ID_SIZE];
  uint32_t card;
};

struct pushes {
  segue_app *app;
  struct notifier *notifier;
  struct presence *presence;
  const struct settings *settings;
  struct worker *worker;
  struct watcher watcher;
  struct push list[PUSHES_MOST];
  /** set during such a pause, in which nobody is asked, and how many there have been in turn */
  sd_event_source *pause;
  unsigned pauses;
};

/** Begins or ends to be somebody who can ask: with a server that has buttons, and a session that is not locked. */
void pushes_update(struct pushes *pushes);
/** Takes what the watcher has found. */
void pushes_take(struct pushes *pushes, const segue_value *answer);
/** Each returns false if the notification is of somebody else. */
bool pushes_acted(struct pushes *pushes, uint32_t id, const char *action, const char *token);
bool pushes_closed(struct pushes *pushes, uint32_t id);
void pushes_forget_cards(struct pushes *pushes);
void pushes_end(struct pushes *pushes);

#endif
