/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A connection to a message bus, which is made anew when the bus ends, with pauses that grow. */
#ifndef BUS_H
#define BUS_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

/** Seconds of the first pause, and of the longest. */
#define BUS_PAUSE 1
#define BUS_PAUSE_MOST 64
/** Microseconds for a peer to answer, if the call has no other limit; an answer for a notification is late then. */
#define ANSWER_USEC 5000000ull
/** Bytes of the unique name of a peer, NUL included. */
#define PEER_SIZE 64

struct bus {
  const char *name;
  sd_event *loop;
  int (*open)(sd_bus **bus);
  /** Subscribes and asks; runs for each connection. Returns a negative errno if it is of no use. */
  int (*connected)(void *context, sd_bus *bus);
  /** Everything that was known of peers is void. */
  void (*lost)(void *context);
  void *context;
  /** attempts after which it gives up; 0: never */
  unsigned attempts_most;
  /** NULL: not connected */
  sd_bus *bus;
  sd_event_source *timer;
  unsigned attempts;
};

/** Microseconds of CLOCK_MONOTONIC. */
uint64_t now_usec(void);
/** Begins to connect. The first members are set by the caller. */
void bus_begin(struct bus *bus);
void bus_end(struct bus *bus);
/** Tells whether a message is from this peer: anybody may send one to a connection, whatever it has subscribed to. */
bool bus_is_from(sd_bus_message *message, const char *peer);
/** Notes the unique name of the sender. */
void bus_note_peer(sd_bus_message *message, char *peer);

#endif
