/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "requests.h"
#include "token.h"

struct launching {
  struct job job;
  struct launch *launch;
  segue_app *app;
  segue_offer *offer;
  bool leaves_text;
  char token[TOKEN_SIZE];
  segue_status status;
  segue_outcome outcome;
  char message[SEGUE_MESSAGE_SIZE];
};

static void release(struct launch *launch) {
  segue_release(launch->offer);
  *launch = (struct launch){0};
}

/* Words. */

/** Tells the user why nothing came to the front. */
static void show_failure(struct launches *launches, const char *title, const char *message) {
  char unmarked[TEXT_SIZE * 2], summary[TEXT_SIZE * 3], clean[TEXT_SIZE], escaped[ESCAPED_SIZE];
  text_unmark(title, unmarked);
  text_clean(message, clean);
  text_escape(clean, launches->notifier->has_markup, escaped);
  snprintf(summary, sizeof summary, "'%s' is not continued", unmarked);
  notifier_show(launches->notifier, &(struct notice){.urgency = URGENCY_LOW, .summary = summary, .body = escaped}, NULL,
                NULL);
}

static void question_shown(void *context, uint32_t id) {
  struct launch *launch = context;
  launch->is_showing = false;
  launch->card = id;
  if (id == 0)
    release(launch);
}

/** Asks whether the file may be opened without text that is in no file (R13.7). */
static void ask_about_text(struct launch *launch) {
  static const char *const actions[] = {"without-text", "Open the file without it", NULL};
  char unmarked[TEXT_SIZE * 2], summary[TEXT_SIZE * 3];
  text_unmark(launch->title, unmarked);
  snprintf(summary, sizeof summary, "'%s' has text that is not saved", unmarked);
  struct notice notice = {.urgency = URGENCY_NORMAL,
                          .summary = summary,
                          .body = "The program here opens the file. What was not saved stays on the other device.",
                          .actions = actions};
  launch->is_showing = notifier_show(launch->launches->notifier, &notice, question_shown, launch);
  if (!launch->is_showing)
    release(launch);
}

/* The work. */

static void work(struct job *job) {
  struct launching *launching = (struct launching *)job;
  uint8_t id[SEGUE_ID_SIZE];
  bool has_id = launching->leaves_text && segue_offer_get_id(launching->offer, id) == SEGUE_OK;
  segue_value *options = has_id ? activity_options(id) : NULL, *result = NULL;
  int64_t outcome = SEGUE_OUTCOME_UNKNOWN;
  char *message = NULL;
  token_set(launching->token);
  if (launching->leaves_text)
    launching->status =
        segue_app_ask_agent(launching->app, "continue-without-text", SEGUE_NUL_TERMINATED, options, 0, &result);
  else
    launching->status = segue_app_launch(launching->app, launching->offer, NULL, 0, 0, &result);
  if (launching->status != SEGUE_OK)
    segue_last_error(launching->message, sizeof launching->message);
  token_set("");
  segue_dictionary_get_int64(result, "outcome", SEGUE_NUL_TERMINATED, &outcome);
  launching->outcome = (segue_outcome)outcome;
  if (segue_dictionary_get_string(result, "message", SEGUE_NUL_TERMINATED, &message, NULL) == SEGUE_OK)
    snprintf(launching->message, sizeof launching->message, "%s", message);
  segue_free(message);
  segue_release(result);
  segue_release(options);
}

static void done(struct job *job) {
  struct launching *launching = (struct launching *)job;
  struct launch *launch = launching->launch;
  bool is_bad = launching->outcome == SEGUE_OUTCOME_DECLINED || launching->outcome == SEGUE_OUTCOME_FAILED;
  bool asks = launching->status == SEGUE_ERROR_NOT_ALLOWED && !launching->leaves_text;
  if (asks && launch->launches->notifier->has_actions) {
    ask_about_text(launch);
  } else {
    if (launching->status != SEGUE_ERROR_CANCELLED && (launching->status != SEGUE_OK || is_bad)) {
      log_line("a click continued nothing: %s", launching->message);
      show_failure(launch->launches, launch->title, launching->message);
    }
    release(launch);
  }
  segue_release(launching->offer);
  segue_release(launching->app);
  free(launching);
}

/** Adds the job of a launch. Returns false if there is no room, or no memory. */
static bool add(struct launch *launch, const char *token, bool leaves_text) {
  struct launching *launching = calloc(1, sizeof *launching);
  if (!launching)
    return false;
  launching->job = (struct job){work, done, NULL};
  launching->launch = launch;
  launching->leaves_text = leaves_text;
  launching->outcome = SEGUE_OUTCOME_UNKNOWN;
  snprintf(launching->token, sizeof launching->token, "%s", token);
  if (segue_retain(launch->offer) == SEGUE_OK)
    launching->offer = launch->offer;
  if (segue_retain(launch->launches->app) == SEGUE_OK)
    launching->app = launch->launches->app;
  if (launching->offer && launching->app && worker_add(launch->launches->worker, &launching->job))
    return true;
  segue_release(launching->offer);
  segue_release(launching->app);
  free(launching);
  return false;
}

void launches_begin(struct launches *launches, segue_offer *offer, const char *token) {
  struct launch *launch = NULL;
  char *title = NULL, clean[TEXT_SIZE];
  if (segue_offer_get_title(offer, &title, NULL) != SEGUE_OK || !title)
    segue_offer_get_app_name(offer, &title, NULL);
  text_clean(title, clean);
  segue_free(title);
  for (int index = 0; index < LAUNCHES_MOST && !launch; index++)
    if (!launches->list[index].offer)
      launch = &launches->list[index];
  if (!launch || segue_retain(offer) != SEGUE_OK) {
    show_failure(launches, clean, "Others that were asked for before have not ended yet.");
    return;
  }
  *launch = (struct launch){.launches = launches, .offer = offer};
  strcpy(launch->title, clean);
  if (!add(launch, token, false)) {
    show_failure(launches, clean, "There is no memory for it.");
    release(launch);
  }
}

/* Signals of the server. */

static struct launch *of_card(struct launches *launches, uint32_t id) {
  for (int index = 0; index < LAUNCHES_MOST; index++)
    if (id != 0 && launches->list[index].card == id)
      return &launches->list[index];
  return NULL;
}

bool launches_acted(struct launches *launches, uint32_t id, const char *token) {
  struct launch *launch = of_card(launches, id);
  if (!launch)
    return false;
  notifier_close(launches->notifier, id);
  launch->card = 0;
  if (!add(launch, token, true))
    release(launch);
  return true;
}

bool launches_closed(struct launches *launches, uint32_t id) {
  struct launch *launch = of_card(launches, id);
  if (launch)
    release(launch);
  return launch != NULL;
}

void launches_forget_cards(struct launches *launches) {
  for (int index = 0; index < LAUNCHES_MOST; index++)
    if (launches->list[index].card != 0 || launches->list[index].is_showing)
      release(&launches->list[index]);
}

void launches_end(struct launches *launches) {
  for (int index = 0; index < LAUNCHES_MOST; index++) {
    if (launches->list[index].card != 0)
      notifier_close(launches->notifier, launches->list[index].card);
    if (launches->list[index].offer)
      release(&launches->list[index]);
  }
}
