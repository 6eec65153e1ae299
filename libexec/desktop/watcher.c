/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "watcher.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "app_id.h"
#include "log.h"
#include "worker.h"

/** Milliseconds of one request: the longest that the agent takes. */
#define WAIT_MS 600000
/** Seconds of the first pause after a refusal, and of the longest. */
#define PAUSE 1
#define PAUSE_MOST 512
/** The agent gives no state this number: a request for the state after it is answered at once. */
#define BEFORE_ALL 1

/** Asks for the state after a change. Returns the answer, owned, and its number. */
static segue_status ask(struct watcher *watcher, const char *request, int64_t *change, segue_value **answer) {
  segue_writer *writer = NULL;
  segue_value *options = NULL;
  segue_status status = segue_writer_create(&writer);
  if (status != SEGUE_OK)
    return status;
  segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
  segue_writer_put_string(writer, "after", SEGUE_NUL_TERMINATED);
  segue_writer_put_int64(writer, *change);
  segue_writer_end(writer);
  segue_writer_finish(writer, &options);
  segue_release(writer);
  status = segue_app_ask_agent(watcher->app, request, SEGUE_NUL_TERMINATED, options, WAIT_MS, answer);
  segue_release(options);
  if (status == SEGUE_OK)
    status = segue_dictionary_get_int64(*answer, "change", SEGUE_NUL_TERMINATED, change);
  return status;
}

/** Hands an answer to the loop. answer  owned by the watcher from now on */
static void publish(struct watcher *watcher, segue_value *answer) {
  const uint64_t one = 1;
  pthread_mutex_lock(&watcher->mutex);
  segue_release(watcher->answer);
  watcher->answer = answer;
  pthread_mutex_unlock(&watcher->mutex);
  if (write(watcher->descriptor, &one, sizeof one) < 0)
    log_line("a push is not shown: %s", strerror(errno));
}

/** Waits until the device is in an account: before that nothing is pushed. */
static segue_status await_account(struct watcher *watcher, int64_t *change) {
  segue_value *answer = NULL;
  segue_status status = ask(watcher, "account", change, &answer);
  segue_release(answer);
  return status;
}

/** Waits for the hub to move, or for some seconds; 0: for the hub alone. Returns false at the end. */
static bool pause_for(struct watcher *watcher, unsigned seconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += seconds;
  pthread_mutex_lock(&watcher->mutex);
  int result = 0;
  while (!watcher->is_ending && !watcher->is_called && result != ETIMEDOUT)
    result = seconds == 0 ? pthread_cond_wait(&watcher->changed, &watcher->mutex)
                          : pthread_cond_timedwait(&watcher->changed, &watcher->mutex, &until);
  watcher->is_called = false;
  bool goes_on = !watcher->is_ending;
  pthread_mutex_unlock(&watcher->mutex);
  return goes_on;
}

static bool is_ending(struct watcher *watcher) {
  pthread_mutex_lock(&watcher->mutex);
  bool is_ending = watcher->is_ending;
  pthread_mutex_unlock(&watcher->mutex);
  return is_ending;
}

static void *watch(void *context) {
  struct watcher *watcher = context;
  int64_t change = BEFORE_ALL, account = 0;
  unsigned pause = PAUSE;
  while (!is_ending(watcher)) {
    segue_value *answer = NULL;
    segue_status status = ask(watcher, "pushes", &change, &answer);
    if (status == SEGUE_OK) {
      publish(watcher, answer);
      pause = PAUSE;
      continue;
    }
    segue_release(answer);
    change = BEFORE_ALL;
    if (status == SEGUE_ERROR_NOT_FOUND && (status = await_account(watcher, &account)) == SEGUE_OK)
      continue;
    /* An agent that is too old, or not there, comes with a hub that moves. */
    bool is_absent = status == SEGUE_ERROR_CONNECTION_UNAVAILABLE || status == SEGUE_ERROR_UNSUPPORTED_VERSION;
    if (!pause_for(watcher, is_absent ? 0 : pause))
      return NULL;
    pause = pause < PAUSE_MOST ? 2 * pause : PAUSE_MOST;
  }
  return NULL;
}

static int take(sd_event_source *source, int descriptor, uint32_t events, void *context) {
  struct watcher *watcher = context;
  uint64_t count;
  (void)source, (void)events;
  if (read(descriptor, &count, sizeof count) < 0)
    return 0;
  pthread_mutex_lock(&watcher->mutex);
  segue_value *answer = watcher->answer;
  watcher->answer = NULL;
  pthread_mutex_unlock(&watcher->mutex);
  if (answer && watcher->runs)
    watcher->take(watcher->context, answer);
  segue_release(answer);
  return 0;
}

int watcher_prepare(struct watcher *watcher, sd_event *loop) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&watcher->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&watcher->mutex, NULL);
  watcher->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (watcher->descriptor < 0)
    return -errno;
  return sd_event_add_io(loop, &watcher->source, watcher->descriptor, EPOLLIN, take, watcher);
}

void watcher_begin(struct watcher *watcher) {
  char error[SEGUE_MESSAGE_SIZE];
  if (watcher->runs)
    return;
  watcher->is_ending = watcher->is_called = false;
  if (segue_app_create(APP_ID ".Pushes", SEGUE_NUL_TERMINATED, &watcher->app) == SEGUE_OK &&
      segue_app_set_name(watcher->app, "Segue", SEGUE_NUL_TERMINATED) == SEGUE_OK &&
      segue_app_open(watcher->app) == SEGUE_OK) {
    watcher->runs = thread_begin(&watcher->thread, watch, watcher) == 0;
  } else {
    segue_last_error(error, sizeof error);
    log_line("pushes: %s", error);
  }
  if (!watcher->runs) {
    segue_release(watcher->app);
    watcher->app = NULL;
  }
}

void watcher_call(struct watcher *watcher) {
  pthread_mutex_lock(&watcher->mutex);
  watcher->is_called = true;
  pthread_cond_signal(&watcher->changed);
  pthread_mutex_unlock(&watcher->mutex);
}

void watcher_end(struct watcher *watcher) {
  if (!watcher->runs)
    return;
  pthread_mutex_lock(&watcher->mutex);
  watcher->is_ending = true;
  pthread_cond_signal(&watcher->changed);
  pthread_mutex_unlock(&watcher->mutex);
  segue_app_close(watcher->app);
  pthread_join(watcher->thread, NULL);
  watcher->runs = false;
  segue_release(watcher->app);
  segue_release(watcher->answer);
  watcher->app = NULL;
  watcher->answer = NULL;
}
