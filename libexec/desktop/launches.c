/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "launches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "requests.h"
#include "token.h"

/** The action that is the user's consent; a click beside the button is none. */
#define WITHOUT_TEXT "without-text"
#define NO_MEMORY "There is no memory for it."

struct launching {
  struct job job;
  struct launch *launch;
  segue_app *app;
  /** retained: one of both */
  segue_offer *offer;
  segue_value *saved;
  bool leaves_text;
  char token[TOKEN_SIZE];
  segue_status status;
  segue_outcome outcome;
  char message[SEGUE_MESSAGE_SIZE];
};

static void release(struct launch *launch) {
  segue_release(launch->offer);
  segue_release(launch->saved);
  *launch = (struct launch){0};
}

/* Words. */

static void failure_shown(void *context, uint32_t id) {
  struct launches *launches = context;
  uint32_t *place = &launches->failures[launches->next_failure];
  if (id == 0)
    return;
  if (launches->presence->is_locked) {
    notifier_close(launches->notifier, id);
    return;
  }
  if (*place != 0)
    notifier_close(launches->notifier, *place);
  *place = id;
  launches->next_failure = (launches->next_failure + 1) % LAUNCHES_MOST;
}

void launches_tell(struct launches *launches, const char *summary, const char *body) {
  struct notice notice = {.urgency = URGENCY_LOW, .summary = summary, .body = body};
  if (!launches->presence->is_locked)
    notifier_show(launches->notifier, &notice, failure_shown, launches);
}

void launches_show_failure(struct launches *launches, const char *title, const char *message) {
  char unmarked[TEXT_SIZE * 2], summary[TEXT_SIZE * 3], clean[TEXT_SIZE], escaped[ESCAPED_SIZE];
  text_unmark(title, unmarked);
  text_clean(message, clean);
  text_escape(clean, launches->notifier->has_markup, escaped);
  snprintf(summary, sizeof summary, "'%s' is not continued", unmarked);
  launches_tell(launches, summary, escaped);
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
  static const char *const actions[] = {WITHOUT_TEXT, "Open the file without it", NULL};
  char unmarked[TEXT_SIZE * 2], summary[TEXT_SIZE * 3];
  if (launch->launches->presence->is_locked) {
    log_line("a click continued nothing: its text is not saved, and the session is locked");
    release(launch);
    return;
  }
  text_unmark(launch->title, unmarked);
  snprintf(summary, sizeof summary, "'%s' has text that is not saved", unmarked);
  struct notice notice = {.urgency = URGENCY_NORMAL,
                          .summary = summary,
                          .body = "The program here opens the file. What was not saved stays on the other device.",
                          .actions = actions};
  launch->is_showing = notifier_show(launch->launches->notifier, &notice, question_shown, launch);
  if (launch->is_showing)
    return;
  log_line("a click continued nothing: the question about its text could not be asked");
  release(launch);
}

/** Tells whether a click waits for the user alone. */
static bool is_question(const struct launch *launch) { return launch->card != 0 || launch->is_showing; }

/** Takes a question back. */
static void end_question(struct launch *launch) {
  if (launch->card != 0)
    notifier_close(launch->launches->notifier, launch->card);
  notifier_abandon(launch->launches->notifier, launch, 0, NULL);
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
  else if (launching->saved)
    launching->status = segue_app_ask_agent(launching->app, "open", SEGUE_NUL_TERMINATED, launching->saved, 0, &result);
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

static void discard(struct launching *launching) {
  segue_release(launching->offer);
  segue_release(launching->saved);
  segue_release(launching->app);
  free(launching);
}

static void done(struct job *job) {
  struct launching *launching = (struct launching *)job;
  struct launch *launch = launching->launch;
  bool is_bad = launching->outcome == SEGUE_OUTCOME_DECLINED || launching->outcome == SEGUE_OUTCOME_FAILED;
  bool asks = launching->status == SEGUE_ERROR_NOT_ALLOWED && launching->offer && !launching->leaves_text;
  if (asks && launch->launches->notifier->has_actions) {
    ask_about_text(launch);
  } else {
    if (launching->status != SEGUE_ERROR_CANCELLED && (launching->status != SEGUE_OK || is_bad)) {
      log_line("a click continued nothing: %s", launching->message);
      launches_show_failure(launch->launches, launch->title, launching->message);
    }
    release(launch);
  }
  discard(launching);
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
  if (launch->offer && segue_retain(launch->offer) == SEGUE_OK)
    launching->offer = launch->offer;
  if (launch->saved && segue_retain(launch->saved) == SEGUE_OK)
    launching->saved = launch->saved;
  if (segue_retain(launch->launches->app) == SEGUE_OK)
    launching->app = launch->launches->app;
  bool is_whole = (launching->offer || launching->saved) && launching->app;
  if (is_whole && worker_add(launch->launches->worker, &launching->job))
    return true;
  discard(launching);
  return false;
}

static bool is_free(const struct launch *launch) { return !launch->offer && !launch->saved; }

/** Finds a free place, or takes that of the question that waits longest: nobody may have seen it, or its end. */
static struct launch *find_place(struct launches *launches) {
  struct launch *oldest = NULL;
  for (int index = 0; index < LAUNCHES_MOST; index++) {
    struct launch *launch = &launches->list[index];
    if (is_free(launch))
      return launch;
    if (is_question(launch) && (!oldest || launch->number < oldest->number))
      oldest = launch;
  }
  if (oldest)
    end_question(oldest);
  return oldest;
}

/** Begins to continue an offer, or a saved activity. offer, saved  retained; one of them is NULL */
static void begin(struct launches *launches, segue_offer *offer, segue_value *saved, const char *title,
                  const char *token) {
  struct launch *launch = find_place(launches);
  if (!launch || (offer ? segue_retain(offer) : segue_retain(saved)) != SEGUE_OK) {
    launches_show_failure(launches, title, "Others that were asked for before have not ended yet.");
    return;
  }
  *launch = (struct launch){.launches = launches, .offer = offer, .saved = saved, .number = ++launches->count};
  strcpy(launch->title, title);
  if (!add(launch, token, false)) {
    launches_show_failure(launches, title, NO_MEMORY);
    release(launch);
  }
}

void launches_begin(struct launches *launches, segue_offer *offer, const char *token) {
  char *title = NULL, clean[TEXT_SIZE];
  if (launches->settings->hides_titles || segue_offer_get_title(offer, &title, NULL) != SEGUE_OK || !title)
    segue_offer_get_app_name(offer, &title, NULL);
  text_clean(title, clean);
  segue_free(title);
  begin(launches, offer, NULL, clean, token);
}

void launches_begin_saved(struct launches *launches, segue_value *saved, const char *title, const char *token) {
  begin(launches, NULL, saved, title, token);
}

bool launches_are_busy(const struct launches *launches) {
  for (int index = 0; index < LAUNCHES_MOST; index++)
    if (!is_free(&launches->list[index]))
      return true;
  return false;
}

/* Signals of the server. */

static struct launch *of_card(struct launches *launches, uint32_t id) {
  for (int index = 0; index < LAUNCHES_MOST; index++)
    if (id != 0 && launches->list[index].card == id)
      return &launches->list[index];
  return NULL;
}

bool launches_acted(struct launches *launches, uint32_t id, const char *action, const char *token) {
  struct launch *launch = of_card(launches, id);
  if (!launch)
    return false;
  if (strcmp(action, WITHOUT_TEXT) != 0)
    return true;
  launch->card = 0;
  if (!add(launch, token, true)) {
    launches_show_failure(launches, launch->title, NO_MEMORY);
    release(launch);
  }
  notifier_close_clicked(launches->notifier, id);
  return true;
}

bool launches_closed(struct launches *launches, uint32_t id) {
  struct launch *launch = of_card(launches, id);
  for (int index = 0; index < LAUNCHES_MOST && id != 0; index++) {
    if (launches->failures[index] != id)
      continue;
    launches->failures[index] = 0;
    return true;
  }
  if (launch)
    release(launch);
  return launch != NULL;
}

void launches_forget_cards(struct launches *launches) {
  for (int index = 0; index < LAUNCHES_MOST; index++) {
    if (launches->failures[index] != 0)
      notifier_close(launches->notifier, launches->failures[index]);
    launches->failures[index] = 0;
    if (is_question(&launches->list[index]))
      end_question(&launches->list[index]);
  }
}

void launches_locked(struct launches *launches) {
  if (launches->presence->is_locked)
    launches_forget_cards(launches);
}

void launches_end(struct launches *launches) {
  launches_forget_cards(launches);
  for (int index = 0; index < LAUNCHES_MOST; index++)
    if (!is_free(&launches->list[index]))
      release(&launches->list[index]);
}
