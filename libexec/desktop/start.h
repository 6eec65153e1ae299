/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The start of segue-desktop and of segue-search: log, app and loop. */
#ifndef START_H
#define START_H

#include <segue.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

/** The callbacks of an app; NULL: not wanted. */
struct start_callbacks {
  segue_offer_function offer;
  segue_connection_function connection;
};

/**
 * Opens a chooser with this bundle identifier. The library's errors are logged from then on, unless SEGUE_LOG says what
 * is. Returns whether it is open; if not, the log says why.
 *
 * context: of the callbacks
 * app, delegate: the caller's to release
 */
bool start_app(const char *identifier, struct start_callbacks callbacks, void *context, segue_app **app,
               segue_app_delegate **delegate);

/**
 * Makes the loop, which SIGTERM and SIGINT end. Returns a negative errno if the system refuses it.
 *
 * dispatch: called when the app has something to do
 */
int start_loop(sd_event **loop, segue_app *app, sd_event_io_handler_t dispatch, void *context);

#endif
