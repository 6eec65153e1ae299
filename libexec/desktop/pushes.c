/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pushes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "text.h"
#include "token.h"

/** Microseconds of the first pause. */
#define PAUSE 1000000ull

/* The user's answer. */

struct answering {
  struct job job;
  segue_app *app;
  uint8_t id[SEGUE_ID_SIZE];
  bool accepts;
  char token[TOKEN_SIZE];
};

static void work(struct job *job) {
  struct answering *answering = (struct answering *)job;
  segue_writer *writer = NULL;
  segue_value *options = NULL, *result = NULL;
  char error[SEGUE_MESSAGE_SIZE];
  if (segue_writer_create(&writer) != SEGUE_OK)
    return;
  segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
  segue_writer_put_string(writer, "push", SEGUE_NUL_TERMINATED);
  segue_writer_put_uuid(writer, answering->id);
  segue_writer_put_string(writer, "accepts", SEGUE_NUL_TERMINATED);
  segue_writer_put_bool(writer, answering->accepts);
  segue_writer_end(writer);
  segue_writer_finish(writer, &options);
  segue_release(writer);
  token_set(answering->token);
  if (segue_app_ask_agent(answering->app, "answer-push", SEGUE_NUL_TERMINATED, options, 0, &result) != SEGUE_OK) {
    segue_last_error(error, sizeof error);
    log_line("the answer to a push: %s", error);
  }
  token_set("");
  segue_release(result);
  segue_release(options);
}

static void done(struct job *job) {
  struct answering *answering = (struct answering *)job;
  segue_release(answering->app);
  free(answering);
}

static void answer(struct push *push, bool accepts, const char *token) {
  struct pushes *pushes = push->pushes;
  struct answering *answering = calloc(1, sizeof *answering);
  if (!answering)
    return;
  *answering = (struct answering){.job = {work, done, NULL}, .app = pushes->app, .accepts = accepts};
  memcpy(answering->id, push->id, SEGUE_ID_SIZE);
  snprintf(answering->token, sizeof answering->token, "%s", token);
  if (segue_retain(pushes->app) != SEGUE_OK) {
    free(answering);
  } else if (!worker_add(pushes->worker, &answering->job)) {
    log_line("the answer to a push was lost: too many wait");
    done(&answering->job);
  }
}

/* The list. */

static void end_card(struct push *push) {
  if (push->card != 0)
    notifier_close(push->pushes->notifier, push->card);
  push->card = 0;
}

static void push_shown(void *context, uint32_t id) {
  struct push *push = context;
  push->is_showing = false;
  push->card = id;
  if (id != 0)
    push->pushes->pauses = 0;
  if (push->is_listed && id != 0)
    return;
  /* One that the server refuses is shown with the next change of the list. */
  end_card(push);
  push->is_used = false;
}

/** Gets a text of a push, owned; NULL: it has none. */
static char *text_of(const segue_value *answer, size_t index, const char *key) {
  char path[64], *text = NULL;
  snprintf(path, sizeof path, "pushes/%zu/%s", index, key);
  segue_value_find_string(answer, path, SEGUE_NUL_TERMINATED, &text, NULL);
  return text;
}

static void clean_text(const segue_value *answer, size_t index, const char *key, char *clean) {
  char *text = text_of(answer, index, key);
  text_clean(text, clean);
  segue_free(text);
}

/** Tells whether the user has not switched off what the push is about. The app is the one here that would get it. */
static bool is_wanted(const struct pushes *pushes, const segue_value *answer, size_t index) {
  char *app = text_of(answer, index, "bundle_identifier"), *type = text_of(answer, index, "type");
  char *device = text_of(answer, index, "device_name");
  bool is_wanted = settings_allow(pushes->settings, app ? app : "", type ? type : "", device ? device : "");
  segue_free(app);
  segue_free(type);
  segue_free(device);
  return is_wanted;
}

static void show(struct push *push, const segue_value *answer, size_t index) {
  struct pushes *pushes = push->pushes;
  static const char *const actions[] = {"accept", "Continue here", "decline", "Decline", NULL};
  char title[TEXT_SIZE], app[TEXT_SIZE], device[TEXT_SIZE], receiver[TEXT_SIZE], unmarked[TEXT_SIZE * 2];
  char summary[TEXT_SIZE * 3], body[TEXT_SIZE * 3], escaped[2 * ESCAPED_SIZE];
  clean_text(answer, index, "title", title);
  clean_text(answer, index, "app_name", app);
  clean_text(answer, index, "device_name", device);
  clean_text(answer, index, "receiver_name", receiver);
  text_unmark(title[0] != '\0' && !pushes->settings->hides_titles ? title : app, unmarked);
  snprintf(summary, sizeof summary, "Continue '%s' here?", unmarked);
  snprintf(body, sizeof body, "%s, pushed from %s", receiver, device);
  text_escape(body, pushes->notifier->has_markup, escaped);
  push->is_showing = notifier_show(
      pushes->notifier,
      &(struct notice){.urgency = URGENCY_NORMAL, .summary = summary, .body = escaped, .actions = actions}, push_shown,
      push);
  push->is_used = push->is_showing;
}

/** Finds a push, or a free entry for it; NULL: there is none. */
static struct push *entry(struct pushes *pushes, const uint8_t *id, bool *is_new) {
  struct push *unused = NULL;
  for (int index = 0; index < PUSHES_MOST; index++) {
    struct push *push = &pushes->list[index];
    if (push->is_used && memcmp(push->id, id, SEGUE_ID_SIZE) == 0)
      return push;
    if (!push->is_used)
      unused = push;
  }
  *is_new = true;
  if (unused) {
    *unused = (struct push){.pushes = pushes, .is_used = true};
    memcpy(unused->id, id, SEGUE_ID_SIZE);
  }
  return unused;
}

/** Ends the notifications of pushes that are not listed. */
static void drop_unlisted(struct pushes *pushes) {
  for (int index = 0; index < PUSHES_MOST; index++) {
    struct push *push = &pushes->list[index];
    if (!push->is_used || push->is_listed || push->is_showing)
      continue;
    end_card(push);
    push->is_used = false;
  }
}

void pushes_take(struct pushes *pushes, const segue_value *answer) {
  for (int index = 0; index < PUSHES_MOST; index++)
    pushes->list[index].is_listed = false;
  for (size_t index = 0; index < PUSHES_MOST; index++) {
    char path[64];
    uint8_t *id = NULL;
    size_t length = 0;
    bool is_new = false;
    snprintf(path, sizeof path, "pushes/%zu/push", index);
    if (segue_value_find_data(answer, path, SEGUE_NUL_TERMINATED, &id, &length) != SEGUE_OK)
      break;
    struct push *push = length == SEGUE_ID_SIZE ? entry(pushes, id, &is_new) : NULL;
    segue_free(id);
    if (!push)
      continue;
    push->is_listed = true;
    if (is_new && is_wanted(pushes, answer, index))
      show(push, answer, index);
  }
  drop_unlisted(pushes);
}

void pushes_update(struct pushes *pushes) {
  bool can_ask = pushes->notifier->is_known && pushes->notifier->has_actions && !pushes->presence->is_locked &&
                 pushes->settings->notify != NOTIFY_NEVER && !pushes->pause;
  if (can_ask) {
    watcher_begin(&pushes->watcher);
    return;
  }
  watcher_end(&pushes->watcher);
  for (int index = 0; index < PUSHES_MOST; index++)
    pushes->list[index].is_listed = false;
  drop_unlisted(pushes);
}

/* Signals of the server. */

static struct push *of_card(struct pushes *pushes, uint32_t id) {
  for (int index = 0; index < PUSHES_MOST; index++)
    if (id != 0 && pushes->list[index].card == id)
      return &pushes->list[index];
  return NULL;
}

bool pushes_acted(struct pushes *pushes, uint32_t id, const char *action, const char *token) {
  struct push *push = of_card(pushes, id);
  if (!push)
    return false;
  if (strcmp(action, "accept") == 0 || strcmp(action, "decline") == 0) {
    answer(push, action[0] == 'a', token);
    end_card(push);
  }
  return true;
}

bool pushes_closed(struct pushes *pushes, uint32_t id) {
  struct push *push = of_card(pushes, id);
  if (push)
    push->card = 0;
  return push != NULL;
}

static int pause_is_over(sd_event_source *source, uint64_t usec, void *context) {
  struct pushes *pushes = context;
  (void)usec;
  pushes->pause = sd_event_source_disable_unref(source);
  pushes_update(pushes);
  return 0;
}

void pushes_forget_cards(struct pushes *pushes) {
  bool is_suspect = false;
  for (int index = 0; index < PUSHES_MOST; index++) {
    is_suspect = is_suspect || pushes->list[index].is_showing;
    if (pushes->list[index].is_used)
      end_card(&pushes->list[index]);
    pushes->list[index] = (struct push){0};
  }
  /* The server may have died of what it was asked for. The agent declines once nobody has been there for 5 s. */
  if (is_suspect && !pushes->pause)
    sd_event_add_time_relative(pushes->notifier->bus.loop, &pushes->pause, CLOCK_MONOTONIC, PAUSE << pushes->pauses,
                               1000, pause_is_over, pushes);
  if (is_suspect && pushes->pauses < PAUSES_MOST)
    pushes->pauses++;
}

void pushes_end(struct pushes *pushes) {
  watcher_end(&pushes->watcher);
  pushes_forget_cards(pushes);
  pushes->pause = sd_event_source_disable_unref(pushes->pause);
}
