/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Waits for pushes, on a thread and with an app of its own: to close that app is what ends the wait. */
#ifndef WATCHER_H
#define WATCHER_H

#include <pthread.h>
#include <segue.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

struct watcher {
  pthread_t thread;
  bool runs;
  segue_app *app;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  /** guarded by the mutex: the end, a new hub, and the last answer, owned */
  bool is_ending, is_called;
  segue_value *answer;
  int descriptor;
  sd_event_source *source;
  /** An answer to the request "pushes". answer  borrowed */
  void (*take)(void *context, const segue_value *answer);
  void *context;
};

/** Prepares the watcher. Returns 0, or a negative errno. */
int watcher_prepare(struct watcher *watcher, sd_event *loop);
/** Begins to wait, if it does not yet. From now on there is somebody who can ask. */
void watcher_begin(struct watcher *watcher);
/** Tells it that the hub has moved: there may be an agent now. */
void watcher_call(struct watcher *watcher);
void watcher_end(struct watcher *watcher);

#endif
