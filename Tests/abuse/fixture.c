/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Objects that chance alone would hardly ever bring about: apps of one team that are open, with delegates that have
 * every callback, and something to continue. The calls that use them are left to chance. */
#include "abuse.h"
#include <dlfcn.h>
#include <unistd.h>

#define NUL SEGUE_NUL_TERMINATED
#define PUT(type, handle) pool_put(handle_type(#type), (uintptr_t)(handle))

/** Dispatches that a continuation is given. */
enum { TURNS = 40 };

static void *context(void) { return (void *)(uintptr_t)context_make(); }

static segue_app_delegate *app_delegate(void) {
  segue_app_delegate *delegate = NULL;
  segue_app_delegate_create(context(), abuse_destroy, &delegate);
  segue_app_delegate_on_offer(delegate, abuse_offer_function);
  segue_app_delegate_on_connection(delegate, abuse_connection_function);
  segue_app_delegate_on_will_continue(delegate, abuse_will_continue_function);
  segue_app_delegate_on_continue(delegate, abuse_continue_function);
  segue_app_delegate_on_did_fail(delegate, abuse_did_fail_function);
  segue_app_delegate_on_did_update(delegate, abuse_did_update_function);
  segue_app_delegate_on_open_document(delegate, abuse_open_document_function);
  segue_app_delegate_on_opening_failed(delegate, abuse_did_fail_function);
  return delegate;
}

static segue_activity_delegate *activity_delegate(void) {
  segue_activity_delegate *delegate = NULL;
  segue_activity_delegate_create(context(), abuse_destroy, &delegate);
  segue_activity_delegate_on_will_save(delegate, abuse_will_save_function);
  segue_activity_delegate_on_was_continued(delegate, abuse_receipt_function);
  segue_activity_delegate_on_continuation_ended(delegate, abuse_receipt_function);
  segue_activity_delegate_on_did_receive_stream(delegate, abuse_did_receive_stream_function);
  segue_activity_delegate_on_request(delegate, abuse_request_function);
  segue_activity_delegate_on_will_resume_back(delegate, abuse_will_resume_back_function);
  segue_activity_delegate_on_did_resume_back(delegate, abuse_did_resume_back_function);
  return delegate;
}

/** Windows, each in the next, some of which have the activity; chance moves it among them. */
static void make_responders(segue_app *app, segue_activity *activity) {
  segue_responder *outer = NULL;
  for (int i = 0; i < 3; i++) {
    segue_responder *responder = NULL;
    segue_responder_create(app, draw(4) ? abuse_will_save_function : NULL, abuse_restore_state_function, context(),
                           abuse_destroy, &responder);
    segue_responder_set_next(responder, outer);
    if (draw(2))
      segue_responder_set_activity(responder, activity);
    segue_app_set_main_responder(app, responder);
    PUT(segue_responder, responder);
    outer = responder;
  }
}

/** A file of a folder that all apps have, and the chain leads to it. */
static void make_document(segue_app *app) {
  char url[4096];
  segue_document *document = NULL;
  segue_document_observer *observer = NULL;
  segue_responder *responder = NULL;
  snprintf(url, sizeof url, "file://%s/document", folder);
  segue_document_create(app, url, NUL, "text/plain", NUL, SEGUE_ROLE_EDITOR, draw(2) ? abuse_will_save_function : NULL,
                        abuse_restore_state_function, context(), abuse_destroy, &document);
  segue_document_observe(document, abuse_activity_changed_function, context(), abuse_destroy, &observer);
  segue_document_get_responder(document, &responder);
  segue_app_set_main_responder(app, responder);
  PUT(segue_document, document);
  PUT(segue_document_observer, observer);
  PUT(segue_responder, responder);
}

/** A function that the library for tests has alone; NULL in the other one. */
#define OF_FLEET(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))

static const char *manifest(void) {
  static const char text[] = "<plist version=\"1.0\"><dict><key>CFBundleIdentifier</key><string>com.example.launched"
                             "</string><key>com.apple.developer.team-identifier</key><string>T</string>"
                             "<key>NSUserActivityTypes</key><array><string>com.example.editing</string></array>"
                             "</dict></plist>";
  static char path[4096];
  snprintf(path, sizeof path, "%s/launched.plist", folder);
  FILE *file = access(path, F_OK) == 0 ? NULL : fopen(path, "w");
  if (file) {
    fputs(text, file);
    fclose(file);
  }
  return path;
}

/** A device of a fleet with an agent, which is asked to launch an app. */
static void make_fleet(void) {
  if (!OF_FLEET(segue_fleet_create))
    return;
  segue_fleet *fleet = NULL;
  segue_fleet_device *device = NULL;
  segue_app *app = NULL;
  segue_activity *activity = NULL;
  segue_value *result = NULL;
  OF_FLEET(segue_fleet_create)(draw(1000), &fleet);
  OF_FLEET(segue_fleet_add_device)(fleet, "device", NUL, &device);
  OF_FLEET(segue_fleet_device_start_agent)(device);
  OF_FLEET(segue_fleet_device_install_app)(device, manifest(), NUL, abuse_launch_function, context(), abuse_destroy);
  OF_FLEET(segue_fleet_device_create_app)(device, "com.example.abuse", NUL, &app);
  segue_app_set_team_identifier(app, "T", NUL);
  segue_app_add_activity_type(app, "com.example.editing", NUL);
  segue_app_open(app);
  segue_activity_create(app, NULL, 0, &activity);
  segue_activity_become_current(activity);
  OF_FLEET(segue_fleet_run)(fleet, NULL);
  segue_activity_push(activity, NULL, "com.example.launched", NUL, 1000, &result);
  if (result)
    PUT(segue_value, result);
  PUT(segue_fleet, fleet);
  PUT(segue_fleet_device, device);
  PUT(segue_activity, activity);
  PUT(segue_app, app);
}

void make_fixture(void) {
  if (draw(4) == 0)
    make_fleet();
  static const uint8_t bytes[4096];
  segue_app *app = NULL;
  segue_activity *activity = NULL;
  segue_restorable *restorable = NULL;
  segue_app_delegate *delegate = app_delegate();
  segue_activity_delegate *saver = activity_delegate();
  segue_app_create("com.example.abuse", NUL, &app);
  segue_app_set_team_identifier(app, "T", NUL);
  segue_app_add_activity_type(app, "com.example.editing", NUL);
  segue_app_set_runtime_folder(app, folder, NUL);
  segue_app_add_document_type(app, "text/plain", NUL, SEGUE_ROLE_EDITOR, "com.example.editing", NUL);
  segue_app_add_container(app, "com.example.files", NUL, folder, NUL);
  segue_app_set_delivery(app, draw(4) ? SEGUE_DELIVER_HOST : SEGUE_DELIVER_THREAD);
  segue_app_set_delegate(app, delegate);
  segue_status status = segue_app_open(app);
  if (status != SEGUE_OK)
    fail("an app cannot be opened", segue_status_name(status));
  segue_activity_create(app, NULL, 0, &activity);
  segue_activity_set_supports_continuation_streams(activity, true);
  segue_activity_set_delegate(activity, saver);
  segue_activity_attach_bytes(activity, "attached", NUL, bytes, draw(sizeof bytes));
  segue_activity_become_current(activity);
  if (draw(2))
    make_responders(app, activity);
  if (draw(2))
    make_document(app);
  segue_restorable_create(abuse_restore_state_function, context(), abuse_destroy, &restorable);
  PUT(segue_app_delegate, delegate);
  PUT(segue_activity_delegate, saver);
  PUT(segue_restorable, restorable);
  PUT(segue_activity, activity);
  PUT(segue_app, app);
}

/** Any activity asks for its state back: what the other side is asked comes with the dispatches that follow. */
static void make_return(void) {
  segue_activity *activity = (segue_activity *)(uintptr_t)pool_look(handle_type("segue_activity"));
  segue_request *request = NULL;
  if (segue_activity_resume_back(activity, 0, abuse_resume_back_function, context(), abuse_destroy, &request) ==
      SEGUE_OK)
    PUT(segue_request, request);
}

/** Any app continues any offer, and is given the time for it, as far as the other threads let it. */
void make_handoff(void) {
  int apps = handle_type("segue_app");
  segue_app *app = (segue_app *)(uintptr_t)pool_look(apps);
  segue_offer *offers[MOST_OFFERS];
  segue_continuation *continuation = NULL;
  size_t count = 0;
  if (segue_app_get_offers(app, offers, MOST_OFFERS, &count) != SEGUE_OK || count == 0)
    return;
  size_t chosen = draw((uint32_t)(count < MOST_OFFERS ? count : MOST_OFFERS));
  if (segue_app_continue(app, offers[chosen], 0, &continuation) == SEGUE_OK)
    PUT(segue_continuation, continuation);
  for (size_t i = 0; i < count && i < MOST_OFFERS; i++)
    PUT(segue_offer, offers[i]);
  make_return();
  for (int turn = 0; turn < TURNS; turn++)
    segue_app_dispatch((segue_app *)(uintptr_t)pool_look(apps), draw(2), NULL);
}
