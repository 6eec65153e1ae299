/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The notifications of devices. What one says belongs to its request until the server has answered. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "devices.h"
#include "log.h"
#include "text.h"

/** Microseconds in which a click on a notification that was closed here counts if the server does not say its end. */
#define CROSSING 10000000ull
/** Microseconds before a server that has not shown a notification is asked again. */
#define SHOW_AGAIN 1000000ull

static void forget(struct card *card) {
  segue_release(card->offer);
  *card = (struct card){0};
}

static void forget_ended(struct ended_card *ended) {
  segue_release(ended->offer);
  *ended = (struct ended_card){0};
}

/** Remembers a notification for what the user does with it before it has gone. */
static void remember(struct devices *devices, const struct card *card) {
  struct ended_card *ended = &devices->ended[devices->next_ended];
  if (!card->offer || segue_retain(card->offer) != SEGUE_OK)
    return;
  segue_release(ended->offer);
  *ended = (struct ended_card){.number = card->number, .until = devices_now(devices) + CROSSING, .offer = card->offer};
  memcpy(ended->id, card->id, SEGUE_ID_SIZE);
  devices->next_ended = (devices->next_ended + 1) % ENDED_MOST;
}

static void close_card(struct device *device) {
  if (device->card.number != 0) {
    notifier_close(device->devices->notifier, device->card.number);
    remember(device->devices, &device->card);
    if (device->is_showing)
      device->closed = device->card.number;
  }
  forget(&device->card);
}

static bool has_told(const struct device *device, const uint8_t *id) {
  for (unsigned index = 0; index < TOLD_MOST && index < device->told_count; index++)
    if (memcmp(device->told[index], id, SEGUE_ID_SIZE) == 0)
      return true;
  return false;
}

static void note_told(struct device *device, const uint8_t *id) {
  if (!has_told(device, id))
    memcpy(device->told[device->told_count++ % TOLD_MOST], id, SEGUE_ID_SIZE);
}

typedef segue_status (*text_getter)(const segue_offer *offer, char **text, size_t *length);

/** Gets a text of an offer, clean. */
static void clean_text(const segue_offer *offer, text_getter getter, char *clean) {
  char *text = NULL;
  getter(offer, &text, NULL);
  text_clean(text, clean);
  segue_free(text);
}

static int show_again(sd_event_source *source, uint64_t usec, void *context) {
  struct device *device = context;
  (void)usec;
  device->showing_again = sd_event_source_disable_unref(source);
  card_update(device);
  return 0;
}

/** The server has refused, or has died: it may be what it was asked for. One that refuses often is left alone. */
static void show_later(struct device *device, const uint8_t *id) {
  bool is_later = device->refusals < RETRIES_MOST;
  /* Another activity that has come to the front meanwhile does not wait. */
  if (is_later && memcmp(id, device->front_id, SEGUE_ID_SIZE) == 0)
    is_later = sd_event_add_time_relative(device->devices->loop, &device->showing_again, CLOCK_MONOTONIC,
                                          SHOW_AGAIN << device->refusals, 1000, show_again, device) >= 0;
  if (is_later)
    device->refusals++;
  else
    note_told(device, id);
}

static void card_shown(void *context, uint32_t number) {
  struct device *device = context;
  struct card shown = device->coming;
  /* It was closed by the number that it has taken over, after the server was asked for it. */
  bool was_closed = number != 0 && number == device->closed;
  device->coming = (struct card){0};
  device->is_showing = false;
  device->closed = 0;
  if (number == 0) {
    show_later(device, shown.id);
  } else {
    device->refusals = 0;
    if (!was_closed)
      note_told(device, shown.id);
  }
  if (was_closed) {
    notifier_close(device->devices->notifier, number);
    number = 0;
  }
  /* One that was not replaced says what is no longer so. */
  if (device->card.number != number)
    close_card(device);
  forget(&device->card);
  if (number != 0)
    device->card = shown;
  else
    forget(&shown);
  device->card.number = number;
  card_update(device);
}

/** Shows the notification, in place of the former one of this device. */
static void show(struct device *device) {
  struct devices *devices = device->devices;
  static const char *const click[] = {"default", "Continue", NULL};
  char title[TEXT_SIZE], name[TEXT_SIZE], app[TEXT_SIZE], unmarked[TEXT_SIZE * 2];
  char summary[TEXT_SIZE * 3], body[TEXT_SIZE * 3], escaped[2 * ESCAPED_SIZE];
  clean_text(device->front, segue_offer_get_title, title);
  clean_text(device->front, segue_offer_get_app_name, app);
  text_clean(device->name, name);
  text_unmark(title[0] != '\0' && !devices->settings.hides_titles ? title : app, unmarked);
  snprintf(summary, sizeof summary, "Continue '%s'", unmarked);
  snprintf(body, sizeof body, "%s, on %s", app, name);
  text_escape(body, devices->notifier->has_markup, escaped);
  struct card card = {.offer = device->front, .words = text_hash(text_hash(TEXT_FIRST_HASH, summary), escaped)};
  memcpy(card.id, device->front_id, SEGUE_ID_SIZE);
  bool is_same = memcmp(device->card.id, card.id, SEGUE_ID_SIZE) == 0 && device->card.words == card.words;
  if (device->card.offer && is_same)
    return;
  struct notice notice = {.replaces = device->card.number,
                          .urgency = URGENCY_LOW,
                          .summary = summary,
                          .body = escaped,
                          .actions = devices->notifier->has_actions ? click : NULL};
  if (segue_retain(card.offer) != SEGUE_OK)
    return;
  device->is_showing = notifier_show(devices->notifier, &notice, card_shown, device);
  device->asked_at = devices_now(devices);
  if (device->is_showing)
    device->coming = card;
  else
    forget(&card);
}

/** Tells whether the user wants to hear of the frontmost offer of a device. */
static bool is_wanted(const struct device *device) {
  const struct devices *devices = device->devices;
  char *app = NULL, *type = NULL;
  if (!device->front || device->place == PLACE_HERE || devices->presence->is_locked ||
      devices->settings.notify == NOTIFY_NEVER || dismissed_has(&devices->dismissed, device->front_id))
    return false;
  bool is_known = segue_offer_get_bundle_identifier(device->front, &app, NULL) == SEGUE_OK &&
                  segue_offer_get_type(device->front, &type, NULL) == SEGUE_OK;
  bool is_wanted = is_known && settings_allow(&devices->settings, app, type, device->name);
  segue_free(app);
  segue_free(type);
  return is_wanted;
}

/** Tells whether a notification may appear that is not there yet. */
static bool may_appear(const struct device *device) {
  const struct devices *devices = device->devices;
  if (has_told(device, device->front_id))
    return false;
  return devices->settings.notify == NOTIFY_ALWAYS || devices_now(devices) < devices->arriving_until;
}

void card_update(struct device *device) {
  const struct devices *devices = device->devices;
  if (!is_wanted(device) || device->verdict == VERDICT_NO) {
    /* One that is being replaced is closed with what replaces it, but does not stay on a locked screen until then. */
    if (!device->is_showing || devices->presence->is_locked)
      close_card(device);
    return;
  }
  if (device->is_showing || device->showing_again || (device->is_asking && device->verdict != VERDICT_LIKELY))
    return;
  if (!devices->notifier->is_known || (device->card.number == 0 && !may_appear(device)))
    return;
  if (device->verdict == VERDICT_YES || device->verdict == VERDICT_LIKELY)
    show(device);
  if (device->verdict != VERDICT_YES && !device->is_asking && !device->is_put_off)
    device->is_asking = questions_ask(device);
}

/** One that was given up is shown, and closed. The user may have seen it before. */
static void card_late(void *context, uint32_t number) {
  struct device *device = context;
  device->late.number = number;
  remember(device->devices, &device->late);
  forget(&device->late);
}

void card_forget_late(struct device *device) {
  notifier_abandon(device->devices->notifier, device, device->card.number, NULL);
  forget(&device->late);
}

void card_arrived(struct device *device) {
  bool is_late = device->is_showing && devices_now(device->devices) >= device->asked_at + ANSWER_USEC;
  device->told_count = device->refusals = 0;
  device->showing_again = sd_event_source_disable_unref(device->showing_again);
  if (!is_late)
    return;
  log_line("a notification was not shown: the server has not answered yet");
  notifier_abandon(device->devices->notifier, device, device->card.number, card_late);
  forget(&device->late);
  device->late = device->coming;
  device->coming = (struct card){0};
  device->is_showing = false;
  device->closed = 0;
}

void cards_forget(struct devices *devices) {
  for (int index = 0; index < DEVICES_MOST; index++) {
    struct device *device = &devices->list[index];
    if (device->is_showing)
      show_later(device, device->coming.id);
    device->is_showing = false;
    device->closed = 0;
    close_card(device);
    forget(&device->coming);
    forget(&device->late);
  }
  for (int index = 0; index < ENDED_MOST; index++)
    forget_ended(&devices->ended[index]);
}

void cards_end(struct devices *devices) {
  for (int index = 0; index < DEVICES_MOST; index++)
    devices->list[index].is_showing = false;
  cards_forget(devices);
}

/* Signals of the server. */

static struct device *of_card(struct devices *devices, uint32_t number) {
  for (int index = 0; index < DEVICES_MOST; index++)
    if (number != 0 && devices->list[index].card.number == number)
      return &devices->list[index];
  return NULL;
}

/** Finds one that was closed here, and that the server may not have closed yet. */
static struct ended_card *of_ended(struct devices *devices, uint32_t number) {
  for (int index = 0; index < ENDED_MOST; index++) {
    struct ended_card *ended = &devices->ended[index];
    if (number != 0 && ended->number == number && devices_now(devices) < ended->until)
      return ended;
  }
  return NULL;
}

bool cards_acted(struct devices *devices, uint32_t id, const char *action, const char *token) {
  struct device *device = of_card(devices, id);
  if (!device)
    return false;
  if (!device->card.offer || strcmp(action, "default") != 0)
    return true;
  launches_begin(devices->launches, device->card.offer, token);
  segue_release(device->card.offer);
  device->card.offer = NULL;
  if (!device->is_showing) {
    /* Otherwise the one that is on its way takes its place, and may have its number. */
    notifier_close_clicked(devices->notifier, id);
    forget(&device->card);
  }
  return true;
}

bool cards_closed(struct devices *devices, uint32_t id, uint32_t reason) {
  struct device *device = of_card(devices, id);
  if (!device)
    return false;
  if (reason == CLOSED_BY_USER && device->card.offer)
    dismissed_add(&devices->dismissed, device->card.id);
  forget(&device->card);
  return true;
}

bool cards_acted_late(struct devices *devices, uint32_t id, const char *action, const char *token) {
  struct ended_card *ended = of_ended(devices, id);
  if (!ended)
    return false;
  /* Nobody who could see it is there to click. */
  if (strcmp(action, "default") != 0 || devices->presence->is_locked)
    return true;
  launches_begin(devices->launches, ended->offer, token);
  forget_ended(ended);
  return true;
}

bool cards_closed_late(struct devices *devices, uint32_t id, uint32_t reason) {
  struct ended_card *ended = of_ended(devices, id);
  if (!ended)
    return false;
  /* The user was first: for what they were asked to close servers give the reason 3 (GNOME Shell, Plasma, dunst, mako,
   * xfce4-notifyd). One that gave 2 for that would make all that is closed here count as dismissed. */
  if (reason == CLOSED_BY_USER)
    dismissed_add(&devices->dismissed, ended->id);
  forget_ended(ended);
  return true;
}
