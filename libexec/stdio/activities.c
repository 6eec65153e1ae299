/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "activities.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "continuations.h"
#include "parameters.h"

/** The context of a delegate, which outlives the activity for the sake of receipts. */
struct origin {
  struct activities *activities;
  char id[ACTIVITY_ID_SIZE];
};

static struct activity *find(struct activities *activities, const char *id) {
  for (int index = 0; index < ACTIVITIES_MOST; index++)
    if (activities->list[index].handle && strcmp(activities->list[index].id, id) == 0)
      return &activities->list[index];
  return NULL;
}

/** Returns the activity that a parameter names. */
static struct activity *named(struct activities *activities, const segue_value *parameters, struct problem *problem) {
  char *id = NULL;
  if (!parameter_name(parameters, "activity", &id, problem))
    return NULL;
  struct activity *found = find(activities, id);
  segue_free(id);
  if (!found)
    problem_status(problem, SEGUE_ERROR_NOT_FOUND, "activity", "there is no activity with this id");
  return found;
}

/* Callbacks. */

static segue_reply will_save(void *context, segue_activity *handle, segue_save *save) {
  struct origin *origin = context;
  struct activities *activities = origin->activities;
  struct activity *activity = find(activities, origin->id);
  uint64_t milliseconds = 0;
  if (!activity || activity->handle != handle)
    return SEGUE_REPLY_YES;
  if (activities->is_ending && activity->is_dirty)
    segue_save_fail(save, "the host has ended before it gave its last changes", SEGUE_NUL_TERMINATED);
  if (activities->is_ending || segue_retain(save) != SEGUE_OK)
    return SEGUE_REPLY_YES;
  /* An earlier save that was not answered in time is over. */
  segue_release(activity->save);
  activity->save = save;
  segue_limit_get(SEGUE_LIMIT_SAVE_MS, &milliseconds);
  continuations_tell(activities->continuations);
  activity->save_number = channel_begin_request(activities->channel, "activity/save");
  channel_put_text(activities->channel, "activity", activity->id, SEGUE_NUL_TERMINATED);
  channel_put_real(activities->channel, "seconds", (double)milliseconds / 1000);
  channel_send(activities->channel);
  return SEGUE_REPLY_LATER;
}

/** Begins a notification about a receipt. */
static void begin_receipt(struct origin *origin, const char *method, segue_receipt *receipt) {
  struct channel *channel = origin->activities->channel;
  double date = 0;
  bool stale = false;
  continuations_tell(origin->activities->continuations);
  channel_begin_notification(channel, method);
  channel_put_text(channel, "activity", origin->id, SEGUE_NUL_TERMINATED);
  channel_put_got(channel, "app", segue_receipt_get_app_name, receipt);
  channel_put_got(channel, "bundleIdentifier", segue_receipt_get_bundle_identifier, receipt);
  channel_put_got(channel, "device", segue_receipt_get_device_name, receipt);
  if (segue_receipt_get_date(receipt, &date) == SEGUE_OK)
    channel_put_real(channel, "time", date);
  if (segue_receipt_get_stale(receipt, &stale) == SEGUE_OK)
    channel_put_bool(channel, "stale", stale);
}

static void was_continued(void *context, segue_activity *handle, segue_receipt *receipt) {
  struct origin *origin = context;
  (void)handle;
  begin_receipt(origin, "activity/continued", receipt);
  channel_send(origin->activities->channel);
}

static void continuation_ended(void *context, segue_activity *handle, segue_receipt *receipt) {
  static const char *const outcomes[] = {"unknown", "restored", "declined", "failed", "unknown"};
  struct origin *origin = context;
  struct channel *channel = origin->activities->channel;
  segue_outcome outcome = SEGUE_OUTCOME_UNKNOWN;
  char *reason = NULL;
  size_t length = 0;
  (void)handle;
  segue_receipt_get_outcome(receipt, &outcome);
  begin_receipt(origin, "activity/ended", receipt);
  bool is_known = outcome >= SEGUE_OUTCOME_RESTORED && outcome <= SEGUE_OUTCOME_UNKNOWN;
  channel_put_text(channel, "outcome", outcomes[is_known ? outcome : 0], SEGUE_NUL_TERMINATED);
  if (segue_receipt_get_reason(receipt, &reason, &length) == SEGUE_OK && length > 0)
    channel_put_text(channel, "reason", reason, length);
  segue_free(reason);
  channel_send(channel);
}

/** Gives an activity a delegate of its own, which serves it until its last receipt. */
static bool watch(struct activities *activities, const struct activity *activity, struct problem *problem) {
  segue_activity_delegate *delegate = NULL;
  struct origin *origin = calloc(1, sizeof *origin);
  if (!origin)
    return problem_status(problem, SEGUE_ERROR_SYSTEM, "activity", "there is no memory for an activity");
  origin->activities = activities;
  memcpy(origin->id, activity->id, sizeof origin->id);
  segue_status status = segue_activity_delegate_create(origin, free, &delegate);
  if (status == SEGUE_OK && activities->asks)
    status = segue_activity_delegate_on_will_save(delegate, will_save);
  if (status == SEGUE_OK)
    status = segue_activity_delegate_on_was_continued(delegate, was_continued);
  if (status == SEGUE_OK)
    status = segue_activity_delegate_on_continuation_ended(delegate, continuation_ended);
  if (status == SEGUE_OK)
    status = segue_activity_set_delegate(activity->handle, delegate);
  if (status == SEGUE_OK)
    status = segue_activity_delegate_leave(delegate);
  if (status == SEGUE_OK)
    return true;
  problem_library(problem, "activity");
  segue_release(delegate);
  return false;
}

static void forget(struct activity *activity) {
  segue_activity *handle = activity->handle;
  segue_save *save = activity->save;
  memset(activity, 0, sizeof *activity);
  segue_release(save);
  segue_release(handle);
}

/** Takes a free place. */
static struct activity *place(struct activities *activities, segue_activity *handle, const char *id,
                              const struct public_type *type) {
  for (int index = 0; index < ACTIVITIES_MOST; index++) {
    struct activity *activity = &activities->list[index];
    if (activity->handle)
      continue;
    activity->handle = handle;
    activity->public_type = type;
    snprintf(activity->id, sizeof activity->id, "%s", id);
    return activity;
  }
  return NULL;
}

/* Methods. */

/** Tells whether a public activity has no state, which its type requires. */
static bool lacks_state(const struct activity *activity) {
  segue_value *info = NULL;
  segue_activity_get_user_info(activity->handle, &info);
  segue_release(info);
  return activity->public_type && !info;
}

static bool create(struct activities *activities, const char *id, const segue_value *parameters,
                   struct problem *problem) {
  char *type = NULL;
  segue_activity *handle = NULL;
  if (!parameter_name(parameters, "type", &type, problem))
    return false;
  bool is_good = segue_activity_create(activities->app, type, SEGUE_NUL_TERMINATED, &handle) == SEGUE_OK ||
                 problem_library(problem, "type");
  struct activity *activity = is_good ? place(activities, handle, id, public_type_named(type)) : NULL;
  segue_free(type);
  if (is_good && !activity) {
    segue_release(handle);
    return problem_status(problem, SEGUE_ERROR_LIMIT_EXCEEDED, "activity", "there are too many activities");
  }
  is_good = is_good && watch(activities, activity, problem) && activity_apply(activity, parameters, problem);
  if (is_good && !activities->asks && lacks_state(activity))
    is_good = problem_parameter(problem, "userInfo", "is required: the type is public, and the host is not asked");
  if (!is_good && activity)
    forget(activity);
  return is_good;
}

bool activities_set(struct activities *activities, const segue_value *parameters, struct problem *problem) {
  char *id = NULL, *type = NULL, *former = NULL;
  size_t length = 0;
  if (!parameter_name(parameters, "activity", &id, problem))
    return false;
  struct activity *activity = find(activities, id);
  bool is_good;
  if (activity) {
    is_good = parameter_text(parameters, "type", &type, &length, problem);
    if (is_good && type && segue_activity_get_type(activity->handle, &former, NULL) == SEGUE_OK &&
        strcmp(type, former) != 0)
      is_good = problem_status(problem, SEGUE_ERROR_INVALID_STATE, "type", "an activity keeps its type");
    is_good = is_good && activity_apply(activity, parameters, problem);
  } else {
    is_good = create(activities, id, parameters, problem);
  }
  segue_free(former);
  segue_free(type);
  segue_free(id);
  return is_good;
}

/** Stops offering the activity that is current. */
static void resign(struct activities *activities) {
  for (int index = 0; index < ACTIVITIES_MOST; index++) {
    bool is_current = false;
    segue_activity *handle = activities->list[index].handle;
    if (handle && segue_activity_get_current(handle, &is_current) == SEGUE_OK && is_current)
      segue_activity_resign_current(handle);
  }
}

bool activities_make_current(struct activities *activities, const segue_value *parameters, struct problem *problem) {
  segue_value *given = NULL;
  enum presence presence = parameter(parameters, "activity", &given);
  segue_release(given);
  if (presence == CLEARED) {
    resign(activities);
    return true;
  }
  struct activity *activity = named(activities, parameters, problem);
  return activity &&
         (segue_activity_become_current(activity->handle) == SEGUE_OK || problem_library(problem, "activity"));
}

bool activities_invalidate(struct activities *activities, const segue_value *parameters, struct problem *problem) {
  struct activity *activity = named(activities, parameters, problem);
  if (!activity)
    return false;
  bool is_good = segue_activity_invalidate(activity->handle) == SEGUE_OK || problem_library(problem, "activity");
  forget(activity);
  return is_good;
}

bool activities_release(struct activities *activities, const segue_value *parameters, struct problem *problem) {
  struct activity *activity = named(activities, parameters, problem);
  if (activity)
    forget(activity);
  return activity != NULL;
}

bool activities_need_save(struct activities *activities, const segue_value *parameters, struct problem *problem) {
  struct activity *activity = named(activities, parameters, problem);
  if (!activity)
    return false;
  activity->is_dirty = true;
  return segue_activity_set_needs_save(activity->handle, true) == SEGUE_OK || problem_library(problem, "activity");
}

/** Ends a save by the answer of the host. */
static void complete(struct activity *activity, const segue_value *result, const char *failure) {
  struct problem problem = {0};
  segue_kind kind = SEGUE_KIND_NULL;
  segue_value_get_kind(result, &kind);
  if (!failure && kind != SEGUE_KIND_DICTIONARY)
    failure = "the answer to activity/save is no object";
  if (!failure && !activity_apply(activity, result, &problem))
    failure = problem.message;
  if (!failure && lacks_state(activity))
    failure = "the type is public, and requires userInfo";
  if (!failure) {
    segue_save_complete(activity->save);
    return;
  }
  log_line("%s: the save has failed: %s %s", activity->id, problem.path, failure);
  segue_save_fail(activity->save, failure, utf8_length(failure, strlen(failure)));
}

bool activities_take_answer(struct activities *activities, int64_t number, const segue_value *result,
                            const char *failure) {
  for (int index = 0; index < ACTIVITIES_MOST; index++) {
    struct activity *activity = &activities->list[index];
    if (!activity->save || activity->save_number != number)
      continue;
    complete(activity, result, failure);
    segue_release(activity->save);
    activity->save = NULL;
    return true;
  }
  return false;
}

bool activities_adopt(struct activities *activities, segue_activity *handle, const char *id,
                      const struct public_type *type, bool has_attached_text, int64_t request) {
  struct problem problem;
  if (segue_retain(handle) != SEGUE_OK)
    return false;
  struct activity *activity = place(activities, handle, id, type);
  if (activity && watch(activities, activity, &problem)) {
    activity->has_attached_text = has_attached_text;
    activity->request = request;
    return true;
  }
  if (activity)
    forget(activity);
  else
    segue_release(handle);
  return false;
}

bool activities_end_request(struct activities *activities, int64_t number, bool handled) {
  for (int index = 0; index < ACTIVITIES_MOST; index++) {
    struct activity *activity = &activities->list[index];
    if (!activity->handle || activity->request == 0 || activity->request != number)
      continue;
    activity->request = 0;
    if (!handled)
      forget(activity);
    return true;
  }
  return false;
}

void activities_forget(struct activities *activities, const char *id) {
  struct activity *activity = find(activities, id);
  if (activity)
    forget(activity);
}

void activities_free(struct activities *activities) {
  for (int index = 0; index < ACTIVITIES_MOST; index++)
    if (activities->list[index].handle)
      forget(&activities->list[index]);
}
