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
/** Pauses after which the agent or the server is asked again if it refuses: 1 s, and each is twice as long. */
#define RETRIES_MOST 5
/** Offers that are looked at, the frontmost of all devices first. */
#define OFFERS_MOST 1024
/** Bytes of the name of a device, NUL included. */
#define DEVICE_NAME_SIZE 256
/** Activities of a device that are remembered as notified since the user has arrived. */
#define TOLD_MOST 8
/** Notifications that were closed here last, and are remembered for what the user did with them. */
#define ENDED_MOST DEVICES_MOST

enum place { PLACE_UNKNOWN, PLACE_HERE, PLACE_ELSEWHERE };
/** LIKELY: it is of the kind of a former one that can be continued; the agent is asked while it is shown. */
enum verdict { VERDICT_NONE, VERDICT_LIKELY, VERDICT_YES, VERDICT_NO };

/** The words of a notification of a device, and the offer that a click continues. */
struct card {
  /** 0: it is not shown, or not yet */
  uint32_t number;
  /** retained; NULL: none, or it was clicked */
  segue_offer *offer;
  uint8_t id[SEGUE_ID_SIZE];
  uint64_t words;
};

/** A notification that was closed here, until the server says so; what the user did with it may be on its way. */
struct ended_card {
  uint32_t number;
  uint8_t id[SEGUE_ID_SIZE];
  /** microseconds of CLOCK_MONOTONIC */
  uint64_t until;
  segue_offer *offer;
};

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
  /** the agent could not answer: it is asked when `retry` is due */
  bool is_put_off;
  /** set while the server, which has not shown the frontmost offer, is to be asked again, and how often in turn it has
   * shown nothing of this device */
  sd_event_source *showing_again;
  unsigned refusals;
  /** the notification that is shown, the one that the server was asked for, and the last one given up */
  struct card card, coming, late;
  /** the number of one that was closed while the server was asked to replace it; 0: none */
  uint32_t closed;
  /** microseconds of CLOCK_MONOTONIC at which the server was asked last */
  uint64_t asked_at;
  /** the activities that were notified last since the user has arrived, and how many there were in all. One that the
   * server has refused often enough is among them */
  uint8_t told[TOLD_MOST][SEGUE_ID_SIZE];
  unsigned told_count;
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
  /** set while a look is due, and while the agent is to be asked again */
  sd_event_source *timer, *retry;
  unsigned failures;
  struct ended_card ended[ENDED_MOST];
  size_t next_ended;
};

/** Microseconds of CLOCK_MONOTONIC. */
uint64_t devices_now(const struct devices *devices);

/** Something is offered, or no longer. Looks at once, and at most twice a second. */
void devices_changed(struct devices *devices);
/** The user arrives. */
void devices_arrived(struct devices *devices);
/** The session was locked or unlocked. */
void devices_locked(struct devices *devices);
void devices_end(struct devices *devices);

/* Their notifications (cards.c). */

/** Brings the notification of a device up to date. What is on its way comes here again. */
void card_update(struct device *device);
/** Forgets one that was given up. No other one is on its way. */
void card_forget_late(struct device *device);
/** Forgets what was notified: the user arrives. */
void card_arrived(struct device *device);
/** The notification server has lost its name: closes and forgets what it shows. */
void cards_forget(struct devices *devices);
/** Each returns false if the notification is of somebody else. */
bool cards_acted(struct devices *devices, uint32_t id, const char *action, const char *token);
bool cards_closed(struct devices *devices, uint32_t id, uint32_t reason);
/** The same for those that were closed here. Nobody else may know the number: it may have been given again. */
bool cards_acted_late(struct devices *devices, uint32_t id, const char *action, const char *token);
bool cards_closed_late(struct devices *devices, uint32_t id, uint32_t reason);
void cards_end(struct devices *devices);

/** Begins to ask the agent where a device is, and whether something here can continue its frontmost offer. */
bool questions_ask(struct device *device);
/** Takes the answer. is_final  false: the agent could not answer now */
void devices_answered(struct device *device, const uint8_t *id, enum place place, enum verdict verdict, bool is_final);

#endif
