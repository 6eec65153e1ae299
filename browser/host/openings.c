/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "openings.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "activity.h"
#include "identity.h"
#include "position.h"
#include "text.h"

static void end(struct opening *opening) {
  segue_release(opening->continuation);
  segue_release(opening->activity);
  memset(opening, 0, sizeof *opening);
}

/** Returns a free place. If there is none, the oldest opening fails for it. */
static struct opening *place(struct openings *openings) {
  struct opening *oldest = &openings->list[0];
  for (int index = 0; index < OPENINGS_MOST; index++) {
    struct opening *each = &openings->list[index];
    if (!each->continuation)
      return each;
    if (each->number < oldest->number)
      oldest = each;
  }
  segue_continuation_fail(oldest->continuation, "the browser opens too many pages", SEGUE_NUL_TERMINATED);
  end(oldest);
  return oldest;
}

/** Writes the parts of user_info that browsers take: the position, and the page's own activity. */
static void write_state(segue_activity *activity, segue_writer *writer) {
  segue_value *info = NULL, *state = NULL;
  struct position position;
  if (segue_activity_get_user_info(activity, &info) == SEGUE_OK && info)
    activity_write(info, writer);
  if (info && segue_dictionary_get_value(info, POSITION_KEY, SEGUE_NUL_TERMINATED, &state) == SEGUE_OK &&
      position_read(state, &position)) {
    segue_writer_put_string(writer, "position", SEGUE_NUL_TERMINATED);
    position_write(&position, writer);
  }
  segue_release(state);
  segue_release(info);
}

/** Returns a reason why the activity is no page that can be opened, else NULL. */
static const char *obstacle(segue_activity *activity, const char *url, size_t length) {
  char *type = NULL;
  const char *reason = NULL;
  if (segue_activity_get_type(activity, &type, NULL) != SEGUE_OK || strcmp(type, BROWSING_TYPE) != 0)
    reason = "the activity is no page of the web";
  else if (!url || !text_is_page_url(url, length))
    reason = "the address of the page is none that a browser may open";
  segue_free(type);
  return reason;
}

static segue_reply on_continue(void *context, segue_app *app, segue_activity *activity,
                               segue_continuation *continuation) {
  (void)app;
  struct openings *openings = context;
  char *url = NULL;
  size_t length = 0;
  uint8_t id[SEGUE_ID_SIZE];
  char digits[2 * SEGUE_ID_SIZE + 1];
  segue_activity_get_webpage_url(activity, &url, &length);
  const char *reason = obstacle(activity, url, length);
  if (!reason && segue_continuation_get_id(continuation, id) != SEGUE_OK)
    reason = "the continuation has no identifier";
  if (reason || segue_retain(continuation) != SEGUE_OK) {
    segue_continuation_fail(continuation, reason, reason ? SEGUE_NUL_TERMINATED : 0);
    segue_free(url);
    return SEGUE_REPLY_NO;
  }
  segue_retain(activity);
  for (size_t index = 0; index < SEGUE_ID_SIZE; index++)
    snprintf(digits + 2 * index, 3, "%02x", id[index]);
  struct opening *opening = place(openings);
  *opening = (struct opening){continuation, activity, ++openings->last_number};
  segue_writer *writer = channel_begin(openings->channel, "open");
  channel_put_number(openings->channel, "id", opening->number);
  channel_put_text(openings->channel, "continuation", digits);
  channel_put_text(openings->channel, "url", url);
  write_state(activity, writer);
  channel_send(openings->channel);
  segue_free(url);
  return SEGUE_REPLY_LATER;
}

segue_status openings_prepare(struct openings *openings, struct channel *channel, segue_app *app,
                              segue_app_delegate **delegate) {
  openings->channel = channel;
  segue_status status = segue_app_delegate_create(openings, NULL, delegate);
  if (status == SEGUE_OK)
    status = segue_app_delegate_on_continue(*delegate, on_continue);
  if (status == SEGUE_OK)
    status = segue_app_set_delegate(app, *delegate);
  return status;
}

static struct opening *named(struct openings *openings, const segue_value *message) {
  int64_t number = 0;
  if (segue_dictionary_get_int64(message, "id", SEGUE_NUL_TERMINATED, &number) != SEGUE_OK || number <= 0)
    return NULL;
  for (int index = 0; index < OPENINGS_MOST; index++)
    if (openings->list[index].number == number)
      return &openings->list[index];
  return NULL;
}

void openings_opened(struct openings *openings, const segue_value *message) {
  struct opening *opening = named(openings, message);
  if (!opening)
    return;
  segue_continuation_complete(opening->continuation, true);
  end(opening);
}

void openings_deferred(struct openings *openings, const segue_value *message) {
  struct opening *opening = named(openings, message);
  if (!opening)
    return;
  segue_continuation_complete(opening->continuation, false);
  end(opening);
}

void openings_failed(struct openings *openings, const segue_value *message) {
  struct opening *opening = named(openings, message);
  char *reason = NULL, clean[4 * 200 + 1] = "the browser cannot open the page";
  size_t length = 0;
  if (!opening)
    return;
  if (segue_dictionary_get_string(message, "reason", SEGUE_NUL_TERMINATED, &reason, &length) == SEGUE_OK)
    text_clean(reason, length, 200, clean);
  segue_continuation_fail(opening->continuation, clean, SEGUE_NUL_TERMINATED);
  segue_free(reason);
  end(opening);
}
