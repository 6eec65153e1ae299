/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The devices that offer something, and the notification of each about its frontmost offer. */
#ifndef DEVICES_H
#define DEVICES_H

#include <segue.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "dismissed.h"
#include "launches.h"
#include "notifier.h"
#include "presence.h"
#include "settings.h"
#include "worker.h"

/** Devices that are followed; what further ones offer is not notified. */
#define DEVICES_MOST 32
/** Offers that are looked at, the frontmost of all devices first. */
#define OFFERS_MOST 1024
/** Bytes of the name of a device, NUL included. */
#define DEVICE_NAME_SIZE 256

enum place { PLACE_UNKNOWN, PLACE_HERE, PLACE_ELSEWHERE };
/** LIKELY: it is of the kind of a former one that can be continued; the agent is asked while it is shown. */
enum verdict { VERDICT_NONE, VERDICT_LIKELY, VERDICT_YES, VERDICT_NO };

struct device {
  struct devices *devices;
  /** as offers have it; empty: this entry is free */
  char name[DEVICE_NAME_SIZE];
  bool is_listed;
  enum place place;
  /** retained: the frontmost offer; NULL: none */
  segue_offer *front;
  uint8_t front_id[SEGUE_ID_SIZE];
  /** whether something here can continue it */
  enum verdict verdict;
  /** what the answer depends on, of the frontmost offer, and of the last one that can be continued; 0: none */
  uint64_t kind, good_kind;
  bool is_asking, is_showing;
  /** the notification that is shown; 0: none. Its offer, retained, and what it says */
  uint32_t card;
  segue_offer *card_offer;
  uint8_t card_id[SEGUE_ID_SIZE];
  uint64_t card_words;
  /** the activity that was notified last since the user has arrived */
  bool has_told;
  uint8_t told_id[SEGUE_ID_SIZE];
};

struct devices {
  segue_app *app;
  sd_event *loop;
  struct notifier *notifier;
  struct presence *presence;
  struct launches *launches;
  struct worker *worker;
  struct settings settings;
  struct dismissed dismissed;
  struct device list[DEVICES_MOST];
  /** microseconds of CLOCK_MONOTONIC: until then the user counts as arriving */
  uint64_t arriving_until;
  /** microseconds of CLOCK_MONOTONIC at the last look, and at the one before it; 0: none */
  uint64_t looked_at, looked_before;
  /** set while a look is due */
  sd_event_source *timer;
  unsigned failures;
};

/** Something is offered, or no longer. Looks at once, and at most twice a second. */
void devices_changed(struct devices *devices);
/** The user arrives. */
void devices_arrived(struct devices *devices);
/** The session was locked or unlocked. */
void devices_locked(struct devices *devices);
/** The notification server shows nothing of before. */
void devices_forget_cards(struct devices *devices);
/** Each returns false if the notification is of somebody else. */
bool devices_acted(struct devices *devices, uint32_t id, const char *token);
bool devices_closed(struct devices *devices, uint32_t id, uint32_t reason);
void devices_end(struct devices *devices);

/** Begins to ask the agent where a device is, and whether something here can continue its frontmost offer. */
bool questions_ask(struct device *device);
/** Takes the answer. is_final  false: the agent could not answer now */
void devices_answered(struct device *device, const uint8_t *id, enum place place, enum verdict verdict, bool is_final);

#endif
