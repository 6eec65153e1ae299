/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/**
 * A viewer that continues the activity of an editor: the receiver's side of Segue. Try it beside a running `editor`:
 *
 *     viewer
 *
 * It waits for an offer, continues it, prints the text around the restored line, and exits with status 0 if the
 * activity was restored, otherwise with 1.
 *
 * Read it in this order: main, open_app, and then the callbacks in the order in which they run: on_connection and
 * on_offer, will_continue, then either continue_activity and restore_window, or did_fail.
 */
#include "notes.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/** Lines shown before and after the restored one. */
#define CONTEXT_LINES 2

struct viewer {
  segue_app *app;
  segue_app_delegate *delegate;
  bool ready;      /* registered with the hub */
  bool continuing; /* one continuation is enough for this program */
  bool ended, restored;
};

/** Continues the frontmost offer, if there is one. */
static void continue_frontmost(struct viewer *viewer) {
  segue_offer *offer;
  size_t count;
  notes_check(segue_app_get_offers(viewer->app, &offer, 1, &count));
  if (count == 0)
    return;
  char *title, *name, *device;
  notes_check(segue_offer_get_title(offer, &title, NULL));
  notes_check(segue_offer_get_app_name(offer, &name, NULL));
  notes_check(segue_offer_get_device_name(offer, &device, NULL));
  printf("offered: \"%s\" by %s on %s\n", title == NULL ? "" : title, name, device);
  segue_free(title);
  segue_free(name);
  segue_free(device);

  viewer->continuing = true;
  notes_check(segue_app_continue(viewer->app, offer, 0, NULL));
  segue_release(offer);
}

/** The app has registered with the device's hub, and all offers have arrived. */
static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)app;
  struct viewer *viewer = context;
  viewer->ready = connection == SEGUE_CONNECTION_READY;
  if (viewer->ready && !viewer->continuing)
    continue_frontmost(viewer);
}

/** An offer appeared, changed or is gone. */
static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  (void)app;
  (void)event;
  (void)offer;
  struct viewer *viewer = context;
  if (viewer->ready && !viewer->continuing)
    continue_frontmost(viewer);
}

/** A continuation begins. No data has arrived yet: declines a payload that this program cannot read. */
static void will_continue(void *context, segue_app *app, const char *type, size_t type_length,
                          segue_continuation *continuation) {
  (void)context;
  (void)app;
  segue_offer *offer;
  uint32_t version;
  notes_check(segue_continuation_get_offer(continuation, &offer));
  notes_check(segue_offer_get_payload_version(offer, &version));
  segue_release(offer);
  printf("continuing %.*s\n", (int)type_length, type);
  if (version > NOTES_PAYLOAD_VERSION) {
    char reason[128];
    snprintf(reason, sizeof reason, "payload version %" PRIu32 ", this viewer reads up to %d", version,
             NOTES_PAYLOAD_VERSION);
    notes_check(segue_continuation_decline(continuation, reason, SEGUE_NUL_TERMINATED));
  }
}

/** Prints the file's text around a line, counted from 1. */
static bool show(const char *path, int64_t line) {
  struct text text;
  if (!text_load(&text, path)) {
    fprintf(stderr, "viewer: %s: %s\n", path, strerror(errno));
    return false;
  }
  bool there = line >= 1 && (uint64_t)line <= text.count;
  if (!there)
    fprintf(stderr, "viewer: %s has no line %" PRId64 "\n", path, line);
  for (int64_t n = line - CONTEXT_LINES; there && n <= line + CONTEXT_LINES; n++)
    if (n >= 1 && (uint64_t)n <= text.count)
      printf("%s %" PRId64 ": %s\n", n == line ? ">" : " ", n, text.lines[n - 1]);
  text_free(&text);
  return there;
}

/** Restores the window of this program (its standard output) from the activity; true: restored. */
static bool restore_window(void *context, segue_activity *activity) {
  struct viewer *viewer = context;
  segue_value *user_info;
  char *url = NULL;
  int64_t line;
  viewer->ended = true;
  notes_check(segue_activity_get_user_info(activity, &user_info));
  /* Another program, perhaps a newer one, wrote this: each entry may be missing or of another kind. */
  if (segue_dictionary_get_string(user_info, NOTES_DOCUMENT, SEGUE_NUL_TERMINATED, &url, NULL) != SEGUE_OK ||
      segue_dictionary_get_int64(user_info, NOTES_LINE, SEGUE_NUL_TERMINATED, &line) != SEGUE_OK) {
    char message[SEGUE_MESSAGE_SIZE];
    segue_last_error(message, sizeof message);
    fprintf(stderr, "viewer: not a note: %s\n", message);
  } else {
    char *path = text_path_from_url(url);
    if (path == NULL)
      fprintf(stderr, "viewer: not a file of this machine: %s\n", url);
    viewer->restored = path != NULL && show(path, line);
    free(path);
  }
  segue_free(url);
  segue_release(user_info);
  return viewer->restored;
}

/** The activity has arrived. The restoration handler restores its windows, so that they count for the receipt. */
static segue_reply continue_activity(void *context, segue_app *app, segue_activity *activity,
                                     segue_continuation *continuation) {
  (void)app;
  (void)activity;
  segue_restorable *window;
  notes_check(segue_restorable_create(restore_window, context, NULL, &window));
  notes_check(segue_continuation_restore(continuation, &window, 1));
  segue_release(window);
  return SEGUE_REPLY_YES;
}

/** The continuation failed: declined, timed out, or the editor is gone. No other callback follows. */
static void did_fail(void *context, segue_app *app, const char *type, size_t type_length, const segue_error *error,
                     segue_continuation *continuation) {
  (void)app;
  (void)continuation;
  struct viewer *viewer = context;
  segue_status status;
  char *message;
  viewer->ended = true;
  notes_check(segue_error_get_status(error, &status));
  notes_check(segue_error_get_message(error, &message, NULL));
  fprintf(stderr, "viewer: %.*s: %s: %s\n", (int)type_length, type, segue_status_name(status), message);
  segue_free(message);
}

static void open_app(struct viewer *viewer) {
  notes_follow_log();
  notes_check(segue_app_create("com.example.notes.viewer", SEGUE_NUL_TERMINATED, &viewer->app));
  notes_check(segue_app_set_name(viewer->app, "Notes Viewer", SEGUE_NUL_TERMINATED));
  notes_check(segue_app_set_team_identifier(viewer->app, NOTES_TEAM, SEGUE_NUL_TERMINATED));
  notes_check(segue_app_add_activity_type(viewer->app, NOTES_EDITING, SEGUE_NUL_TERMINATED));

  notes_check(segue_app_delegate_create(viewer, NULL, &viewer->delegate));
  notes_check(segue_app_delegate_on_connection(viewer->delegate, on_connection));
  notes_check(segue_app_delegate_on_offer(viewer->delegate, on_offer));
  notes_check(segue_app_delegate_on_will_continue(viewer->delegate, will_continue));
  notes_check(segue_app_delegate_on_continue(viewer->delegate, continue_activity));
  notes_check(segue_app_delegate_on_did_fail(viewer->delegate, did_fail));
  notes_check(segue_app_set_delegate(viewer->app, viewer->delegate));

  notes_check(segue_app_open(viewer->app));
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* each line at once, also into a pipe */
  struct viewer viewer = {.app = NULL};
  open_app(&viewer);
  while (!viewer.ended)
    notes_check(segue_app_dispatch(viewer.app, -1, NULL));
  notes_check(segue_app_close(viewer.app));
  segue_release(viewer.delegate);
  segue_release(viewer.app);
  return viewer.restored ? EXIT_SUCCESS : EXIT_FAILURE;
}
