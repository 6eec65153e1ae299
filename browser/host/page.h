/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The page that is offered: one activity, made anew for another tab or type (R12.4, R12.5, R12.7). */
#ifndef PAGE_H
#define PAGE_H

#include <segue.h>
#include <stdbool.h>

#include "activity.h"
#include "channel.h"

/** Milliseconds for which a continuation waits for the state of a page; then the URL travels alone. */
#define STATE_MS 1000
/** Saves that wait for the extension; one more is answered with the URL alone. */
#define SAVES_MOST 8

/** A save that waits for the extension's answer. */
struct page_save {
  segue_save *save;
  segue_activity *activity;
  int64_t number;
  /** whether the activity is the page's own, which has a state */
  bool is_own;
  /** milliseconds of CLOCK_BOOTTIME */
  int64_t deadline;
};

struct page {
  struct channel *channel;
  segue_app *app;
  segue_activity_delegate *delegate;
  /** NULL: nothing is offered */
  segue_activity *activity;
  /** BROWSING_TYPE, or that of the page's own activity */
  char type[TYPE_MOST + 1];
  int64_t tab;
  int64_t last_number;
  struct page_save saves[SAVES_MOST];
};

segue_status page_prepare(struct page *page, struct channel *channel, segue_app *app);
/** {"t": "current"}: offers a tab in place of the former one, or changes what is offered. */
void page_offer(struct page *page, const segue_value *message);
/** {"t": "gone"}: withdraws the offer of a tab. */
void page_withdraw(struct page *page, const segue_value *message);
/** {"t": "state"}: answers a save. */
void page_take_state(struct page *page, const segue_value *message);
/** Answers the saves whose time is up. Returns the milliseconds until the next one, -1 if none waits. */
int page_expire(struct page *page);

#endif
