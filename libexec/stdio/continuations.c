/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "continuations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parameters.h"
#include "public_values.h"

/** The context of a transfer, which may outlive the place of its continuation. */
struct fetching {
  struct continuations *continuations;
  char id[UUID_TEXT];
};

static struct continuation *find(struct continuations *continuations, const char *id) {
  for (int index = 0; index < CONTINUATIONS_MOST; index++)
    if (continuations->list[index].handle && strcmp(continuations->list[index].id, id) == 0)
      return &continuations->list[index];
  return NULL;
}

static struct continuation *find_handle(struct continuations *continuations, const segue_continuation *handle) {
  for (int index = 0; index < CONTINUATIONS_MOST; index++)
    if (continuations->list[index].handle == handle)
      return &continuations->list[index];
  return NULL;
}

/** Finds the continuation, or gives it a place. Returns NULL if there is none. */
static struct continuation *note(struct continuations *continuations, segue_continuation *handle,
                                 uint64_t milliseconds) {
  uint8_t id[SEGUE_ID_SIZE];
  struct continuation *continuation = find_handle(continuations, handle);
  if (continuation)
    return continuation;
  continuation = find_handle(continuations, NULL);
  if (!continuation || segue_continuation_get_id(handle, id) != SEGUE_OK || segue_retain(handle) != SEGUE_OK)
    return NULL;
  *continuation = (struct continuation){.handle = handle, .deadline = now_ms() + (int64_t)milliseconds};
  uuid_write(id, continuation->id);
  return continuation;
}

int continuations_expected(const struct continuations *continuations) {
  int64_t left = continuations->expected_until - now_ms();
  return left > 0 ? (int)left : 0;
}

static void forget(struct continuation *continuation) {
  struct continuation former = *continuation;
  memset(continuation, 0, sizeof *continuation);
  attached_text_stop(&former.text);
  segue_release(former.asked);
  segue_release(former.untold);
  segue_release(former.activity);
  segue_release(former.handle);
}

static uint64_t default_time(void) {
  uint64_t milliseconds = 0;
  segue_limit_get(SEGUE_LIMIT_CONTINUATION_MS, &milliseconds);
  return milliseconds;
}

/* Before the activity is there. */

/** Returns the reason to decline an offer before anything is sent; NULL: there is none. */
static const char *rejection(const segue_offer *offer, const char *type) {
  uint32_t version = 0;
  segue_offer_get_payload_version(offer, &version);
  return public_type_named(type) && version > PUBLIC_VERSION
             ? "the payload is of a newer version than this program knows"
             : NULL;
}

void continuations_will(struct continuations *continuations, const char *type, size_t type_length,
                        segue_continuation *handle) {
  struct continuation *continuation = note(continuations, handle, default_time());
  (void)type_length;
  if (!continuation) {
    segue_continuation_decline(handle, "too many continuations wait for an answer", SEGUE_NUL_TERMINATED);
    return;
  }
  segue_release(continuation->untold);
  segue_continuation_get_offer(handle, &continuation->untold);
  const char *reason = rejection(continuation->untold, type);
  if (reason)
    segue_continuation_decline(handle, reason, SEGUE_NUL_TERMINATED);
}

/** Writes what the host has to know of a continuation before anything else about it. */
static void tell(struct channel *channel, struct continuation *continuation) {
  const segue_offer *offer = continuation->untold;
  if (continuation->asked) {
    channel_begin_result(channel, continuation->asked);
    channel_put_text(channel, "continuation", continuation->id, SEGUE_NUL_TERMINATED);
    channel_send(channel);
    segue_release(continuation->asked);
    continuation->asked = NULL;
  }
  if (offer) {
    channel_begin_notification(channel, "continuation/will");
    channel_put_text(channel, "continuation", continuation->id, SEGUE_NUL_TERMINATED);
    channel_put_got(channel, "type", segue_offer_get_type, offer);
    channel_put_got(channel, "title", segue_offer_get_title, offer);
    channel_put_got(channel, "app", segue_offer_get_app_name, offer);
    channel_put_got(channel, "device", segue_offer_get_device_name, offer);
    channel_send(channel);
    segue_release(continuation->untold);
    continuation->untold = NULL;
  }
}

void continuations_tell(struct continuations *continuations) {
  for (int index = 0; index < CONTINUATIONS_MOST; index++)
    tell(continuations->channel, &continuations->list[index]);
}

/** Tells the host that a continuation has failed, and forgets it. */
static void tell_failure(struct continuations *continuations, struct continuation *continuation, const char *type,
                         size_t type_length, const struct problem *problem) {
  struct channel *channel = continuations->channel;
  continuations_tell(continuations);
  channel_begin_notification(channel, "continuation/failed");
  channel_put_text(channel, "continuation", continuation->id, SEGUE_NUL_TERMINATED);
  channel_put_text(channel, "type", type, type_length);
  channel_put_error(channel, problem);
  channel_send(channel);
  forget(continuation);
}

static void read_error(const segue_error *error, struct problem *problem) {
  char *message = NULL;
  segue_status status = SEGUE_OK;
  segue_error_get_status(error, &status);
  segue_error_get_message(error, &message, NULL);
  problem_status(problem, status, "", message ? message : "");
  segue_free(message);
}

void continuations_failed(struct continuations *continuations, const char *type, size_t type_length,
                          const segue_error *error, segue_continuation *handle) {
  struct continuation *continuation = find_handle(continuations, handle);
  struct problem problem;
  read_error(error, &problem);
  continuations->expected_until = 0;
  if (continuation)
    tell_failure(continuations, continuation, type, type_length, &problem);
}

void continuations_opening_failed(struct continuations *continuations, const char *type, size_t type_length,
                                  const segue_error *error, segue_continuation *handle) {
  struct continuation *continuation = find_handle(continuations, handle);
  struct problem problem;
  read_error(error, &problem);
  if (!continuation)
    return;
  log_line("continuation %s has failed: %s", continuation->id, problem.message);
  bool is_known = continuation->request != 0;
  if (is_known)
    forget(continuation);
  else
    tell_failure(continuations, continuation, type, type_length, &problem);
}

/* The activity is there. */

/** Fails a continuation that the host has not got. */
static void fail(struct continuations *continuations, struct continuation *continuation,
                 const struct problem *problem) {
  char *type = NULL;
  size_t length = 0;
  segue_activity_get_type(continuation->activity, &type, &length);
  segue_continuation_fail(continuation->handle, problem->message, SEGUE_NUL_TERMINATED);
  tell_failure(continuations, continuation, type ? type : "", length, problem);
  segue_free(type);
}

/** Puts the URL of the web page, unless the type is public and the URL has a user or a password. */
static void put_webpage(struct channel *channel, const segue_activity *activity, bool is_public) {
  char *url = NULL;
  size_t length = 0;
  if (segue_activity_get_webpage_url(activity, &url, &length) == SEGUE_OK && url &&
      !(is_public && url_has_user(url, length)))
    channel_put_text(channel, "webpageURL", url, length);
  segue_free(url);
}

/** Puts everything of the activity but its user_info. */
static void put_activity(struct continuations *continuations, const struct continuation *continuation, bool is_public) {
  struct channel *channel = continuations->channel;
  segue_activity *activity = continuation->activity;
  segue_value *attachments = NULL, *origin = NULL;
  char *token = NULL;
  size_t token_length = 0;
  bool redelivered = false, stale = false;
  int64_t left = continuation->deadline - now_ms();
  segue_activity_get_attachments(activity, &attachments);
  segue_activity_get_continued_from(activity, &origin);
  segue_dictionary_get_bool(origin, "redelivered", SEGUE_NUL_TERMINATED, &redelivered);
  segue_dictionary_get_bool(origin, "stale", SEGUE_NUL_TERMINATED, &stale);
  segue_dictionary_get_string(origin, "activation_token", SEGUE_NUL_TERMINATED, &token, &token_length);
  channel_put_text(channel, "continuation", continuation->id, SEGUE_NUL_TERMINATED);
  channel_put_text(channel, "activity", continuation->id, SEGUE_NUL_TERMINATED);
  channel_put_got(channel, "type", segue_activity_get_type, activity);
  channel_put_got(channel, "title", segue_activity_get_title, activity);
  put_webpage(channel, activity, is_public);
  channel_put_value(channel, "attachments", attachments);
  channel_put_bool(channel, "redelivered", redelivered);
  channel_put_bool(channel, "stale", stale);
  if (token)
    channel_put_text(channel, "activationToken", token, token_length);
  channel_put_real(channel, "seconds", left > 0 ? (double)left / 1000 : 0);
  segue_free(token);
  segue_release(attachments);
  segue_release(origin);
}

/** Asks the host to continue the activity. text  borrowed: an attachment that belongs into user_info, or NULL */
static void deliver(struct continuations *continuations, struct continuation *continuation, const segue_value *text) {
  char *name = NULL;
  segue_value *info = NULL, *converted = NULL;
  struct problem problem;
  segue_activity_get_type(continuation->activity, &name, NULL);
  const struct public_type *type = name ? public_type_named(name) : NULL;
  segue_free(name);
  continuations_tell(continuations);
  segue_activity_get_user_info(continuation->activity, &info);
  bool is_good = !type || public_type_convert(type, info, text, FOR_HOST, continuation->id, &converted, NULL, &problem);
  /* One that is delivered again comes under the same id. */
  activities_forget(continuations->activities, continuation->id);
  int64_t request = channel_begin_request(continuations->channel, "continuation/continue");
  if (is_good && !activities_adopt(continuations->activities, continuation->activity, continuation->id, type,
                                   text != NULL, request))
    is_good = problem_status(&problem, SEGUE_ERROR_LIMIT_EXCEEDED, "", "the host keeps too many activities");
  if (is_good) {
    put_activity(continuations, continuation, type != NULL);
    channel_put_value(continuations->channel, "userInfo", type ? converted : info);
    is_good = channel_try_to_send(continuations->channel, &problem);
    if (is_good)
      continuation->request = request;
    else
      activities_forget(continuations->activities, continuation->id);
  }
  segue_release(info);
  segue_release(converted);
  if (!is_good)
    fail(continuations, continuation, &problem);
}

static void fetched(void *context, segue_activity *activity, const segue_error *error) {
  struct fetching *fetching = context;
  struct continuations *continuations = fetching->continuations;
  struct continuation *continuation = find(continuations, fetching->id);
  struct problem problem;
  (void)activity;
  if (!continuation || !continuation->text.transfer)
    return;
  segue_value *text = error ? NULL : attached_text_read(&continuation->text);
  attached_text_end(&continuation->text);
  if (text) {
    deliver(continuations, continuation, text);
  } else if (error) {
    read_error(error, &problem);
    fail(continuations, continuation, &problem);
  } else {
    problem_status(&problem, SEGUE_ERROR_MALFORMED, "userInfo/" TEXT_KEY, "the attachment is no text");
    fail(continuations, continuation, &problem);
  }
  segue_release(text);
}

/** Fetches the attachment, and delivers when it is there. */
static void fetch_text(struct continuations *continuations, struct continuation *continuation) {
  struct problem problem;
  struct fetching *fetching = calloc(1, sizeof *fetching);
  if (!fetching) {
    problem_status(&problem, SEGUE_ERROR_SYSTEM, "", "there is no memory for an attachment");
    fail(continuations, continuation, &problem);
    return;
  }
  fetching->continuations = continuations;
  memcpy(fetching->id, continuation->id, sizeof fetching->id);
  if (!attached_text_fetch(&continuation->text, continuation->activity, fetched, fetching, free, &problem))
    fail(continuations, continuation, &problem);
}

segue_reply continuations_continue(struct continuations *continuations, segue_activity *activity,
                                   segue_continuation *handle) {
  struct continuation *continuation = note(continuations, handle, default_time());
  struct problem problem;
  continuations->expected_until = 0;
  if (!continuation)
    return SEGUE_REPLY_NO;
  if (segue_retain(activity) != SEGUE_OK) {
    forget(continuation);
    return SEGUE_REPLY_NO;
  }
  continuation->activity = activity;
  uint64_t bytes = attached_text_size(activity);
  if (bytes > continuations->channel->lines.most) {
    problem_status(&problem, SEGUE_ERROR_LIMIT_EXCEEDED, "",
                   "the text does not fit into a line; open with a larger lineBytes");
    fail(continuations, continuation, &problem);
  } else if (bytes > 0) {
    fetch_text(continuations, continuation);
  } else {
    deliver(continuations, continuation, NULL);
  }
  return SEGUE_REPLY_LATER;
}

/* Methods and answers of the host. */

bool continuations_begin(struct continuations *continuations, segue_continuation *handle, const segue_value *request,
                         uint32_t milliseconds) {
  struct continuation *continuation = note(continuations, handle, milliseconds);
  continuations->expected_until = now_ms() + EXPECTED_MS;
  if (continuation && request && segue_retain(request) == SEGUE_OK)
    continuation->asked = (segue_value *)request;
  return continuation != NULL;
}

bool continuations_cancel(struct continuations *continuations, const segue_value *parameters, struct problem *problem) {
  char *id = NULL;
  if (!parameter_name(parameters, "continuation", &id, problem))
    return false;
  struct continuation *continuation = find(continuations, id);
  segue_free(id);
  if (!continuation)
    return problem_status(problem, SEGUE_ERROR_NOT_FOUND, "continuation", "no continuation with this id goes on");
  return segue_continuation_cancel(continuation->handle) == SEGUE_OK || problem_library(problem, "continuation");
}

/** Answers the library as the host has answered. */
static void complete(const struct continuation *continuation, const segue_value *result, bool handled,
                     const char *failure) {
  char *reason = NULL;
  segue_status status;
  if (failure)
    status = segue_continuation_fail(continuation->handle, failure, utf8_length(failure, strlen(failure)));
  else
    status = segue_continuation_complete(continuation->handle, handled);
  segue_dictionary_get_string(result, "reason", SEGUE_NUL_TERMINATED, &reason, NULL);
  if (failure || !handled)
    log_line("continuation %s: %s", continuation->id, failure ? failure : reason ? reason : "not handled");
  if (status != SEGUE_OK)
    log_line("continuation %s: the answer comes too late", continuation->id);
  segue_free(reason);
}

bool continuations_take_answer(struct continuations *continuations, int64_t number, const segue_value *result,
                               const char *failure) {
  bool handled = false, is_known = false;
  if (!failure && segue_dictionary_get_bool(result, "handled", SEGUE_NUL_TERMINATED, &handled) != SEGUE_OK)
    failure = "the answer to continuation/continue does not say whether it is handled";
  for (int index = 0; index < CONTINUATIONS_MOST; index++) {
    struct continuation *continuation = &continuations->list[index];
    if (!continuation->handle || continuation->request == 0 || continuation->request != number)
      continue;
    complete(continuation, result, handled, failure);
    forget(continuation);
    is_known = true;
    break;
  }
  /* After the deadline the activity alone is left. */
  return activities_end_request(continuations->activities, number, handled) || is_known;
}

void continuations_free(struct continuations *continuations) {
  for (int index = 0; index < CONTINUATIONS_MOST; index++)
    if (continuations->list[index].handle)
      forget(&continuations->list[index]);
}
