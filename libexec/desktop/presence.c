/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "presence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define LOGIND "org.freedesktop.login1"
#define MANAGER_PATH "/org/freedesktop/login1"
#define MANAGER LOGIND ".Manager"
#define SESSION LOGIND ".Session"
#define USER LOGIND ".User"
#define PROPERTIES "org.freedesktop.DBus.Properties"
#define BUS "org.freedesktop.DBus"
/** Attempts to reach the system's bus, the last after a minute: some systems have none. */
#define ATTEMPTS_MOST 7

static void ask_state(struct presence *presence);
static int find_session(struct presence *presence);

/* The state of the session. */

struct state {
  bool is_locked, is_idle;
  uint64_t idle_since;
};

/** Reads the properties that count. */
static int read_state(sd_bus_message *message, struct state *state) {
  int result = sd_bus_message_enter_container(message, 'a', "{sv}");
  while (result >= 0 && (result = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
    const char *name;
    int flag = 0;
    result = sd_bus_message_read(message, "s", &name);
    if (result >= 0 && (strcmp(name, "LockedHint") == 0 || strcmp(name, "IdleHint") == 0)) {
      result = sd_bus_message_read(message, "v", "b", &flag);
      *(name[0] == 'L' ? &state->is_locked : &state->is_idle) = flag != 0;
    } else if (result >= 0 && strcmp(name, "IdleSinceHintMonotonic") == 0) {
      result = sd_bus_message_read(message, "v", "t", &state->idle_since);
    } else if (result >= 0) {
      result = sd_bus_message_skip(message, "v");
    }
    if (result >= 0)
      result = sd_bus_message_exit_container(message);
  }
  return result;
}

/** Takes a new state. Unlocking, waking up, and input after a while without are arrivals. */
static void take_state(struct presence *presence, const struct state *state) {
  bool was_known = presence->knowledge == SESSION_KNOWN, was_locked = presence->is_locked, was_idle = presence->is_idle;
  bool was_long = was_idle && now_usec() - presence->idle_since >= presence->settings->idle;
  bool has_arrived = (was_known && was_locked) || (was_known && was_long && !state->is_idle) || presence->has_woken;
  presence->knowledge = SESSION_KNOWN;
  presence->is_locked = state->is_locked;
  presence->is_idle = state->is_idle;
  if (state->is_idle && (!was_known || !was_idle))
    presence->idle_since = state->idle_since > 0 ? state->idle_since : now_usec();
  if (!was_known || was_locked != state->is_locked)
    presence->locked(presence->context);
  if (has_arrived && !state->is_locked) {
    presence->has_woken = false;
    if (presence->arrived)
      presence->arrived(presence->context);
  }
}

/** Notes that there is no session to know of. */
static int find_none(struct presence *presence) {
  presence->knowledge = SESSION_UNKNOWN;
  presence->locked(presence->context);
  return 0;
}

static int got_state(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct presence *presence = context;
  struct state state = {0};
  (void)error;
  presence->state_call = sd_bus_slot_unref(presence->state_call);
  if (sd_bus_message_is_method_error(message, NULL) || read_state(message, &state) < 0)
    return find_none(presence);
  bus_note_peer(message, presence->logind);
  take_state(presence, &state);
  if (presence->asks_again)
    ask_state(presence);
  return 0;
}

static void ask_state(struct presence *presence) {
  presence->asks_again = presence->state_call != NULL;
  if (presence->state_call || presence->session[0] == '\0')
    return;
  sd_bus_call_method_async(presence->bus.bus, &presence->state_call, LOGIND, presence->session, PROPERTIES, "GetAll",
                           got_state, presence, "s", SESSION);
}

/* A signal says that something may have changed; its content is not believed, but asked for. */

static int session_changed(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct presence *presence = context;
  (void)error;
  if (bus_is_from(message, presence->logind))
    ask_state(presence);
  return 0;
}

static int user_changed(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct presence *presence = context;
  (void)error;
  if (bus_is_from(message, presence->logind) && presence->knowledge != SESSION_KNOWN)
    find_session(presence);
  return 0;
}

static int prepare_for_sleep(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct presence *presence = context;
  int goes_to_sleep = 0;
  (void)error;
  if (!bus_is_from(message, presence->logind) || sd_bus_message_read(message, "b", &goes_to_sleep) < 0)
    return 0;
  presence->has_woken = !goes_to_sleep;
  if (!goes_to_sleep)
    ask_state(presence);
  return 0;
}

static int owner_changed(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct presence *presence = context;
  const char *name, *former, *owner;
  (void)error;
  if (!bus_is_from(message, BUS) || sd_bus_message_read(message, "sss", &name, &former, &owner) < 0 ||
      strcmp(name, LOGIND) != 0)
    return 0;
  presence->logind[0] = '\0';
  presence->knowledge = SESSION_UNKNOWN;
  if (owner[0] != '\0')
    find_session(presence);
  return 0;
}

/* The session: that of this process, or else the one that shows the user's desktop. */

static int use_session(struct presence *presence, const char *path) {
  /* The answer for a former session, which may be gone, says nothing about this one. */
  presence->state_call = sd_bus_slot_unref(presence->state_call);
  snprintf(presence->session, sizeof presence->session, "%s", path);
  presence->session_match = sd_bus_slot_unref(presence->session_match);
  int result = sd_bus_match_signal_async(presence->bus.bus, &presence->session_match, LOGIND, path, PROPERTIES,
                                         "PropertiesChanged", session_changed, NULL, presence);
  ask_state(presence);
  return result;
}

static int got_display(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct presence *presence = context;
  const char *id, *path;
  (void)error;
  if (sd_bus_message_is_method_error(message, NULL) || sd_bus_message_read(message, "v", "(so)", &id, &path) < 0)
    return find_none(presence);
  bus_note_peer(message, presence->logind);
  return id[0] != '\0' ? use_session(presence, path) : find_none(presence);
}

static int got_user(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct presence *presence = context;
  const char *path;
  (void)error;
  if (sd_bus_message_is_method_error(message, NULL) || sd_bus_message_read(message, "o", &path) < 0) {
    if (presence->arrived)
      log_line("no session of logind: nothing says when you arrive, so there are notifications only with `segue "
               "desktop --notify always`");
    return find_none(presence);
  }
  snprintf(presence->user, sizeof presence->user, "%s", path);
  presence->user_match = sd_bus_slot_unref(presence->user_match);
  sd_bus_match_signal_async(presence->bus.bus, &presence->user_match, LOGIND, path, PROPERTIES, "PropertiesChanged",
                            user_changed, NULL, presence);
  return sd_bus_call_method_async(presence->bus.bus, NULL, LOGIND, path, PROPERTIES, "Get", got_display, presence, "ss",
                                  USER, "Display");
}

static int ask_user(struct presence *presence) {
  return sd_bus_call_method_async(presence->bus.bus, NULL, LOGIND, MANAGER_PATH, MANAGER, "GetUser", got_user, presence,
                                  "u", (uint32_t)getuid());
}

static int got_session(sd_bus_message *message, void *context, sd_bus_error *error) {
  struct presence *presence = context;
  const char *path;
  (void)error;
  if (sd_bus_message_is_method_error(message, NULL) || sd_bus_message_read(message, "o", &path) < 0)
    return ask_user(presence);
  bus_note_peer(message, presence->logind);
  return use_session(presence, path);
}

static int find_session(struct presence *presence) {
  const char *id = getenv("XDG_SESSION_ID");
  presence->knowledge = SESSION_SOUGHT;
  if (!id || id[0] == '\0' || strlen(id) > 64)
    return ask_user(presence);
  return sd_bus_call_method_async(presence->bus.bus, NULL, LOGIND, MANAGER_PATH, MANAGER, "GetSession", got_session,
                                  presence, "s", id);
}

static int connected(void *context, sd_bus *bus) {
  struct presence *presence = context;
  /* logind may take any time: if it dies, the bus says so. */
  int result = sd_bus_set_method_call_timeout(bus, UINT64_MAX);
  if (result >= 0)
    result = sd_bus_match_signal_async(bus, NULL, LOGIND, MANAGER_PATH, MANAGER, "PrepareForSleep", prepare_for_sleep,
                                       NULL, presence);
  if (result >= 0)
    result = sd_bus_add_match_async(
        bus, NULL, "type='signal',sender='" BUS "',interface='" BUS "',member='NameOwnerChanged',arg0='" LOGIND "'",
        owner_changed, NULL, presence);
  return result < 0 ? result : find_session(presence);
}

static void lost(void *context) {
  struct presence *presence = context;
  presence->session_match = sd_bus_slot_unref(presence->session_match);
  presence->user_match = sd_bus_slot_unref(presence->user_match);
  presence->state_call = sd_bus_slot_unref(presence->state_call);
  presence->logind[0] = presence->session[0] = presence->user[0] = '\0';
  /* A session that was locked counts as locked until logind says otherwise. */
  presence->is_idle = false;
  bool was_sought = presence->knowledge == SESSION_SOUGHT;
  presence->knowledge = SESSION_UNKNOWN;
  if (was_sought)
    presence->locked(presence->context);
}

void presence_begin(struct presence *presence, sd_event *loop) {
  presence->bus = (struct bus){.name = "system bus",
                               .loop = loop,
                               .open = sd_bus_open_system,
                               .connected = connected,
                               .lost = lost,
                               .context = presence,
                               .attempts_most = ATTEMPTS_MOST};
  bus_begin(&presence->bus);
}

void presence_end(struct presence *presence) {
  presence->knowledge = SESSION_UNKNOWN;
  bus_end(&presence->bus);
}
