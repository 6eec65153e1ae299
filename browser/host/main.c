/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * segue-browser-host: the app that a browser is for Segue. The browser starts it for the extension, one for each
 * profile, and speaks native messaging with it (browser/README.md). It ends when the browser closes its input, and
 * needs no clean-up.
 *
 *     segue-browser-host --manifest firefox|chromium     prints its entry for the browser
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "browsers.h"
#include "channel.h"
#include "confinement.h"
#include "frames.h"
#include "identity.h"
#include "manifest.h"
#include "openings.h"
#include "page.h"

/** The version of the messages between host and extension. */
#define PROTOCOL 1
/** Milliseconds for the last message to a browser that does not read. */
#define LAST_WORD_MS 1000

struct host {
  bool is_firefox;
  /** NULL until the extension has said hello */
  segue_app *app;
  segue_app_delegate *delegate;
  struct channel channel;
  struct frame_reader reader;
  struct page page;
  struct openings openings;
  /** set when the host has to end; the extension was told why */
  bool is_over;
};

/** Ends the host, and says why to the extension and on standard error. */
static void give_up(struct host *host, const char *reason) {
  if (host->is_over)
    return;
  host->is_over = true;
  fprintf(stderr, "segue-browser-host: %s\n", reason);
  channel_refuse(&host->channel, -1, reason);
}

static segue_status open_app(struct host *host, const struct browser *browser) {
  segue_status status = segue_app_create(browser->bundle_identifier, SEGUE_NUL_TERMINATED, &host->app);
  if (status == SEGUE_OK)
    status = segue_app_set_name(host->app, browser->name, SEGUE_NUL_TERMINATED);
  if (status == SEGUE_OK)
    status = segue_app_set_team_identifier(host->app, BROWSER_TEAM, SEGUE_NUL_TERMINATED);
  if (status == SEGUE_OK)
    status = segue_app_add_activity_type(host->app, BROWSING_TYPE, SEGUE_NUL_TERMINATED);
  /* A page is read when somebody continues it, not before (R12.5). */
  if (status == SEGUE_OK)
    status = segue_limit_set(SEGUE_LIMIT_SAVE_DELAY_MS, 0);
  if (status == SEGUE_OK)
    status = page_prepare(&host->page, &host->channel, host->app);
  if (status == SEGUE_OK)
    status = openings_prepare(&host->openings, &host->channel, host->app, &host->delegate);
  if (status == SEGUE_OK)
    status = segue_app_open(host->app);
  return status;
}

/** {"t": "hello"}: says which browser this is, and opens the app. */
static void greet(struct host *host, const segue_value *message) {
  int64_t version = 0;
  char *word = NULL, error[SEGUE_MESSAGE_SIZE];
  if (host->app) {
    give_up(host, "the extension has said hello twice");
    return;
  }
  if (segue_dictionary_get_int64(message, "v", SEGUE_NUL_TERMINATED, &version) != SEGUE_OK || version != PROTOCOL) {
    give_up(host, "the extension and segue-browser-host are of different versions: install both anew");
    return;
  }
  segue_dictionary_get_string(message, "browser", SEGUE_NUL_TERMINATED, &word, NULL);
  const struct browser *browser = word ? browser_named(word) : NULL;
  segue_free(word);
  if (!browser || browser->is_firefox != host->is_firefox) {
    give_up(host, "the extension names a browser that is not known, or not this one");
    return;
  }
  if (open_app(host, browser) != SEGUE_OK) {
    segue_last_error(error, sizeof error);
    give_up(host, error);
    return;
  }
  channel_begin(&host->channel, "welcome");
  channel_put_number(&host->channel, "v", PROTOCOL);
  channel_send(&host->channel);
}

static void handle(struct host *host, const char *kind, const segue_value *message) {
  if (strcmp(kind, "hello") == 0)
    greet(host, message);
  else if (!host->app)
    give_up(host, "the extension has not said hello");
  else if (strcmp(kind, "current") == 0)
    page_offer(&host->page, message);
  else if (strcmp(kind, "gone") == 0)
    page_withdraw(&host->page, message);
  else if (strcmp(kind, "state") == 0)
    page_take_state(&host->page, message);
  else if (strcmp(kind, "opened") == 0)
    openings_opened(&host->openings, message);
  else if (strcmp(kind, "deferred") == 0)
    openings_deferred(&host->openings, message);
  else if (strcmp(kind, "failed") == 0)
    openings_failed(&host->openings, message);
}

static bool take_frame(void *context, const char *json, size_t length) {
  struct host *host = context;
  segue_value *message = NULL;
  char *kind = NULL, error[SEGUE_MESSAGE_SIZE];
  if (segue_value_decode_json(json, length, SEGUE_JSON_PLAIN, &message) != SEGUE_OK) {
    segue_last_error(error, sizeof error);
    give_up(host, error);
  } else if (segue_dictionary_get_string(message, "t", SEGUE_NUL_TERMINATED, &kind, NULL) != SEGUE_OK) {
    give_up(host, "a message of the extension has no kind");
  } else {
    handle(host, kind, message);
  }
  segue_free(kind);
  segue_release(message);
  return !host->is_over;
}

/** Reads what the browser has written. Returns false at its end. */
static bool read_input(struct host *host) {
  unsigned char bytes[16384];
  ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
  if (count < 0)
    return errno == EINTR || errno == EAGAIN;
  if (count == 0)
    return false;
  frame_problem problem = frame_reader_take(&host->reader, bytes, (size_t)count, take_frame, host);
  if (problem)
    give_up(host, problem);
  return true;
}

/** Waits for what comes next, and handles it. Returns false when the host has to end. */
static bool turn(struct host *host) {
  struct pollfd polled[3] = {
      {STDIN_FILENO, POLLIN, 0},
      {frame_writer_is_empty(&host->channel.frames) ? -1 : STDOUT_FILENO, POLLOUT, 0},
      {-1, POLLIN, 0},
  };
  if (host->app)
    segue_app_fd(host->app, &polled[2].fd);
  if (poll(polled, 3, page_expire(&host->page)) < 0)
    return errno == EINTR;
  if (polled[1].revents != 0) {
    frame_problem problem = frame_writer_flush(&host->channel.frames);
    if (problem)
      return false;
  }
  if (polled[2].revents != 0)
    segue_app_dispatch(host->app, 0, NULL);
  if (polled[0].revents != 0 && !read_input(host))
    return false;
  if (host->channel.problem)
    give_up(host, host->channel.problem);
  if (confine_is_over())
    give_up(host, "the runtime folder was deleted");
  return !host->is_over;
}

/** Gives the browser a moment to read the last message. */
static void flush_last_word(struct host *host) {
  struct pollfd polled = {STDOUT_FILENO, POLLOUT, 0};
  while (!frame_writer_is_empty(&host->channel.frames) && poll(&polled, 1, LAST_WORD_MS) > 0)
    if (frame_writer_flush(&host->channel.frames) != NULL)
      return;
}

int main(int count, char **arguments) {
  static struct host host;
  if (count == 3 && strcmp(arguments[1], "--manifest") == 0) {
    if (manifest_print(arguments[2]))
      return 0;
    fprintf(stderr, "segue-browser-host: --manifest firefox, or --manifest chromium\n");
    return 2;
  }
  host.channel.frames.descriptor = STDOUT_FILENO;
  signal(SIGPIPE, SIG_IGN);
  fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
  const char *refused = NULL;
  if (!manifest_allows(count, arguments, &host.is_firefox))
    give_up(&host, "started by another program than a browser with the extension of Segue");
  else if ((refused = confine()) != NULL)
    give_up(&host, refused);
  while (!host.is_over && turn(&host))
    ;
  flush_last_word(&host);
  return host.is_over ? 1 : 0;
}
