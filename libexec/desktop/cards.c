/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The notifications of devices. What one says belongs to its request until the server has answered. */
#include <stdio.h>
#include <string.h>

#include "devices.h"
#include "log.h"
#include "text.h"

/** Microseconds in which a click on a notification that was closed here still counts. */
#define CROSSING 1000000ull

static void forget(struct card *card) {
  segue_release(card->offer);
  *card = (struct card){0};
}

/** Remembers a notification for a click on its way: the user has seen it. */
static void remember(struct devices *devices, const struct card *card) {
  struct ended_card *ended = &devices->ended[devices->next_ended];
  if (!card->offer || segue_retain(card->offer) != SEGUE_OK)
    return;
  segue_release(ended->offer);
  *ended = (struct ended_card){.number = card->number, .until = devices_now(devices) + CROSSING, .offer = card->offer};
  devices->next_ended = (devices->next_ended + 1) % ENDED_MOST;
}

static void close_card(struct device *device) {
  if (device->card.number != 0) {
    notifier_close(device->devices->notifier, device->card.number);
    remember(device->devices, &device->card);
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

static void card_shown(void *context, uint32_t number) {
  struct device *device = context;
  struct card shown = device->coming;
  device->coming = (struct card){0};
  device->is_showing = false;
  note_told(device, shown.id);
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
  if (device->is_showing || (device->is_asking && device->verdict != VERDICT_LIKELY))
    return;
  if (!devices->notifier->is_known || (device->card.number == 0 && !may_appear(device)))
    return;
  if (device->verdict == VERDICT_YES || device->verdict == VERDICT_LIKELY)
    show(device);
  if (device->verdict != VERDICT_YES && !device->is_asking && !device->is_put_off)
    device->is_asking = questions_ask(device);
}

void card_arrived(struct device *device) {
  bool is_late = device->is_showing && devices_now(device->devices) >= device->asked_at + ANSWER_USEC;
  device->told_count = 0;
  if (!is_late)
    return;
  log_line("a notification was not shown: the server has not answered yet");
  notifier_abandon(device->devices->notifier, device);
  device->is_showing = false;
  forget(&device->coming);
}

void cards_forget(struct devices *devices) {
  for (int index = 0; index < DEVICES_MOST; index++) {
    devices->list[index].is_showing = false;
    forget(&devices->list[index].card);
    forget(&devices->list[index].coming);
  }
  for (int index = 0; index < ENDED_MOST; index++) {
    segue_release(devices->ended[index].offer);
    devices->ended[index] = (struct ended_card){0};
  }
}

void cards_end(struct devices *devices) {
  for (int index = 0; index < DEVICES_MOST; index++)
    close_card(&devices->list[index]);
  cards_forget(devices);
}

/* Signals of the server. */

static struct device *of_card(struct devices *devices, uint32_t number) {
  for (int index = 0; index < DEVICES_MOST; index++)
    if (number != 0 && devices->list[index].card.number == number)
      return &devices->list[index];
  return NULL;
}

/** Finds one that was closed a moment ago. */
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
  struct ended_card *ended = device ? NULL : of_ended(devices, id);
  segue_offer **offer = device ? &device->card.offer : ended ? &ended->offer : NULL;
  if (!offer)
    return false;
  if (!*offer || strcmp(action, "default") != 0)
    return true;
  launches_begin(devices->launches, *offer, token);
  segue_release(*offer);
  *offer = NULL;
  if (!device)
    ended->number = 0;
  else if (!device->is_showing) {
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
