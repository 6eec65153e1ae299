/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "log.h"

static void try_to_connect(struct bus *bus);

static int retry(sd_event_source *source, uint64_t usec, void *context) {
  struct bus *bus = context;
  (void)usec;
  bus->timer = sd_event_source_disable_unref(source);
  try_to_connect(bus);
  return 0;
}

static void drop(struct bus *bus) {
  if (bus->bus) {
    sd_bus_detach_event(bus->bus);
    bus->bus = sd_bus_close_unref(bus->bus);
    bus->lost(bus->context);
  }
}

/** Drops what there is, and tries again later. */
static void try_later(struct bus *bus, int problem) {
  uint64_t pause = BUS_PAUSE;
  for (unsigned count = 0; count < bus->attempts && pause < BUS_PAUSE_MOST; count++)
    pause *= 2;
  drop(bus);
  if (bus->attempts++ == 0)
    log_line("%s: %s", bus->name, strerror(-problem));
  if ((bus->attempts_most > 0 && bus->attempts >= bus->attempts_most) || bus->timer)
    return;
  sd_event_add_time_relative(bus->loop, &bus->timer, CLOCK_MONOTONIC, pause * 1000000, 0, retry, bus);
}

static int disconnected(sd_bus_message *message, void *context, sd_bus_error *error) {
  (void)error;
  /* The connection itself says so, and no peer of it can. */
  if (sd_bus_message_get_sender(message) && !bus_is_from(message, "org.freedesktop.DBus.Local"))
    return 0;
  try_later(context, -ECONNRESET);
  return 0;
}

static int ready(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct bus *bus = context;
  (void)error;
  if (!sd_bus_message_is_method_error(message, NULL))
    bus->attempts = 0;
  return 0;
}

static void try_to_connect(struct bus *bus) {
  int result = bus->open(&bus->bus);
  /* The end of the loop would close it, and what is still to be said would be lost. */
  if (result >= 0)
    result = sd_bus_set_close_on_exit(bus->bus, false);
  if (result >= 0)
    result = sd_bus_set_method_call_timeout(bus->bus, ANSWER_USEC);
  if (result >= 0)
    result = sd_bus_attach_event(bus->bus, bus->loop, SD_EVENT_PRIORITY_NORMAL);
  if (result >= 0)
    result = sd_bus_match_signal(bus->bus, NULL, NULL, "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local",
                                 "Disconnected", disconnected, bus);
  if (result >= 0)
    result = sd_bus_call_method_async(bus->bus, NULL, "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId",
                                      ready, bus, "");
  if (result >= 0)
    result = bus->connected(bus->context, bus->bus);
  if (result < 0)
    try_later(bus, result);
}

uint64_t now_usec(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

void bus_begin(struct bus *bus) { try_to_connect(bus); }

void bus_end(struct bus *bus) {
  bus->timer = sd_event_source_disable_unref(bus->timer);
  /* Without an answer to its greeting nothing was sent, and flushing would wait for that. */
  if (bus->bus && sd_bus_is_ready(bus->bus) > 0)
    sd_bus_flush(bus->bus);
  drop(bus);
}

bool bus_is_from(sd_bus_message *message, const char *peer) {
  const char *sender = sd_bus_message_get_sender(message);
  return sender && peer[0] != '\0' && strcmp(sender, peer) == 0;
}

void bus_note_peer(sd_bus_message *message, char *peer) {
  const char *sender = sd_bus_message_get_sender(message);
  snprintf(peer, PEER_SIZE, "%s", sender ? sender : "");
}
