/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "session.h"

#include <stdio.h>
#include <string.h>

#include "opening.h"
#include "parameters.h"

/** Bytes of the id of a request. */
#define ID_MOST 255

void session_prepare(struct session *session, int output) {
  session->reader.most = LINE_MOST;
  session->channel.lines.descriptor = output;
  session->channel.lines.most = LINE_MOST;
  session->agent.descriptor = -1;
  session->activities.channel = session->offers.channel = session->continuations.channel = &session->channel;
  session->activities.continuations = &session->continuations;
  session->continuations.activities = &session->activities;
  session->offers.continuations = &session->continuations;
}

void session_give_up(struct session *session, const char *problem) {
  log_line("%s", problem);
  session->is_over = true;
  session->status = 1;
}

/* Methods. */

enum answer { REFUSED, DONE, ANSWERED };

/** Handles a request or a notification. id  borrowed; NULL: a notification */
typedef enum answer (*method_function)(struct session *session, const segue_value *parameters, const segue_value *id,
                                       struct problem *problem);

static enum answer done_if(bool is_good) { return is_good ? DONE : REFUSED; }

static enum answer set(struct session *session, const segue_value *parameters, const segue_value *id,
                       struct problem *problem) {
  (void)id;
  return done_if(activities_set(&session->activities, parameters, problem));
}

static enum answer make_current(struct session *session, const segue_value *parameters, const segue_value *id,
                                struct problem *problem) {
  (void)id;
  return done_if(activities_make_current(&session->activities, parameters, problem));
}

static enum answer invalidate(struct session *session, const segue_value *parameters, const segue_value *id,
                              struct problem *problem) {
  (void)id;
  return done_if(activities_invalidate(&session->activities, parameters, problem));
}

static enum answer release(struct session *session, const segue_value *parameters, const segue_value *id,
                           struct problem *problem) {
  (void)id;
  return done_if(activities_release(&session->activities, parameters, problem));
}

static enum answer need_save(struct session *session, const segue_value *parameters, const segue_value *id,
                             struct problem *problem) {
  (void)id;
  return done_if(activities_need_save(&session->activities, parameters, problem));
}

static enum answer set_foreground(struct session *session, const segue_value *parameters, const segue_value *id,
                                  struct problem *problem) {
  bool foreground = true;
  (void)id;
  return done_if(
      parameter_bool(parameters, "foreground", &foreground, problem) &&
      (segue_app_set_foreground(session->app, foreground) == SEGUE_OK || problem_library(problem, "foreground")));
}

static enum answer continue_offer(struct session *session, const segue_value *parameters, const segue_value *id,
                                  struct problem *problem) {
  return offers_continue(&session->offers, parameters, id, problem) ? ANSWERED : REFUSED;
}

static enum answer cancel(struct session *session, const segue_value *parameters, const segue_value *id,
                          struct problem *problem) {
  (void)id;
  return done_if(continuations_cancel(&session->continuations, parameters, problem));
}

static enum answer open_app(struct session *session, const segue_value *parameters, const segue_value *id,
                            struct problem *problem) {
  if (session->app) {
    problem_status(problem, SEGUE_ERROR_INVALID_STATE, "", "the session is open already");
    return REFUSED;
  }
  if (!opening_open(session, parameters, problem))
    return REFUSED;
  if (id && segue_retain(id) == SEGUE_OK)
    session->open_id = (segue_value *)id;
  session->open_until = now_ms() + AGENT_MS;
  agent_ask(&session->agent, session->app);
  return ANSWERED;
}

static enum answer close_app(struct session *session, const segue_value *parameters, const segue_value *id,
                             struct problem *problem) {
  (void)parameters, (void)problem;
  if (id && segue_retain(id) == SEGUE_OK)
    session->close_id = (segue_value *)id;
  session->is_over = true;
  return ANSWERED;
}

static const struct method {
  const char *name;
  method_function function;
} methods[] = {
    {"open", open_app},
    {"close", close_app},
    {"activity/set", set},
    {"activity/current", make_current},
    {"activity/invalidate", invalidate},
    {"activity/release", release},
    {"activity/needsSave", need_save},
    {"app/foreground", set_foreground},
    {"offers/continue", continue_offer},
    {"offers/cancel", cancel},
};

/** Calls the method. */
static enum answer call(struct session *session, const char *name, const segue_value *parameters, const segue_value *id,
                        struct problem *problem) {
  for (size_t index = 0; index < sizeof methods / sizeof *methods; index++) {
    if (strcmp(methods[index].name, name) != 0)
      continue;
    if (session->app || methods[index].function == open_app || methods[index].function == close_app)
      return methods[index].function(session, parameters, id, problem);
    problem_status(problem, SEGUE_ERROR_INVALID_STATE, "", "the session is not open: the first request is open");
    problem->code = CODE_NOT_OPEN;
    return REFUSED;
  }
  problem_status(problem, SEGUE_ERROR_NOT_FOUND, "", "there is no such method");
  problem->code = session->app ? CODE_NO_METHOD : CODE_NOT_OPEN;
  return REFUSED;
}

/* Messages. */

static void refuse(struct session *session, const segue_value *id, int code, const char *message) {
  struct problem problem;
  problem_status(&problem, SEGUE_ERROR_MALFORMED, "", message);
  problem.code = code;
  channel_refuse(&session->channel, id, &problem);
}

/** Takes a request or a notification. id  borrowed; NULL: a notification */
static void take_call(struct session *session, const segue_value *message, const char *method, const segue_value *id) {
  segue_value *parameters = NULL;
  segue_kind kind = SEGUE_KIND_NULL;
  struct problem problem = {0};
  if (parameter(message, "params", &parameters) != GIVEN)
    segue_value_decode_json("{}", SEGUE_NUL_TERMINATED, SEGUE_JSON_PLAIN, &parameters);
  segue_value_get_kind(parameters, &kind);
  enum answer answer = REFUSED;
  if (kind == SEGUE_KIND_DICTIONARY)
    answer = call(session, method, parameters, id, &problem);
  else
    problem_parameter(&problem, "", "params has to be an object");
  segue_release(parameters);
  if (answer == REFUSED && !id) {
    log_line("%s: %s %s", method, problem.path, problem.message);
  } else if (answer == REFUSED) {
    channel_refuse(&session->channel, id, &problem);
  } else if (answer == DONE && id) {
    channel_begin_result(&session->channel, id);
    channel_send(&session->channel);
  }
}

/** Takes the answer to a request of ours. */
static void take_answer(struct session *session, const segue_value *message) {
  int64_t number = 0;
  segue_value *result = NULL, *error = NULL;
  char *failure = NULL;
  bool is_error = parameter(message, "error", &error) == GIVEN;
  segue_dictionary_get_int64(message, "id", SEGUE_NUL_TERMINATED, &number);
  parameter(message, "result", &result);
  if (is_error)
    segue_dictionary_get_string(error, "message", SEGUE_NUL_TERMINATED, &failure, NULL);
  const char *reason = failure ? failure : is_error ? "the host has answered with an error" : NULL;
  if (!activities_take_answer(&session->activities, number, result, reason) &&
      !continuations_take_answer(&session->continuations, number, result, reason))
    log_line("an answer came to no request that waits: id %lld", (long long)number);
  segue_free(failure);
  segue_release(error);
  segue_release(result);
}

static bool is_of_json_rpc(const segue_value *message) {
  char *version = NULL;
  segue_dictionary_get_string(message, "jsonrpc", SEGUE_NUL_TERMINATED, &version, NULL);
  bool is_known = version && strcmp(version, "2.0") == 0;
  segue_free(version);
  return is_known;
}

/** Tells whether an id can come back in the answer. id  NULL: there is none */
static bool is_good_id(const segue_value *id) {
  segue_kind kind = SEGUE_KIND_NULL;
  char *text = NULL;
  size_t length = 0;
  segue_value_get_kind(id, &kind);
  if (kind != SEGUE_KIND_STRING)
    return kind == SEGUE_KIND_INTEGER || kind == SEGUE_KIND_DOUBLE || kind == SEGUE_KIND_NULL;
  bool is_good = segue_value_find_string(id, "", 0, &text, &length) == SEGUE_OK && length <= ID_MOST;
  segue_free(text);
  return is_good;
}

/** Takes a message that is a dictionary. */
static void take_message(struct session *session, const segue_value *message) {
  segue_value *id = NULL, *member = NULL;
  char *method = NULL;
  segue_dictionary_get_value(message, "id", SEGUE_NUL_TERMINATED, &id);
  bool is_answer = segue_dictionary_get_string(message, "method", SEGUE_NUL_TERMINATED, &method, NULL) != SEGUE_OK &&
                   segue_dictionary_get_value(message, "method", SEGUE_NUL_TERMINATED, &member) != SEGUE_OK;
  if (!is_good_id(id))
    refuse(session, NULL, CODE_NO_REQUEST, "the id is neither a string of at most 255 bytes, nor a number, nor null");
  else if (!is_of_json_rpc(message))
    refuse(session, id, CODE_NO_REQUEST, "the member jsonrpc has to be \"2.0\"");
  else if (!is_answer && !method)
    refuse(session, id, CODE_NO_REQUEST, "the method has to be a string");
  else if (!is_answer)
    take_call(session, message, method, id);
  else if (id)
    take_answer(session, message);
  else
    refuse(session, NULL, CODE_NO_REQUEST, "a method or an id is needed");
  segue_free(method);
  segue_release(member);
  segue_release(id);
}

void session_take(struct session *session, const char *line, size_t length) {
  segue_value *message = NULL;
  segue_kind kind = SEGUE_KIND_NULL;
  struct problem problem;
  if (segue_value_decode_json(line, length, SEGUE_JSON_PLAIN, &message) != SEGUE_OK) {
    problem_library(&problem, "");
    problem.code = problem.status == SEGUE_ERROR_LIMIT_EXCEEDED ? CODE_NO_REQUEST : CODE_NO_JSON;
    channel_refuse(&session->channel, NULL, &problem);
    return;
  }
  segue_value_get_kind(message, &kind);
  if (kind == SEGUE_KIND_DICTIONARY)
    take_message(session, message);
  else
    refuse(session, NULL, CODE_NO_REQUEST, "a message is an object; there are no batches");
  segue_release(message);
}

/* Time. */

void session_answer_open(struct session *session) {
  if (!session->open_id)
    return;
  opening_answer(session, session->open_id);
  segue_release(session->open_id);
  session->open_id = NULL;
}

static int sooner(int left, int right) { return left < 0 || (right >= 0 && right < left) ? right : left; }

int session_due(const struct session *session) {
  int due = sooner(offers_due(&session->offers), line_writer_patience(&session->channel.lines));
  if (session->open_id) {
    int64_t left = session->open_until - now_ms();
    due = sooner(due, left > 0 ? (int)left : 0);
  }
  return due;
}

void session_close(struct session *session) {
  session->activities.is_ending = true;
  session_answer_open(session);
  if (session->app)
    segue_app_close(session->app);
  agent_end(&session->agent);
  if (session->close_id) {
    channel_begin_result(&session->channel, session->close_id);
    channel_send(&session->channel);
  }
}

void session_free(struct session *session) {
  continuations_free(&session->continuations);
  activities_free(&session->activities);
  segue_release(session->app);
  segue_release(session->delegate);
  segue_release(session->channel.writer);
  segue_release(session->open_id);
  segue_release(session->close_id);
  line_reader_free(&session->reader);
  line_writer_free(&session->channel.lines);
}
