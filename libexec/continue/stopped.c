/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "stopped.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/** Seconds of silence until the agent is looked at. */
#define SILENCE 2
/** The line in the description of an app that names the runtime folder. */
#define FOLDER "runtime folder: "

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static bool is_over;
static pthread_t looking;
static bool is_looking;

/** Writes the path of the file that the agent of an app has locked. */
static bool name_lock(const segue_app *app, char path[PATH_MAX]) {
  char *description = NULL;
  bool is_named = false;
  if (segue_app_describe(app, &description, NULL) != SEGUE_OK || !description)
    return false;
  for (char *line = description, *next; line && !is_named; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = '\0';
    line += strspn(line, " ");
    if (strncmp(line, FOLDER, strlen(FOLDER)) != 0)
      continue;
    const char *folder = line + strlen(FOLDER);
    int length = (int)strlen(folder);
    while (length > 0 && folder[length - 1] == '/')
      length--;
    is_named = snprintf(path, PATH_MAX, "%.*s-agent/lock", length, folder) < PATH_MAX;
  }
  segue_free(description);
  return is_named;
}

/** Returns the process that has the lock: the kernel says it, since any process may write into the file. */
static pid_t holder(const char *path) {
  struct flock held = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  int file = open(path, O_RDONLY | O_CLOEXEC);
  bool is_known = file >= 0 && fcntl(file, F_GETLK, &held) == 0 && held.l_type != F_UNLCK;
  if (file >= 0)
    close(file);
  return is_known ? held.l_pid : 0;
}

static bool is_stopped(pid_t process) {
  char path[64], line[512], state = '\0';
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  FILE *file = fopen(path, "re");
  bool is_read = file && fgets(line, sizeof line, file);
  if (file)
    fclose(file);
  const char *name = is_read ? strchr(line, '(') : NULL, *end = is_read ? strrchr(line, ')') : NULL;
  return name && end && strncmp(name, "(segue-agent)", (size_t)(end - name) + 1) == 0 &&
         sscanf(end + 1, " %c", &state) == 1 && (state == 'T' || state == 't');
}

static bool tell(const segue_app *app) {
  char path[PATH_MAX];
  pid_t process = name_lock(app, path) ? holder(path) : 0;
  if (process <= 0 || !is_stopped(process))
    return false;
  dprintf(STDERR_FILENO, "the agent, process %d, is stopped (Ctrl-Z, a debugger), and does not answer: kill -CONT %d\n",
          (int)process, (int)process);
  return true;
}

static void *look(void *app) {
  bool is_told = false;
  struct timespec until;
  pthread_mutex_lock(&lock);
  while (!is_over && !is_told) {
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SILENCE;
    pthread_cond_timedwait(&ended, &lock, &until);
    is_told = !is_over && tell(app);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

void stopped_begin(segue_app *app) { is_looking = pthread_create(&looking, NULL, look, app) == 0; }

void stopped_end(void) {
  if (!is_looking)
    return;
  pthread_mutex_lock(&lock);
  is_over = true;
  pthread_cond_signal(&ended);
  pthread_mutex_unlock(&lock);
  pthread_join(looking, NULL);
}
