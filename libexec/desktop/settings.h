/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The user's settings: lines of $XDG_CONFIG_HOME/segue/desktop, which `segue desktop` writes (docs/desktop.md). */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of the file that are read; a longer one counts as wrong. */
#define SETTINGS_MOST 65536
/** Lines that switch something off. */
#define OFF_MOST 256

enum notify { NOTIFY_ARRIVAL, NOTIFY_ALWAYS, NOTIFY_NEVER };

struct off {
  /** 'a', 't' or 'd': app, type or device */
  char kind;
  const char *name;
};

struct settings {
  enum notify notify;
  bool hides_titles;
  /** microseconds without input after which the next one counts as an arrival */
  uint64_t idle;
  struct off off[OFF_MOST];
  size_t off_count;
  /** owned: the file, into which `off` points */
  char *text;
  /** the last problem that was logged: a line of the file, -1 for the whole file; 0: none */
  int problem;
};

/** Reads the file anew. Nothing is notified while a line of it is wrong, as it may be one that switches off. */
void settings_read(struct settings *settings);
/** Tells whether notifications about this app, type and device are wanted. */
bool settings_allow(const struct settings *settings, const char *app, const char *type, const char *device);

#endif
