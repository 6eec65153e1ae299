/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "dismissed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "folders.h"
#include "log.h"

/** Makes the path of the folder. Returns false if there is none. */
static bool folder_path(char *path) { return folder_find("XDG_STATE_HOME", ".local/state", "segue-desktop", path); }

static void add(struct dismissed *dismissed, const unsigned char *id) {
  memcpy(dismissed->ids[dismissed->next], id, SEGUE_ID_SIZE);
  dismissed->next = (dismissed->next + 1) % DISMISSED_MOST;
  if (dismissed->count < DISMISSED_MOST)
    dismissed->count++;
}

void dismissed_read(struct dismissed *dismissed) {
  char folder[PATH_MAX], path[PATH_MAX + 16];
  unsigned char ids[DISMISSED_MOST * SEGUE_ID_SIZE];
  if (!folder_path(folder))
    return;
  snprintf(path, sizeof path, "%s/dismissed", folder);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  ssize_t length = descriptor < 0 ? -1 : read(descriptor, ids, sizeof ids);
  if (length < 0 && errno != ENOENT)
    log_line("%s: %s", path, strerror(errno));
  if (descriptor >= 0)
    close(descriptor);
  for (ssize_t at = 0; at + SEGUE_ID_SIZE <= length; at += SEGUE_ID_SIZE)
    add(dismissed, ids + at);
}

bool dismissed_has(const struct dismissed *dismissed, const unsigned char *id) {
  for (size_t index = 0; index < dismissed->count; index++)
    if (memcmp(dismissed->ids[index], id, SEGUE_ID_SIZE) == 0)
      return true;
  return false;
}

/** Writes all, the oldest first, under a name of its own, and then renames the file. */
static bool write_file(const struct dismissed *dismissed) {
  char folder[PATH_MAX], path[PATH_MAX + 16], new[PATH_MAX + 16];
  unsigned char ids[DISMISSED_MOST * SEGUE_ID_SIZE];
  size_t first = dismissed->count < DISMISSED_MOST ? 0 : dismissed->next, size = dismissed->count * SEGUE_ID_SIZE;
  if (!folder_path(folder)) {
    errno = ENOENT;
    return false;
  }
  for (size_t index = 0; index < dismissed->count; index++)
    memcpy(ids + index * SEGUE_ID_SIZE, dismissed->ids[(first + index) % DISMISSED_MOST], SEGUE_ID_SIZE);
  snprintf(path, sizeof path, "%s/dismissed", folder);
  snprintf(new, sizeof new, "%s/dismissed.new", folder);
  int descriptor = folder_make(folder) ? open(new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
  if (descriptor < 0)
    return false;
  ssize_t written = write(descriptor, ids, size);
  if (written >= 0 && (size_t)written < size)
    errno = ENOSPC;
  bool is_good = written == (ssize_t)size;
  return close(descriptor) == 0 && is_good && rename(new, path) == 0;
}

void dismissed_add(struct dismissed *dismissed, const unsigned char *id) {
  if (dismissed_has(dismissed, id))
    return;
  add(dismissed, id);
  if (!write_file(dismissed))
    log_line("a notification that was closed may come again after the next start: %s", strerror(errno));
}
