/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "devices.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND 1000000ull
/** Microseconds in which what another device offers is notified: after a sleep its link comes a while later. */
#define ARRIVAL (30 * SECOND)
/** Microseconds in which it looks twice at most at what is offered. */
#define LOOK_PAUSE (1 * SECOND)
/** Microseconds before the second one. */
#define SETTLING 2000ull

uint64_t devices_now(const struct devices *devices) {
  uint64_t now = 0;
  sd_event_now(devices->loop, CLOCK_MONOTONIC, &now);
  return now;
}

/* The list. */

/** Makes a number of what decides who can continue an offer: app, type, version, page, and whether it is public. */
static uint64_t kind_of(const segue_offer *offer) {
  static segue_status (*const getters[])(const segue_offer *, char **, size_t *) = {
      segue_offer_get_bundle_identifier, segue_offer_get_type, segue_offer_get_web_origin};
  uint64_t kind = TEXT_FIRST_HASH;
  uint32_t version = 0;
  bool is_public = false;
  for (size_t index = 0; index < sizeof getters / sizeof *getters; index++) {
    char *text = NULL;
    getters[index](offer, &text, NULL);
    kind = text_hash(text_hash(kind, text ? text : ""), "\n");
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
  device->is_put_off = false;
  device->showing_again = sd_event_source_disable_unref(device->showing_again);
  device->kind = offer ? kind_of(offer) : 0;
  device->verdict = offer && device->kind == device->good_kind ? VERDICT_LIKELY : VERDICT_NONE;
}

static bool is_busy(const struct device *device) {
  return device->is_asking || device->is_showing || device->card.number != 0;
}

/** Makes an entry free. It is not busy. */
static void drop(struct device *device) {
  set_front(device, NULL);
  card_forget_late(device);
  device->name[0] = '\0';
}

/** Finds a device, or an entry for it: a free one, or that of a device that offers nothing. */
static struct device *find(struct devices *devices, const char *name) {
  struct device *unused = NULL;
  for (int index = 0; index < DEVICES_MOST; index++) {
    struct device *device = &devices->list[index];
    bool is_free = device->name[0] == '\0';
    if (!is_free && strcmp(device->name, name) == 0)
      return device;
    if (is_free || (!unused && !device->front && !is_busy(device)))
      unused = device;
  }
  if (!unused || name[0] == '\0' || strlen(name) >= sizeof unused->name)
    return NULL;
  if (unused->name[0] != '\0')
    drop(unused);
  *unused = (struct device){.devices = devices};
  strcpy(unused->name, name);
  return unused;
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
  if (devices->settings.notify == NOTIFY_ALWAYS || devices_now(devices) < devices->arriving_until)
    return true;
  for (int index = 0; index < DEVICES_MOST; index++)
    if (devices->list[index].name[0] != '\0')
      return true;
  return false;
}

static void look(struct devices *devices) {
  devices->looked_before = devices->looked_at;
  devices->looked_at = devices_now(devices);
  settings_read(&devices->settings);
  list_offers(devices);
  bool is_needed = devices->settings.notify == NOTIFY_ALWAYS || devices_now(devices) < devices->arriving_until;
  for (int index = 0; index < DEVICES_MOST; index++) {
    struct device *device = &devices->list[index];
    if (device->name[0] == '\0')
      continue;
    card_update(device);
    /* One that offers nothing may offer again what was notified, or refused. */
    bool is_kept = is_needed && (device->front || device->told_count > 0 || device->refusals > 0);
    if (!is_busy(device) && !is_kept)
      drop(device);
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
  uint64_t now = devices_now(devices), next = devices->looked_before + LOOK_PAUSE;
  if (devices->timer || !has_reason(devices))
    return;
  if (devices->looked_at == 0 || now >= devices->looked_at + LOOK_PAUSE)
    look(devices);
  else
    /* The end of an offer may come right before the next offer: one look is for both. During the pause the loop reads a
     * click that has come already. */
    look_in(devices, now + SETTLING < next ? next - now : SETTLING);
}

void devices_arrived(struct devices *devices) {
  devices->arriving_until = devices_now(devices) + ARRIVAL;
  devices->failures = 0;
  for (int index = 0; index < DEVICES_MOST; index++) {
    struct device *device = &devices->list[index];
    card_arrived(device);
    device->is_put_off = false;
    device->place = PLACE_UNKNOWN;
    device->verdict = VERDICT_NONE;
    device->good_kind = 0;
  }
  devices->timer = sd_event_source_disable_unref(devices->timer);
  devices->retry = sd_event_source_disable_unref(devices->retry);
  if (!devices->notifier->is_known)
    notifier_ask(devices->notifier);
  look(devices);
}

void devices_locked(struct devices *devices) {
  for (int index = 0; index < DEVICES_MOST; index++)
    if (devices->list[index].name[0] != '\0')
      card_update(&devices->list[index]);
}

/** Asks those again for which the agent could not answer. */
static int retry_is_due(sd_event_source *source, uint64_t usec, void *context) {
  struct devices *devices = context;
  (void)usec;
  devices->retry = sd_event_source_disable_unref(source);
  for (int index = 0; index < DEVICES_MOST; index++)
    devices->list[index].is_put_off = false;
  devices_changed(devices);
  return 0;
}

/** Asks about a device later, or at the next arrival if it was asked often enough; others are asked meanwhile. */
static void put_off(struct device *device) {
  struct devices *devices = device->devices;
  if (!devices->retry && devices->failures < RETRIES_MOST)
    sd_event_add_time_relative(devices->loop, &devices->retry, CLOCK_MONOTONIC, SECOND << devices->failures++, 1000,
                               retry_is_due, devices);
  device->is_put_off = true;
}

void devices_answered(struct device *device, const uint8_t *id, enum place place, enum verdict verdict, bool is_final) {
  bool is_current = memcmp(id, device->front_id, SEGUE_ID_SIZE) == 0;
  device->is_asking = false;
  device->place = place;
  if (is_current && is_final) {
    device->verdict = verdict;
    device->good_kind = verdict == VERDICT_YES ? device->kind : 0;
  }
  if (is_final)
    device->devices->failures = 0;
  if (is_current && !is_final)
    put_off(device);
  else
    card_update(device);
}

void devices_end(struct devices *devices) {
  devices->timer = sd_event_source_disable_unref(devices->timer);
  devices->retry = sd_event_source_disable_unref(devices->retry);
  cards_end(devices);
  for (int index = 0; index < DEVICES_MOST; index++)
    set_front(&devices->list[index], NULL);
  free(devices->settings.text);
}
