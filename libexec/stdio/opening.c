/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "opening.h"

#include <stdio.h>
#include <string.h>

#include "parameters.h"

/**
 * The least bound of a line, in bytes. By the limits of the library every message fits, and a list of one offer, but
 * for continuation/continue: a title of 1024 bytes, a message of 512, a few names of 255, each byte with up to 6 in
 * JSON.
 */
#define LINE_LEAST 65536

/* Callbacks of the app. */

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  struct session *session = context;
  (void)app, (void)event, (void)offer;
  session->offers.is_changed = true;
}

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  struct session *session = context;
  (void)app;
  if (connection != SEGUE_CONNECTION_READY || session->offers.is_ready)
    return;
  session->offers.is_ready = true;
  session->offers.is_changed = true;
}

static void on_will_continue(void *context, segue_app *app, const char *type, size_t length,
                             segue_continuation *continuation) {
  (void)app;
  continuations_will(&((struct session *)context)->continuations, type, length, continuation);
}

static segue_reply on_continue(void *context, segue_app *app, segue_activity *activity,
                               segue_continuation *continuation) {
  (void)app;
  return continuations_continue(&((struct session *)context)->continuations, activity, continuation);
}

static void on_did_fail(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                        segue_continuation *continuation) {
  (void)app;
  continuations_failed(&((struct session *)context)->continuations, type, length, error, continuation);
}

static void on_opening_failed(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                              segue_continuation *continuation) {
  (void)app;
  continuations_opening_failed(&((struct session *)context)->continuations, type, length, error, continuation);
}

static segue_status prepare_delegate(struct session *session) {
  segue_status status = segue_app_delegate_create(session, NULL, &session->delegate);
  segue_app_delegate *delegate = session->delegate;
  if (status == SEGUE_OK)
    status = segue_app_delegate_on_offer(delegate, on_offer);
  if (status == SEGUE_OK)
    status = segue_app_delegate_on_connection(delegate, on_connection);
  if (status == SEGUE_OK)
    status = segue_app_delegate_on_will_continue(delegate, on_will_continue);
  if (status == SEGUE_OK)
    status = segue_app_delegate_on_continue(delegate, on_continue);
  if (status == SEGUE_OK)
    status = segue_app_delegate_on_did_fail(delegate, on_did_fail);
  if (status == SEGUE_OK)
    status = segue_app_delegate_on_opening_failed(delegate, on_opening_failed);
  if (status == SEGUE_OK)
    status = segue_app_set_delegate(session->app, delegate);
  return status;
}

/* Parameters. */

static bool check_protocol(const segue_value *parameters, struct problem *problem) {
  int64_t protocol = 0;
  if (segue_dictionary_get_int64(parameters, "protocol", SEGUE_NUL_TERMINATED, &protocol) != SEGUE_OK)
    return problem_parameter(problem, "protocol", "an integer is required");
  return protocol == PROTOCOL ||
         problem_status(problem, SEGUE_ERROR_UNSUPPORTED_VERSION, "protocol", "this program speaks protocol 1");
}

/** Sets what may be absent or null. */
static bool set_text(segue_app *app, const segue_value *parameters, const char *key,
                     segue_status (*set)(segue_app *, const char *, size_t), struct problem *problem) {
  char *text = NULL;
  size_t length = 0;
  bool is_good = parameter_text(parameters, key, &text, &length, problem) &&
                 (!text || set(app, text, length) == SEGUE_OK || problem_library(problem, key));
  segue_free(text);
  return is_good;
}

static bool set_types(segue_app *app, const segue_value *parameters, struct problem *problem) {
  segue_value *types = NULL;
  char path[PATH_SIZE];
  size_t count = 0;
  if (parameter(parameters, "types", &types) != GIVEN)
    return true;
  segue_kind kind = SEGUE_KIND_NULL;
  segue_value_get_kind(types, &kind);
  bool is_good = kind == SEGUE_KIND_ARRAY || problem_parameter(problem, "types", "an array of strings is needed");
  segue_value_get_count(types, &count);
  for (size_t index = 0; is_good && index < count; index++) {
    char *type = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%zu", index);
    segue_status status = segue_value_find_string(types, path, SEGUE_NUL_TERMINATED, &type, &length);
    snprintf(path, sizeof path, "types/%zu", index);
    is_good = status == SEGUE_OK || problem_parameter(problem, path, "a string is needed");
    if (is_good)
      is_good = segue_app_add_activity_type(app, type, length) == SEGUE_OK || problem_library(problem, path);
    segue_free(type);
  }
  segue_release(types);
  return is_good;
}

static bool set_policy(segue_app *app, const segue_value *parameters, struct problem *problem) {
  char *policy = NULL;
  size_t length = 0;
  if (!parameter_text(parameters, "savePolicy", &policy, &length, problem))
    return false;
  bool is_needed = policy && strcmp(policy, "whenNeeded") == 0;
  bool is_good = !policy || is_needed || strcmp(policy, "whenPulled") == 0 ||
                 problem_parameter(problem, "savePolicy", "whenPulled or whenNeeded is needed");
  segue_free(policy);
  if (is_good && is_needed)
    is_good =
        segue_app_set_save_policy(app, SEGUE_SAVE_WHEN_NEEDED) == SEGUE_OK || problem_library(problem, "savePolicy");
  return is_good;
}

static bool read_line_bound(const segue_value *parameters, size_t *most, struct problem *problem) {
  segue_value *given = NULL;
  int64_t bytes = 0;
  if (parameter(parameters, "lineBytes", &given) != GIVEN)
    return true;
  segue_status status = segue_value_find_int64(given, "", 0, &bytes);
  segue_release(given);
  if (status != SEGUE_OK || bytes < LINE_LEAST || bytes > LINE_HIGHEST)
    return problem_parameter(problem, "lineBytes", "an integer is needed, 65536 to 25165824");
  *most = (size_t)bytes;
  return true;
}

bool opening_open(struct session *session, const segue_value *parameters, struct problem *problem) {
  char *identifier = NULL, *name = NULL;
  bool chooser = false, saves = true;
  size_t most = LINE_MOST;
  if (!check_protocol(parameters, problem) || !parameter_name(parameters, "bundleIdentifier", &identifier, problem))
    return false;
  bool is_good = segue_app_create(identifier, SEGUE_NUL_TERMINATED, &session->app) == SEGUE_OK ||
                 problem_library(problem, "bundleIdentifier");
  is_good =
      is_good && parameter_name(parameters, "name", &name, problem) &&
      (segue_app_set_name(session->app, name, SEGUE_NUL_TERMINATED) == SEGUE_OK || problem_library(problem, "name")) &&
      set_text(session->app, parameters, "team", segue_app_set_team_identifier, problem) &&
      set_text(session->app, parameters, "label", segue_app_set_label, problem) &&
      set_types(session->app, parameters, problem) && set_policy(session->app, parameters, problem) &&
      parameter_bool(parameters, "chooser", &chooser, problem) && parameter_bool(parameters, "save", &saves, problem) &&
      read_line_bound(parameters, &most, problem);
  if (is_good)
    is_good = (segue_app_set_chooser(session->app, chooser) == SEGUE_OK && prepare_delegate(session) == SEGUE_OK &&
               segue_app_open(session->app) == SEGUE_OK) ||
              problem_library(problem, "");
  segue_free(name);
  segue_free(identifier);
  if (!is_good) {
    segue_release(session->app);
    segue_release(session->delegate);
    session->app = NULL;
    session->delegate = NULL;
    return false;
  }
  session->reader.most = session->channel.lines.most = most;
  session->activities.app = session->offers.app = session->app;
  session->activities.asks = saves;
  return true;
}

static void put_limit(struct channel *channel, const char *key, segue_limit limit, double unit) {
  uint64_t value = 0;
  segue_limit_get(limit, &value);
  if (unit == 1)
    channel_put_number(channel, key, (int64_t)value);
  else
    channel_put_real(channel, key, (double)value / unit);
}

void opening_answer(struct session *session, const segue_value *id) {
  struct channel *channel = &session->channel;
  uint32_t version = segue_version();
  char text[32];
  snprintf(text, sizeof text, "%u.%u.%u", version >> 16, version >> 8 & 0xff, version & 0xff);
  channel_begin_result(channel, id);
  channel_put_number(channel, "protocol", PROTOCOL);
  channel_put_text(channel, "version", text, SEGUE_NUL_TERMINATED);
  channel_put_bool(channel, "agent", session->agent.runs);
  channel_begin(channel, "limits", SEGUE_KIND_DICTIONARY);
  channel_put_number(channel, "lineBytes", (int64_t)channel->lines.most);
  channel_put_number(channel, "messageBytes", MESSAGE_MOST);
  put_limit(channel, "messageNesting", SEGUE_LIMIT_NESTING, 1);
  channel_put_number(channel, "activities", ACTIVITIES_MOST);
  put_limit(channel, "userInfoBytes", SEGUE_LIMIT_USER_INFO, 1);
  put_limit(channel, "titleBytes", SEGUE_LIMIT_TITLE, 1);
  put_limit(channel, "urlBytes", SEGUE_LIMIT_URL, 1);
  put_limit(channel, "saveSeconds", SEGUE_LIMIT_SAVE_MS, 1000);
  put_limit(channel, "continuationSeconds", SEGUE_LIMIT_CONTINUATION_MS, 1000);
  segue_writer_end(channel->writer);
  channel_send(channel);
}
