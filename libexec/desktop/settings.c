/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folders.h"
#include "log.h"

#define SECOND 1000000ull
#define IDLE_SECONDS 120
#define IDLE_SECONDS_MOST 86400

/** Reads a file. Returns its text, owned; NULL: see errno, 0 if there is none. */
static char *file_text(void) {
  char path[PATH_MAX];
  int descriptor = folder_find("XDG_CONFIG_HOME", ".config", "segue/desktop", path)
                       ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
                       : -1;
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      errno = 0;
    return NULL;
  }
  size_t length = 0;
  ssize_t count = 0;
  char *text = malloc(SETTINGS_MOST + 1);
  while (text && length <= SETTINGS_MOST && (count = read(descriptor, text + length, SETTINGS_MOST + 1 - length)) > 0)
    length += (size_t)count;
  int problem = !text ? ENOMEM : count < 0 ? errno : length > SETTINGS_MOST ? EFBIG : 0;
  close(descriptor);
  if (problem == 0 && memchr(text, '\0', length))
    problem = EILSEQ;
  if (problem != 0) {
    free(text);
    errno = problem;
    return NULL;
  }
  text[length] = '\0';
  return text;
}

/** Returns what follows a word and a blank; NULL: the line begins with another word. */
static const char *after(const char *line, const char *word) {
  size_t length = strlen(word);
  return strncmp(line, word, length) == 0 && line[length] == ' ' && line[length + 1] != '\0' ? line + length + 1 : NULL;
}

static bool take_off(struct settings *settings, const char *value) {
  static const char *const kinds[] = {"app", "type", "device"};
  for (size_t index = 0; index < 3 && settings->off_count < OFF_MOST; index++) {
    const char *name = after(value, kinds[index]);
    if (!name)
      continue;
    settings->off[settings->off_count++] = (struct off){kinds[index][0], name};
    return true;
  }
  return false;
}

/** Takes a line, which stays. Returns false if it is wrong. */
static bool take_line(struct settings *settings, const char *line) {
  static const char *const notify[] = {"arrival", "always", "never"};
  const char *value;
  if (line[0] == '\0' || line[0] == '#')
    return true;
  if ((value = after(line, "notify")))
    for (int index = 0; index < 3; index++)
      if (strcmp(value, notify[index]) == 0)
        return settings->notify = (enum notify)index, true;
  if ((value = after(line, "titles"))) {
    settings->hides_titles = strcmp(value, "hidden") == 0;
    return settings->hides_titles || strcmp(value, "shown") == 0;
  }
  if ((value = after(line, "idle"))) {
    char *end;
    unsigned long seconds = strtoul(value, &end, 10);
    settings->idle = seconds * SECOND;
    return value[0] >= '0' && value[0] <= '9' && *end == '\0' && seconds <= IDLE_SECONDS_MOST;
  }
  return (value = after(line, "off")) && take_off(settings, value);
}

void settings_read(struct settings *settings) {
  int problem = 0, number = 0;
  free(settings->text);
  settings->notify = NOTIFY_ARRIVAL;
  settings->hides_titles = false;
  settings->idle = IDLE_SECONDS * SECOND;
  settings->off_count = 0;
  errno = 0;
  settings->text = file_text();
  int refusal = settings->text ? 0 : errno;
  for (char *rest = settings->text, *line; problem == 0 && rest && (line = strsep(&rest, "\n"));) {
    number++;
    line[strcspn(line, "\r")] = '\0';
    if (!take_line(settings, line))
      problem = number;
  }
  if (refusal != 0)
    problem = -1;
  if (problem != 0)
    settings->notify = NOTIFY_NEVER;
  if (problem != settings->problem && problem > 0)
    log_line("settings, line %d: it is not understood, so there are no notifications", problem);
  else if (problem != settings->problem && problem < 0)
    log_line("settings: %s, so there are no notifications", strerror(refusal));
  settings->problem = problem;
}

bool settings_allow(const struct settings *settings, const char *app, const char *type, const char *device) {
  for (size_t index = 0; index < settings->off_count; index++) {
    const struct off *off = &settings->off[index];
    if (strcmp(off->name, off->kind == 'a' ? app : off->kind == 't' ? type : device) == 0)
      return false;
  }
  return true;
}
