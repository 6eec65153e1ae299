/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * segue-search: finds what other devices offer, and what apps have saved, for the searches of desktops
 * (docs/desktop.md). The bus starts it with the first search, and it ends a while after the last one. It is a chooser,
 * and may die or hang.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interfaces.h"
#include "log.h"
#include "query.h"
#include "start.h"
#include "token.h"

#define SECOND 1000000ull
/** Microseconds for which the program stays after a call, and identifiers hold after their search. */
#define STAY_USEC (300 * SECOND)
/** Microseconds after the start until offers that have not come count as absent; mostly a hub is found in 500 ms. */
#define OFFERS_USEC 1500000ull

uint64_t search_now(const struct search *search) {
  uint64_t now = 0;
  sd_event_now(search->loop, CLOCK_MONOTONIC, &now);
  return now;
}

bool search_may_show(const struct search *search) {
  return !search->presence.is_locked && search->settings.problem == 0;
}

void search_activate(struct search *search, struct result *result, const char *token) {
  if (!search_may_show(search))
    return;
  if (search->notifier.is_lazy)
    notifier_ask(&search->notifier);
  if (result->found.offer)
    launches_begin(&search->launches, result->found.offer, token);
  else if (result->found.saved)
    launches_begin_saved(&search->launches, result->found.saved, result->found.name, token);
}

/* The app. */

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  struct search *search = context;
  (void)app;
  search->has_offers = search->has_offers || connection == SEGUE_CONNECTION_READY;
}

static int dispatch(sd_event_source *source, int descriptor, uint32_t events, void *context) {
  struct search *search = context;
  (void)source, (void)descriptor, (void)events;
  segue_app_dispatch(search->app, 0, NULL);
  query_begin_waiting(search);
  return 0;
}

static int offers_are_late(sd_event_source *source, uint64_t usec, void *context) {
  struct search *search = context;
  (void)source, (void)usec;
  search->has_offers = true;
  query_begin_waiting(search);
  return 0;
}

/* Signals of the session. */

static bool acted(void *context, uint32_t id, const char *action, const char *token) {
  return launches_acted(&((struct search *)context)->launches, id, action, token);
}

static bool closed(void *context, uint32_t id, uint32_t reason) {
  (void)reason;
  return launches_closed(&((struct search *)context)->launches, id);
}

/** The session ends with its bus. */
static void server_changed(void *context) {
  struct search *search = context;
  if (!search->notifier.is_known)
    launches_forget_cards(&search->launches);
  if (!search->notifier.bus.bus)
    sd_event_exit(search->loop, 0);
}

static void superseded(void *context) {
  log_line("another one runs in this session");
  sd_event_exit(((struct search *)context)->loop, 0);
}

static void locked(void *context) {
  launches_locked(&((struct search *)context)->launches);
  query_begin_waiting(context);
}

static int exported(void *context, sd_bus *bus) {
  int result = gnome_export(context, bus);
  if (result >= 0)
    result = krunner_export(context, bus);
  return result < 0 ? result : application_export(context, bus);
}

/* The end. */

static int name_released(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct search *search = context;
  (void)message, (void)error;
  /* All calls that came to the name have been read before this answer. */
  search->is_leaving = true;
  if (!search->queries && !launches_are_busy(&search->launches))
    sd_event_exit(search->loop, 0);
  return 0;
}

/** Leaves the bus to the next one, if nothing is under way; looks again later otherwise. */
static int stay_is_over(sd_event_source *source, uint64_t usec, void *context) {
  struct search *search = context;
  uint64_t until = search->used_at + search->stay;
  (void)usec;
  bool is_used = search_now(search) < until || search->queries || launches_are_busy(&search->launches) ||
                 results_expire(&search->results, search_now(search));
  if (search->is_leaving && !search->queries && !launches_are_busy(&search->launches))
    return sd_event_exit(search->loop, 0);
  if (!is_used && !search->is_leaving)
    sd_bus_release_name_async(search->notifier.bus.bus, NULL, SEARCH_ID, name_released, search);
  sd_event_source_set_time_relative(source, is_used ? search->stay : SECOND);
  return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/** Ends the waits for the agent first, and then what would use their answers. */
static void end(struct search *search) {
  segue_app_close(search->app);
  query_end(search);
  worker_end(&search->asking);
  worker_end(&search->launching);
  launches_end(&search->launches);
  results_end(&search->results);
  notifier_end(&search->notifier);
  presence_end(&search->presence);
  free(search->settings.text);
  segue_release(search->app);
  segue_release(search->delegate);
  sd_event_unref(search->loop);
}

/* The start. */

static void connect_parts(struct search *search) {
  search->path[0] = '/';
  strcpy(search->path + 1, SEARCH_ID);
  for (char *each = search->path; *each; each++)
    *each = *each == '.' ? '/' : *each == '-' ? '_' : *each;
  search->notifier.name = SEARCH_ID;
  search->notifier.is_lazy = true;
  search->notifier.exported = exported;
  search->notifier.acted = acted;
  search->notifier.closed = closed;
  search->notifier.changed = server_changed;
  search->notifier.superseded = superseded;
  search->presence.locked = locked;
  search->notifier.context = search->presence.context = search;
  search->presence.settings = &search->settings;
  search->launches = (struct launches){.app = search->app,
                                       .notifier = &search->notifier,
                                       .settings = &search->settings,
                                       .presence = &search->presence,
                                       .worker = &search->launching};
}

/** Adds what the loop waits for. Returns a negative errno if the system refuses it. */
static int prepare_loop(struct search *search) {
  int result = start_loop(&search->loop, search->app, dispatch, search);
  if (result >= 0)
    result = worker_prepare(&search->asking, search->loop);
  if (result >= 0)
    result = worker_prepare(&search->launching, search->loop);
  if (result >= 0)
    result = sd_event_add_time_relative(search->loop, NULL, CLOCK_MONOTONIC, OFFERS_USEC, 0, offers_are_late, search);
  if (result >= 0)
    result =
        sd_event_add_time_relative(search->loop, NULL, CLOCK_MONOTONIC, search->stay, SECOND, stay_is_over, search);
  return result;
}

/** Takes --stay SECONDS. Returns false if the arguments are others. */
static bool take_arguments(int count, char **arguments, struct search *search) {
  char *end = NULL;
  search->stay = STAY_USEC;
  if (count == 1)
    return true;
  if (count != 3 || strcmp(arguments[1], "--stay") != 0)
    return false;
  unsigned long seconds = strtoul(arguments[2], &end, 10);
  search->stay = seconds * SECOND;
  return arguments[2][0] >= '0' && arguments[2][0] <= '9' && *end == '\0' && seconds > 0 && seconds <= 86400;
}

int main(int count, char **arguments) {
  static struct search search;
  if (!take_arguments(count, arguments, &search)) {
    fprintf(stderr,
            "usage: %s [--stay SECONDS]\nThe session's bus starts it. It ends when nobody has searched for so "
            "long, 300 s by default.\n",
            arguments[0]);
    return 2;
  }
  token_prepare();
  if (!start_app(SEARCH_ID, (struct start_callbacks){.connection = on_connection}, &search, &search.app,
                 &search.delegate))
    return 1;
  int result = prepare_loop(&search);
  if (result < 0) {
    log_line("the system refuses what it needs: %s", strerror(-result));
    return 1;
  }
  connect_parts(&search);
  settings_read(&search.settings);
  presence_begin(&search.presence, search.loop);
  notifier_begin(&search.notifier, search.loop);
  result = search.notifier.bus.bus ? sd_event_loop(search.loop) : -ENOTCONN;
  end(&search);
  return result < 0 ? 1 : 0;
}
