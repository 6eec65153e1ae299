/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text.h"

#define SECOND 1000000ull
/** Microseconds in which what another device offers is notified: after a sleep its link comes a while later. */
#define ARRIVAL (30 * SECOND)
/** Microseconds in which it looks twice at most at what is offered. */
#define LOOK_PAUSE (1 * SECOND)
/** Microseconds before the second one. */
#define SETTLING 2000ull
/** Seconds after which the agent is asked again if it could not answer; then twice as long, so often. */
#define RETRIES_MOST 5
#define FIRST_HASH 0xcbf29ce484222325ull

static uint64_t now_usec(struct devices *devices) {
  uint64_t now = 0;
  sd_event_now(devices->loop, CLOCK_MONOTONIC, &now);
  return now;
}

/* The notification of a device. */

static void forget_card(struct device *device) {
  device->card = 0;
  segue_release(device->card_offer);
  device->card_offer = NULL;
}

static void close_card(struct device *device) {
  if (device->card != 0)
    notifier_close(device->devices->notifier, device->card);
  forget_card(device);
}

/** FNV-1a, 64 bits. */
static uint64_t hash(uint64_t value, const char *text) {
  for (; *text; text++)
    value = (value ^ (unsigned char)*text) * 0x100000001b3ull;
  return value;
}

typedef segue_status (*text_getter)(const segue_offer *offer, char **text, size_t *length);

/** Gets a text of an offer, clean. */
static void clean_text(const segue_offer *offer, text_getter getter, char *clean) {
  char *text = NULL;
  getter(offer, &text, NULL);
  text_clean(text, clean);
  segue_free(text);
}

static void card_shown(void *context, uint32_t id) {
  struct device *device = context;
  device->is_showing = false;
  device->card = id;
  if (id == 0)
    forget_card(device);
  devices_changed(device->devices);
}

/** Shows the notification, in place of the former one of this device. */
static void show_card(struct device *device) {
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
  uint64_t words = hash(hash(FIRST_HASH, summary), escaped);
  bool is_same = memcmp(device->card_id, device->front_id, SEGUE_ID_SIZE) == 0;
  if (device->card != 0 && is_same && device->card_words == words)
    return;
  struct notice notice = {.replaces = device->card,
                          .urgency = URGENCY_LOW,
                          .summary = summary,
                          .body = escaped,
                          .actions = devices->notifier->has_actions ? click : NULL};
  if (segue_retain(device->front) != SEGUE_OK)
    return;
  device->is_showing = notifier_show(devices->notifier, &notice, card_shown, device);
  segue_release(device->is_showing ? device->card_offer : device->front);
  if (!device->is_showing)
    return;
  device->card_offer = device->front;
  device->card_words = words;
  device->has_told = true;
  memcpy(device->card_id, device->front_id, SEGUE_ID_SIZE);
  memcpy(device->told_id, device->front_id, SEGUE_ID_SIZE);
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
  struct devices *devices = device->devices;
  if (device->has_told && memcmp(device->told_id, device->front_id, SEGUE_ID_SIZE) == 0)
    return false;
  return devices->settings.notify == NOTIFY_ALWAYS || now_usec(devices) < devices->arriving_until;
}

/** Brings the notification of a device up to date. What is on its way comes here again. */
static void update(struct device *device) {
  const struct devices *devices = device->devices;
  if (device->is_showing || (device->is_asking && device->verdict != VERDICT_LIKELY))
    return;
  if (!is_wanted(device) || device->verdict == VERDICT_NO) {
    close_card(device);
    return;
  }
  if (!devices->notifier->is_known || (device->card == 0 && !may_appear(device)))
    return;
  if (device->verdict == VERDICT_YES || device->verdict == VERDICT_LIKELY)
    show_card(device);
  if (device->verdict != VERDICT_YES && !device->is_asking)
    device->is_asking = questions_ask(device);
}

/* The list. */

static struct device *find(struct devices *devices, const char *name) {
  struct device *unused = NULL;
  for (int index = 0; index < DEVICES_MOST; index++) {
    struct device *device = &devices->list[index];
    if (device->name[0] == '\0')
      unused = unused ? unused : device;
    else if (strcmp(device->name, name) == 0)
      return device;
  }
  if (unused && name[0] != '\0' && strlen(name) < sizeof unused->name) {
    *unused = (struct device){.devices = devices};
    strcpy(unused->name, name);
    return unused;
  }
  return NULL;
}

/** Makes a number of what decides who can continue an offer: app, type, version, page, and whether it is public. */
static uint64_t kind_of(const segue_offer *offer) {
  static const text_getter getters[] = {segue_offer_get_bundle_identifier, segue_offer_get_type,
                                        segue_offer_get_web_origin};
  uint64_t kind = FIRST_HASH;
  uint32_t version = 0;
  bool is_public = false;
  for (size_t index = 0; index < sizeof getters / sizeof *getters; index++) {
    char *text = NULL;
    getters[index](offer, &text, NULL);
    kind = hash(hash(kind, text ? text : ""), "\n");
    segue_free(text);
  }
  segue_offer_get_payload_version(offer, &version);
  segue_offer_is_public(offer, &is_public);
  kind ^= (uint64_t)version << 1 | is_public;
  return kind != 0 ? kind : 1;
}

static void set_front(struct device *device, segue_offer *offer) {
  uint8_t id[SEGUE_ID_SIZE] = {0};
  if (offer && segue_offer_get_id(offer, id) == SEGUE_OK && segue_retain(offer) != SEGUE_OK)
    offer = NULL;
  segue_release(device->front);
  device->front = offer;
  if (memcmp(device->front_id, id, SEGUE_ID_SIZE) == 0)
    return;
  memcpy(device->front_id, id, SEGUE_ID_SIZE);
  device->kind = offer ? kind_of(offer) : 0;
  device->verdict = offer && device->kind == device->good_kind ? VERDICT_LIKELY : VERDICT_NONE;
}

/** Finds the frontmost offer of each device. */
static void list_offers(struct devices *devices) {
  size_t count = 0;
  segue_offer **found = calloc(OFFERS_MOST, sizeof *found);
  if (!found || segue_app_get_offers(devices->app, found, OFFERS_MOST, &count) != SEGUE_OK)
    count = 0;
  for (int index = 0; index < DEVICES_MOST; index++)
    devices->list[index].is_listed = false;
  for (size_t index = 0; index < count && index < OFFERS_MOST; index++) {
    char *name = NULL;
    struct device *device =
        segue_offer_get_device_name(found[index], &name, NULL) == SEGUE_OK ? find(devices, name) : NULL;
    if (device && !device->is_listed)
      set_front(device, found[index]);
    if (device)
      device->is_listed = true;
    segue_free(name);
    segue_release(found[index]);
  }
  free(found);
  for (int index = 0; index < DEVICES_MOST; index++)
    if (!devices->list[index].is_listed && devices->list[index].front)
      set_front(&devices->list[index], NULL);
}

/** Tells whether anything can come of a look. */
static bool has_reason(struct devices *devices) {
  if (devices->settings.notify == NOTIFY_ALWAYS || now_usec(devices) < devices->arriving_until)
    return true;
  for (int index = 0; index < DEVICES_MOST; index++)
    if (devices->list[index].name[0] != '\0')
      return true;
  return false;
}

static void look(struct devices *devices) {
  devices->looked_before = devices->looked_at;
  devices->looked_at = now_usec(devices);
  settings_read(&devices->settings);
  list_offers(devices);
  bool is_needed = devices->settings.notify == NOTIFY_ALWAYS || now_usec(devices) < devices->arriving_until;
  for (int index = 0; index < DEVICES_MOST; index++) {
    struct device *device = &devices->list[index];
    if (device->name[0] == '\0')
      continue;
    update(device);
    if (device->is_asking || device->is_showing || device->card != 0 || (is_needed && device->front))
      continue;
    set_front(device, NULL);
    device->name[0] = '\0';
  }
}

static int look_is_due(sd_event_source *source, uint64_t usec, void *context) {
  struct devices *devices = context;
  (void)usec;
  devices->timer = sd_event_source_disable_unref(source);
  look(devices);
  return 0;
}

/** Looks after a pause, or when that is due already. */
static void look_in(struct devices *devices, uint64_t usec) {
  if (!devices->timer)
    sd_event_add_time_relative(devices->loop, &devices->timer, CLOCK_MONOTONIC, usec, 1000, look_is_due, devices);
}

void devices_changed(struct devices *devices) {
  uint64_t now = now_usec(devices), next = devices->looked_before + LOOK_PAUSE;
  if (devices->timer || !has_reason(devices))
    return;
  if (devices->looked_at == 0 || now >= devices->looked_at + LOOK_PAUSE)
    look(devices);
  else
    // The end of an offer and the one that follows come one after the other. A click that has come goes first.
    look_in(devices, now + SETTLING < next ? next - now : SETTLING);
}

void devices_arrived(struct devices *devices) {
  devices->arriving_until = now_usec(devices) + ARRIVAL;
  devices->failures = 0;
  for (int index = 0; index < DEVICES_MOST; index++) {
    struct device *device = &devices->list[index];
    device->has_told = false;
    device->place = PLACE_UNKNOWN;
    device->verdict = VERDICT_NONE;
    device->good_kind = 0;
  }
  devices->timer = sd_event_source_disable_unref(devices->timer);
  if (!devices->notifier->is_known)
    notifier_ask(devices->notifier);
  look(devices);
}

void devices_locked(struct devices *devices) {
  for (int index = 0; index < DEVICES_MOST; index++)
    if (devices->list[index].name[0] != '\0')
      update(&devices->list[index]);
}

void devices_answered(struct device *device, const uint8_t *id, enum place place, enum verdict verdict, bool is_final) {
  struct devices *devices = device->devices;
  bool is_current = memcmp(id, device->front_id, SEGUE_ID_SIZE) == 0;
  device->is_asking = false;
  device->place = place;
  if (is_current && is_final) {
    device->verdict = verdict;
    device->good_kind = verdict == VERDICT_YES ? device->kind : 0;
  }
  if (is_final)
    devices->failures = 0;
  if (is_final && is_current)
    update(device);
  else if (is_final)
    devices_changed(devices);
  else if (devices->failures < RETRIES_MOST)
    look_in(devices, SECOND << devices->failures++);
}

/* Signals of the server. */

void devices_forget_cards(struct devices *devices) {
  for (int index = 0; index < DEVICES_MOST; index++) {
    devices->list[index].is_showing = false;
    forget_card(&devices->list[index]);
  }
}

static struct device *of_card(struct devices *devices, uint32_t id) {
  for (int index = 0; index < DEVICES_MOST; index++)
    if (id != 0 && devices->list[index].card == id)
      return &devices->list[index];
  return NULL;
}

bool devices_acted(struct devices *devices, uint32_t id, const char *token) {
  struct device *device = of_card(devices, id);
  if (!device)
    return false;
  launches_begin(devices->launches, device->card_offer, token);
  notifier_close_clicked(devices->notifier, id);
  forget_card(device);
  return true;
}

bool devices_closed(struct devices *devices, uint32_t id, uint32_t reason) {
  struct device *device = of_card(devices, id);
  if (!device)
    return false;
  if (reason == CLOSED_BY_USER)
    dismissed_add(&devices->dismissed, device->card_id);
  forget_card(device);
  return true;
}

void devices_end(struct devices *devices) {
  devices->timer = sd_event_source_disable_unref(devices->timer);
  for (int index = 0; index < DEVICES_MOST; index++) {
    close_card(&devices->list[index]);
    set_front(&devices->list[index], NULL);
  }
  free(devices->settings.text);
}
