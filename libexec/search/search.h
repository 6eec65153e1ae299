/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The state that the parts of segue-search share. */
#ifndef SEARCH_H
#define SEARCH_H

#include <segue.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "app_id.h"
#include "launches.h"
#include "notifier.h"
#include "presence.h"
#include "results.h"
#include "settings.h"
#include "worker.h"

/** The name on the session's bus. One of its own, as a search must not start notifications, nor wait for them. */
#define SEARCH_ID APP_ID ".Search"

struct search {
  sd_event *loop;
  segue_app *app;
  segue_app_delegate *delegate;
  /** the object that has all interfaces: the name, as a path */
  char path[sizeof SEARCH_ID + 1];
  struct worker asking, launching;
  struct notifier notifier;
  struct presence presence;
  struct settings settings;
  struct launches launches;
  struct results results;
  /** those that are not answered, the oldest first */
  struct query *queries;
  /** the offers are known, or none came in time */
  bool has_offers;
  /** a question to the agent has taken too long, and has not ended yet */
  bool is_stuck;
  bool is_leaving;
  /** microseconds: of CLOCK_MONOTONIC at the last call; for which the program stays then, and identifiers hold */
  uint64_t used_at, stay;
};

uint64_t search_now(const struct search *search);
/** Tells whether results may be shown: the session is not locked, and all settings are understood. */
bool search_may_show(const struct search *search);
/** Continues a result. token  may be empty */
void search_activate(struct search *search, struct result *result, const char *token);

#endif
