/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * segue-desktop: tells the user of a desktop, when they arrive, that something of another device can be continued here
 * (docs/desktop.md). It is a chooser, and may die or hang: agent, apps and offers do not notice.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <systemd/sd-daemon.h>

#include "app_id.h"
#include "devices.h"
#include "folders.h"
#include "launches.h"
#include "log.h"
#include "notifier.h"
#include "presence.h"
#include "pushes.h"
#include "start.h"
#include "token.h"
#include "worker.h"

struct desktop {
  sd_event *loop;
  segue_app *app;
  segue_app_delegate *delegate;
  struct worker asking, launching;
  struct notifier notifier;
  struct presence presence;
  struct devices devices;
  struct launches launches;
  struct pushes pushes;
  /** set when what is offered has changed, and when there is a hub anew, until the loop has handled it */
  bool has_changed, has_moved;
};

/* Callbacks of the app. */

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  (void)app, (void)event, (void)offer;
  ((struct desktop *)context)->has_changed = true;
}

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)app;
  if (connection == SEGUE_CONNECTION_READY)
    ((struct desktop *)context)->has_changed = ((struct desktop *)context)->has_moved = true;
}

static int dispatch(sd_event_source *source, int descriptor, uint32_t events, void *context) {
  struct desktop *desktop = context;
  (void)source, (void)descriptor, (void)events;
  segue_app_dispatch(desktop->app, 0, NULL);
  if (desktop->has_moved)
    watcher_call(&desktop->pushes.watcher);
  if (desktop->has_changed)
    devices_changed(&desktop->devices);
  desktop->has_moved = desktop->has_changed = false;
  return 0;
}

/* Signals of the session. */

static bool acted(void *context, uint32_t id, const char *action, const char *token) {
  struct desktop *desktop = context;
  return cards_acted(&desktop->devices, id, action, token) || launches_acted(&desktop->launches, id, action, token) ||
         pushes_acted(&desktop->pushes, id, action, token) || cards_acted_late(&desktop->devices, id, action, token);
}

static bool closed(void *context, uint32_t id, uint32_t reason) {
  struct desktop *desktop = context;
  return cards_closed(&desktop->devices, id, reason) || launches_closed(&desktop->launches, id) ||
         pushes_closed(&desktop->pushes, id) || cards_closed_late(&desktop->devices, id, reason);
}

static void server_changed(void *context) {
  struct desktop *desktop = context;
  if (!desktop->notifier.is_known) {
    cards_forget(&desktop->devices);
    launches_forget_cards(&desktop->launches);
    pushes_forget_cards(&desktop->pushes);
  } else {
    devices_changed(&desktop->devices);
  }
  pushes_update(&desktop->pushes);
}

static void superseded(void *context) {
  log_line("another one runs in this session");
  sd_event_exit(((struct desktop *)context)->loop, 0);
}

static void arrived(void *context) {
  struct desktop *desktop = context;
  devices_arrived(&desktop->devices);
  pushes_update(&desktop->pushes);
}

static void locked(void *context) {
  struct desktop *desktop = context;
  devices_locked(&desktop->devices);
  launches_locked(&desktop->launches);
  pushes_update(&desktop->pushes);
}

static int settings_changed(sd_event_source *source, const struct inotify_event *event, void *context) {
  struct desktop *desktop = context;
  (void)source;
  if (event->len == 0 || strcmp(event->name, "desktop") != 0)
    return 0;
  settings_read(&desktop->devices.settings);
  pushes_update(&desktop->pushes);
  devices_changed(&desktop->devices);
  return 0;
}

/** Watches the folder of the settings, which is made if it is not there; they are read before each look anyway. */
static void watch_settings(struct desktop *desktop) {
  char path[PATH_MAX];
  if (folder_find("XDG_CONFIG_HOME", ".config", "segue", path) && folder_make(path))
    sd_event_add_inotify(desktop->loop, NULL, path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE, settings_changed,
                         desktop);
}

/* The start. */

/** Adds what the loop waits for. Returns a negative errno if the system refuses it. */
static int prepare_loop(struct desktop *desktop) {
  int result = start_loop(&desktop->loop, desktop->app, dispatch, desktop);
  if (result >= 0)
    result = worker_prepare(&desktop->asking, desktop->loop);
  if (result >= 0)
    result = worker_prepare(&desktop->launching, desktop->loop);
  if (result >= 0)
    result = watcher_prepare(&desktop->pushes.watcher, desktop->loop);
  return result;
}

static void take_pushes(void *context, const segue_value *answer) { pushes_take(context, answer); }

/** Tells the parts of each other. */
static void connect_parts(struct desktop *desktop) {
  desktop->notifier.name = APP_ID;
  desktop->notifier.acted = acted;
  desktop->notifier.closed = closed;
  desktop->notifier.changed = server_changed;
  desktop->notifier.superseded = superseded;
  desktop->presence.arrived = arrived;
  desktop->presence.locked = locked;
  desktop->notifier.context = desktop->presence.context = desktop;
  desktop->presence.settings = &desktop->devices.settings;
  desktop->launches = (struct launches){.app = desktop->app,
                                        .notifier = &desktop->notifier,
                                        .settings = &desktop->devices.settings,
                                        .presence = &desktop->presence,
                                        .worker = &desktop->launching};
  desktop->devices.app = desktop->pushes.app = desktop->app;
  desktop->devices.loop = desktop->loop;
  desktop->devices.notifier = desktop->pushes.notifier = &desktop->notifier;
  desktop->devices.presence = desktop->pushes.presence = &desktop->presence;
  desktop->devices.launches = &desktop->launches;
  desktop->devices.worker = &desktop->asking;
  desktop->pushes.worker = &desktop->launching;
  desktop->pushes.settings = &desktop->devices.settings;
  desktop->pushes.watcher.take = take_pushes;
  desktop->pushes.watcher.context = &desktop->pushes;
}

/** Ends the waits for the agent first, and then what would use their answers. */
static void end(struct desktop *desktop) {
  pushes_end(&desktop->pushes);
  segue_app_close(desktop->app);
  worker_end(&desktop->asking);
  worker_end(&desktop->launching);
  launches_end(&desktop->launches);
  devices_end(&desktop->devices);
  notifier_end(&desktop->notifier);
  presence_end(&desktop->presence);
  segue_release(desktop->app);
  segue_release(desktop->delegate);
  sd_event_unref(desktop->loop);
}

int main(int count, char **arguments) {
  static struct desktop desktop;
  if (count > 1) {
    fprintf(stderr, "usage: %s\nIt takes no arguments: see `segue desktop`.\n", arguments[0]);
    return 2;
  }
  token_prepare();
  if (!start_app(APP_ID, (struct start_callbacks){.offer = on_offer, .connection = on_connection}, &desktop,
                 &desktop.app, &desktop.delegate))
    return 1;
  int result = prepare_loop(&desktop);
  if (result < 0) {
    log_line("the system refuses what it needs: %s", strerror(-result));
    return 1;
  }
  connect_parts(&desktop);
  settings_read(&desktop.devices.settings);
  dismissed_read(&desktop.devices.dismissed);
  watch_settings(&desktop);
  notifier_begin(&desktop.notifier, desktop.loop);
  presence_begin(&desktop.presence, desktop.loop);
  sd_notify(0, "READY=1");
  result = sd_event_loop(desktop.loop);
  end(&desktop);
  return result < 0 ? 1 : 0;
}
