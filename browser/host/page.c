/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "page.h"

#include <string.h>
#include <time.h>

#include "identity.h"
#include "position.h"
#include "text.h"

/** Characters of a title; a title has at most 1 KiB (SEGUE_LIMIT_TITLE). */
#define TITLE_CHARACTERS 255

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/** Sets user_info to that of the page's own activity (NULL: it has none), and adds the position. */
static void set_state(segue_activity *activity, const segue_value *own, const struct position *position) {
  segue_writer *writer = NULL;
  segue_value *info = NULL;
  segue_activity_set_user_info(activity, own);
  if (position && segue_writer_create(&writer) == SEGUE_OK) {
    segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
    segue_writer_put_string(writer, POSITION_KEY, SEGUE_NUL_TERMINATED);
    position_write(position, writer);
    segue_writer_end(writer);
    if (segue_writer_finish(writer, &info) == SEGUE_OK)
      segue_activity_add_user_info_entries(activity, info);
  }
  segue_release(info);
  segue_release(writer);
}

static void end_save(struct page_save *save) {
  segue_release(save->save);
  segue_release(save->activity);
  memset(save, 0, sizeof *save);
}

/** Answers a save: with the state of the page's own activity and a position, or with the URL alone. */
static void complete(struct page_save *save, const segue_value *own, const struct position *position) {
  set_state(save->activity, own, position);
  segue_save_complete(save->save);
  end_save(save);
}

static segue_reply will_save(void *context, segue_activity *activity, segue_save *save) {
  struct page *page = context;
  struct page_save *free_save = NULL;
  for (int index = 0; index < SAVES_MOST && !free_save; index++)
    if (!page->saves[index].save)
      free_save = &page->saves[index];
  if (activity != page->activity || !free_save || segue_retain(save) != SEGUE_OK) {
    set_state(activity, NULL, NULL);
    return SEGUE_REPLY_YES;
  }
  segue_retain(activity);
  *free_save =
      (struct page_save){save, activity, ++page->last_number, strcmp(page->type, BROWSING_TYPE) != 0, now() + STATE_MS};
  channel_begin(page->channel, "save");
  channel_put_number(page->channel, "id", free_save->number);
  channel_put_number(page->channel, "tab", page->tab);
  channel_send(page->channel);
  return SEGUE_REPLY_LATER;
}

static void was_continued(void *context, segue_activity *activity, segue_receipt *receipt) {
  struct page *page = context;
  char *app = NULL, *device = NULL, clean[4 * 64 + 1];
  if (activity != page->activity)
    return;
  channel_begin(page->channel, "continued");
  channel_put_number(page->channel, "tab", page->tab);
  if (segue_receipt_get_app_name(receipt, &app, NULL) == SEGUE_OK && app) {
    text_clean(app, strlen(app), 64, clean);
    channel_put_text(page->channel, "app", clean);
  }
  if (segue_receipt_get_device_name(receipt, &device, NULL) == SEGUE_OK && device) {
    text_clean(device, strlen(device), 64, clean);
    channel_put_text(page->channel, "device", clean);
  }
  channel_send(page->channel);
  segue_free(app);
  segue_free(device);
}

segue_status page_prepare(struct page *page, struct channel *channel, segue_app *app) {
  page->channel = channel;
  page->app = app;
  page->tab = -1;
  segue_status status = segue_activity_delegate_create(page, NULL, &page->delegate);
  if (status == SEGUE_OK)
    status = segue_activity_delegate_on_will_save(page->delegate, will_save);
  if (status == SEGUE_OK)
    status = segue_activity_delegate_on_was_continued(page->delegate, was_continued);
  return status;
}

static void withdraw(struct page *page) {
  segue_activity *former = page->activity;
  page->activity = NULL;
  page->tab = -1;
  if (former) {
    segue_activity_invalidate(former);
    segue_release(former);
  }
}

/** Tells the extension why a tab is not offered. */
static void refuse(struct page *page, int64_t tab, const char *reason) {
  if (tab == page->tab)
    withdraw(page);
  channel_refuse(page->channel, tab, reason);
}

/** Makes an activity for another tab or type, or uses the one of this tab. */
static bool describe(struct page *page, int64_t tab, const char *type, const char *url, const char *title) {
  segue_activity *activity = page->tab == tab && strcmp(page->type, type) == 0 ? page->activity : NULL;
  bool is_new = !activity;
  if (is_new && segue_activity_create(page->app, type, SEGUE_NUL_TERMINATED, &activity) != SEGUE_OK)
    return false;
  if (segue_activity_set_webpage_url(activity, url, SEGUE_NUL_TERMINATED) != SEGUE_OK) {
    if (is_new)
      segue_release(activity);
    return false;
  }
  segue_activity_set_title(activity, title[0] != '\0' ? title : NULL, title[0] != '\0' ? SEGUE_NUL_TERMINATED : 0);
  if (is_new) {
    segue_activity *former = page->activity;
    /* A type that a page names is for the app of its site (R12.7): only the page as such is for every program. */
    segue_activity_set_public(activity, strcmp(type, SEGUE_ACTIVITY_TYPE_BROWSING_WEB) == 0);
    segue_activity_set_delegate(activity, page->delegate);
    page->activity = activity;
    page->tab = tab;
    strcpy(page->type, type);
    segue_activity_become_current(activity);
    if (former) {
      segue_activity_invalidate(former);
      segue_release(former);
    }
  }
  segue_app_set_foreground(page->app, true);
  return true;
}

void page_offer(struct page *page, const segue_value *message) {
  int64_t tab = -1;
  char *url = NULL, *title = NULL, clean[4 * TITLE_CHARACTERS + 1] = "", error[SEGUE_MESSAGE_SIZE];
  char type[TYPE_MOST + 1];
  size_t url_length = 0, title_length = 0;
  if (segue_dictionary_get_int64(message, "tab", SEGUE_NUL_TERMINATED, &tab) != SEGUE_OK || tab < 0)
    return;
  if (segue_dictionary_get_string(message, "title", SEGUE_NUL_TERMINATED, &title, &title_length) == SEGUE_OK)
    text_clean(title, title_length, TITLE_CHARACTERS, clean);
  activity_read_type(message, type);
  if (segue_dictionary_get_string(message, "url", SEGUE_NUL_TERMINATED, &url, &url_length) != SEGUE_OK ||
      !text_is_page_url(url, url_length)) {
    refuse(page, tab, "the address is no page of the web that can be handed over");
  } else if (!describe(page, tab, type, url, clean)) {
    segue_last_error(error, sizeof error);
    refuse(page, tab, error);
  }
  segue_free(url);
  segue_free(title);
}

void page_withdraw(struct page *page, const segue_value *message) {
  int64_t tab = -1;
  if (segue_dictionary_get_int64(message, "tab", SEGUE_NUL_TERMINATED, &tab) == SEGUE_OK && tab == page->tab)
    withdraw(page);
}

/** The page may have another address by now; if its origin is another one, nobody continues it (R12.1). */
static void take_url(segue_activity *activity, const segue_value *message) {
  char *url = NULL;
  size_t length = 0;
  if (segue_dictionary_get_string(message, "url", SEGUE_NUL_TERMINATED, &url, &length) == SEGUE_OK &&
      text_is_page_url(url, length))
    segue_activity_set_webpage_url(activity, url, SEGUE_NUL_TERMINATED);
  segue_free(url);
}

void page_take_state(struct page *page, const segue_value *message) {
  int64_t number = 0;
  if (segue_dictionary_get_int64(message, "id", SEGUE_NUL_TERMINATED, &number) != SEGUE_OK || number <= 0)
    return;
  for (int index = 0; index < SAVES_MOST; index++) {
    struct page_save *save = &page->saves[index];
    if (save->number != number)
      continue;
    bool refused = false;
    segue_value *dictionary = NULL;
    struct position position;
    segue_dictionary_get_bool(message, "refused", SEGUE_NUL_TERMINATED, &refused);
    if (refused) {
      segue_save_fail(save->save, "the page asks not to be handed over", SEGUE_NUL_TERMINATED);
      end_save(save);
      return;
    }
    bool has_position =
        segue_dictionary_get_value(message, "position", SEGUE_NUL_TERMINATED, &dictionary) == SEGUE_OK &&
        position_read(dictionary, &position);
    segue_value *own = save->is_own ? activity_read_state(message) : NULL;
    if (save->is_own)
      take_url(save->activity, message);
    complete(save, own, has_position ? &position : NULL);
    segue_release(own);
    segue_release(dictionary);
    return;
  }
}

int page_expire(struct page *page) {
  int64_t next = -1, time = 0;
  for (int index = 0; index < SAVES_MOST; index++) {
    struct page_save *save = &page->saves[index];
    if (!save->save)
      continue;
    if (time == 0)
      time = now();
    if (save->deadline <= time)
      complete(save, NULL, NULL);
    else if (next < 0 || save->deadline - time < next)
      next = save->deadline - time;
  }
  return (int)next;
}
