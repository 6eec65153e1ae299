/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// The calls of libsystemd (sd-bus) that start a transient unit, and an app by the bus, without a program of ours being
// linked with it, or its headers being needed: `systemd_load` fills a table of its functions. No logic.
#pragma once
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_slot sd_bus_slot;
typedef struct sd_bus_message sd_bus_message;
/** The function that receives a message: its last parameter is an sd_bus_error, which nothing here sets. */
typedef int (*systemd_handler)(sd_bus_message *_Nullable message, void *_Nullable context, void *_Nullable error);

#define SYSTEMD_FUNCTIONS(DO)                                                                                          \
  DO(int, sd_bus_open_user, (sd_bus *_Nullable *_Nonnull bus))                                                         \
  DO(int, sd_bus_match_signal_async,                                                                                   \
     (sd_bus *_Nonnull bus, sd_bus_slot *_Nullable *_Nullable slot, const char *_Nullable sender,                      \
      const char *_Nullable path, const char *_Nullable interface, const char *_Nullable member,                       \
      systemd_handler _Nullable handler, systemd_handler _Nullable installed, void *_Nullable context))                \
  DO(int, sd_bus_message_new_method_call,                                                                              \
     (sd_bus *_Nonnull bus, sd_bus_message *_Nullable *_Nonnull message, const char *_Nullable destination,            \
      const char *_Nonnull path, const char *_Nullable interface, const char *_Nonnull member))                        \
  DO(int, sd_bus_message_set_auto_start, (sd_bus_message *_Nonnull message, int isStarted))                            \
  DO(int, sd_bus_message_append, (sd_bus_message *_Nonnull message, const char *_Nonnull types, ...))                  \
  DO(int, sd_bus_call_async,                                                                                           \
     (sd_bus *_Nonnull bus, sd_bus_slot *_Nullable *_Nullable slot, sd_bus_message *_Nonnull message,                  \
      systemd_handler _Nullable handler, void *_Nullable context, uint64_t microseconds))                              \
  DO(int, sd_bus_message_is_method_error, (sd_bus_message *_Nonnull message, const char *_Nullable name))              \
  DO(int, sd_bus_message_read_basic, (sd_bus_message *_Nonnull message, char type, void *_Nullable value))             \
  DO(int, sd_bus_is_ready, (sd_bus *_Nonnull bus))                                                                     \
  DO(int, sd_bus_send, (sd_bus *_Nonnull bus, sd_bus_message *_Nonnull message, uint64_t *_Nullable cookie))           \
  DO(int, sd_bus_flush, (sd_bus *_Nonnull bus))                                                                        \
  DO(int, sd_bus_process, (sd_bus *_Nonnull bus, sd_bus_message *_Nullable *_Nullable message))                        \
  DO(int, sd_bus_wait, (sd_bus *_Nonnull bus, uint64_t microseconds))

/** The functions, by their names. All are there after `systemd_load` has succeeded. */
struct systemd {
#define FIELD(result, name, parameters) result(*_Nonnull name) parameters;
  SYSTEMD_FUNCTIONS(FIELD)
#undef FIELD
};

/** Loads libsystemd.so.0, which is never unloaded. Returns 0 if it, or one of the functions, is missing. */
static inline int systemd_load(struct systemd *_Nonnull functions) {
  void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return 0;
#define FIND(result, name, parameters)                                                                                 \
  if (!(*(void **)&functions->name = dlsym(library, #name)))                                                           \
    return 0;
  SYSTEMD_FUNCTIONS(FIND)
#undef FIND
  return 1;
}

/**
 * Appends the parameters of StartTransientUnit for a scope in the slice of apps, with one process, that is forgotten
 * once it is empty, and that no manager is started for. Returns less than 0 if that fails.
 */
static inline int systemd_append_scope(const struct systemd *_Nonnull functions, sd_bus_message *_Nonnull message,
                                       const char *_Nonnull unit, uint32_t process) {
  int result = functions->sd_bus_message_set_auto_start(message, 0);
  if (result < 0)
    return result;
  return functions->sd_bus_message_append(message, "ssa(sv)a(sa(sv))", unit, "fail", 3, "PIDs", "au", 1, process,
                                          "Slice", "s", "app.slice", "CollectMode", "s", "inactive-or-failed", 0);
}

/** Appends the parameters of StartServiceByName. Returns less than 0 if that fails. */
static inline int systemd_append_name(const struct systemd *_Nonnull functions, sd_bus_message *_Nonnull message,
                                      const char *_Nonnull name) {
  return functions->sd_bus_message_append(message, "su", name, 0);
}

/**
 * Appends the parameter of org.freedesktop.Application.Activate: what the desktop tells. Returns less than 0 if that
 * fails.
 *   token, startup  of the user's click; empty: none
 */
static inline int systemd_append_click(const struct systemd *_Nonnull functions, sd_bus_message *_Nonnull message,
                                       const char *_Nonnull token, const char *_Nonnull startup) {
  return functions->sd_bus_message_append(message, "a{sv}", 2, "activation-token", "s", token, "desktop-startup-id",
                                          "s", startup);
}
