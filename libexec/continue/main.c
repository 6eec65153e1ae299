/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * segue-continue: `segue continue --app BUNDLE` and `--launch`, which continue the frontmost offer in another app, and
 * `--frontmost`, which continues that of another device. The user waits for a window or a page, and Python takes longer
 * to start than a browser to begin one.
 *
 *     segue-continue COMMAND... -- continue WORD...
 *
 * COMMAND is `segue` in Python. It takes over what cannot be done at once, and all for which it alone has words:
 * SEGUE_CONTINUED in its environment is empty if nothing was done, {} if it was only said what is continued, else
 * {"result"} or {"status", "message"} as JSON.
 */
#include <fcntl.h>
#include <segue.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "asking.h"
#include "requests.h"
#include "stopped.h"

#define NUL SEGUE_NUL_TERMINATED
/** The app that the command is. */
#define IDENTIFIER "segue.command"
#define NAME "segue command line"
/** Milliseconds to find the hub. */
#define PATIENCE_MS 2000
/** Offers of which the first of another device is looked for: the command looks at all. */
#define OFFERS_MOST 64
/** Columns that the command shows of a name. */
#define NAME_MOST 64
/** Stands for how it ended if there is no memory for that: the command must not try again. */
#define UNKNOWN "{\"status\":13,\"message\":\"no memory\"}"

struct continuing {
  /** to run in place of this program */
  char **command;
  /** NULL: whichever fits */
  const char *bundle;
  /** another device offers it */
  bool is_elsewhere;
  segue_app *app;
  segue_offer *offer;
};

/** Becomes the command in Python, which goes on from what was done. */
static _Noreturn void leave(struct continuing *self, const char *done) {
  if (self->app)
    segue_app_close(self->app);
  setenv("SEGUE_CONTINUED", done, true);
  execvp(self->command[0], self->command);
  perror("segue: the command cannot be started");
  exit(1);
}

/** Reads the words behind `continue`. Returns whether they are understood here. */
static bool choose(struct continuing *self, int count, char **words) {
  if (count < 2 || strcmp(words[0], "continue") != 0)
    return false;
  self->is_elsewhere = count == 2 && strcmp(words[1], "--frontmost") == 0;
  if (self->is_elsewhere || (count == 2 && strcmp(words[1], "--launch") == 0))
    return true;
  if (count == 3 && strcmp(words[1], "--app") == 0)
    self->bundle = words[2];
  else if (count == 2 && strncmp(words[1], "--app=", 6) == 0)
    self->bundle = words[1] + 6;
  return self->bundle && self->bundle[0] != '\0' && self->bundle[0] != '-';
}

/** Tells whether all that happens is what is expected: nobody wants a log, another library, or to see nothing. */
static bool is_usual(void) {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
    if (fcntl(descriptor, F_GETFD) < 0)
      return false;
  return !getenv("SEGUE_LOG") && !getenv("SEGUE_LIBRARY");
}

/** Lets segue_app_dispatch return. */
static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)context, (void)app, (void)connection;
}

static int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/** Opens the app, and waits until it knows what is offered. */
static bool is_ready(struct continuing *self) {
  segue_app_delegate *delegate = NULL;
  segue_connection connection = 0;
  if (segue_app_create(IDENTIFIER, NUL, &self->app) != SEGUE_OK ||
      segue_app_delegate_create(NULL, NULL, &delegate) != SEGUE_OK)
    return false;
  segue_app_set_name(self->app, NAME, NUL);
  segue_app_set_chooser(self->app, true);
  segue_app_delegate_on_connection(delegate, on_connection);
  segue_app_set_delegate(self->app, delegate);
  if (segue_app_open(self->app) != SEGUE_OK)
    return false;
  for (int64_t end = now_ms() + PATIENCE_MS;;) {
    segue_app_get_connection(self->app, &connection, NULL, NULL, NULL);
    int64_t left = end - now_ms();
    if (connection == SEGUE_CONNECTION_READY || left <= 0)
      return connection == SEGUE_CONNECTION_READY;
    segue_app_dispatch(self->app, (int32_t)left, NULL);
  }
}

/** Gets the frontmost offer, or that of another device. Returns false if there is none, or that is not known. */
static bool find_offer(struct continuing *self) {
  static segue_offer *offers[OFFERS_MOST];
  segue_value *account = NULL;
  size_t found = 0;
  if (segue_app_get_offers(self->app, offers, self->is_elsewhere ? OFFERS_MOST : 1, &found) != SEGUE_OK)
    return false;
  if (!self->is_elsewhere)
    self->offer = offers[0];
  else if (asking_account(self->app, &account) != SEGUE_OK)
    return false;
  for (size_t index = 0; !self->offer && index < found && index < OFFERS_MOST; index++) {
    char *device = NULL;
    if (segue_offer_get_device_name(offers[index], &device, NULL) == SEGUE_OK && !asking_is_here(account, device))
      self->offer = offers[index];
    segue_free(device);
  }
  segue_release(account);
  return self->offer;
}

/** Asks the agent which app would continue the offer. Returns whether it is surely not the one that offers it. */
static bool has_receiver(struct continuing *self) {
  segue_value *options = NULL, *route = NULL, *against = NULL;
  uint8_t id[SEGUE_ID_SIZE];
  char *role = NULL;
  size_t count = 1;
  if (segue_offer_get_id(self->offer, id) == SEGUE_OK && (options = activity_options(id)) &&
      segue_app_ask_agent(self->app, "route", NUL, options, 0, &route) == SEGUE_OK &&
      segue_value_find_value(route, "candidates/0/against", NUL, &against) == SEGUE_OK &&
      segue_value_get_count(against, &count) == SEGUE_OK)
    segue_value_find_string(route, "candidates/0/role", NUL, &role, NULL);
  /* A program that opens any file is a candidate for what this device itself offers, too (R13.7). */
  bool is_another = count == 0 && role && strcmp(role, "opener") != 0 && strcmp(role, "default application") != 0;
  segue_free(role);
  return is_another;
}

/** Tells whether the offer is surely not that of the app which is to continue it. */
static bool fits(struct continuing *self) {
  char *origin = NULL;
  if (self->is_elsewhere)
    return true;
  if (!self->bundle)
    return has_receiver(self);
  segue_offer_get_bundle_identifier(self->offer, &origin, NULL);
  bool is_another = origin && strcmp(origin, self->bundle) != 0;
  segue_free(origin);
  return is_another;
}

/** Tells whether a name is shown as it is: one column a byte, no escape. The command knows what becomes of others. */
static bool is_plain(const char *name) {
  size_t length = 0;
  for (; name[length] != '\0'; length++)
    if (name[length] < ' ' || name[length] > '~' || name[length] == '\\')
      return false;
  return length <= NAME_MOST;
}

/** Says what is continued. Returns false if that takes more than is known here, or cannot be written. */
static bool say_what(const struct continuing *self) {
  char *type = NULL, *app = NULL, *device = NULL;
  segue_offer_get_type(self->offer, &type, NULL);
  segue_offer_get_app_name(self->offer, &app, NULL);
  segue_offer_get_device_name(self->offer, &device, NULL);
  bool is_said = type && app && device && is_plain(type) && is_plain(app) && is_plain(device) &&
                 dprintf(STDERR_FILENO, "continuing %s from %s on %s\n", type, app, device) > 0;
  segue_free(type);
  segue_free(app);
  segue_free(device);
  return is_said;
}

/** Says how it ended, if the app has restored it and no more is to be said. Returns whether it was said. */
static bool say_restored(const segue_value *result) {
  int64_t outcome = 0;
  bool is_stale = false;
  char *name = NULL, *message = NULL;
  segue_value_find_int64(result, "outcome", NUL, &outcome);
  segue_value_find_bool(result, "stale", NUL, &is_stale);
  segue_value_find_string(result, "app_name", NUL, &name, NULL);
  segue_value_find_string(result, "message", NUL, &message, NULL);
  return outcome == SEGUE_OUTCOME_RESTORED && !is_stale && name && is_plain(name) && message && message[0] == '\0' &&
         printf("%s: restored\n", name) > 0 && fflush(stdout) == 0;
}

/** Returns how it ended, for the command. */
static const char *ending(segue_status status, const segue_value *result) {
  segue_writer *writer = NULL;
  segue_value *value = NULL;
  char message[SEGUE_MESSAGE_SIZE], *json = NULL;
  segue_last_error(message, sizeof message);
  if (segue_writer_create(&writer) != SEGUE_OK)
    return UNKNOWN;
  segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
  if (result) {
    segue_writer_put_string(writer, "result", NUL);
    segue_writer_put_value(writer, result);
  } else {
    segue_writer_put_string(writer, "status", NUL);
    segue_writer_put_int64(writer, status);
    segue_writer_put_string(writer, "message", NUL);
    segue_writer_put_string(writer, message, NUL);
  }
  segue_writer_end(writer);
  if (segue_writer_finish(writer, &value) == SEGUE_OK)
    segue_value_encode_json(value, SEGUE_JSON_TAGGED, &json, NULL);
  return json ? json : UNKNOWN;
}

int main(int count, char **arguments) {
  static struct continuing self;
  int end = 1;
  while (end < count && strcmp(arguments[end], "--") != 0)
    end++;
  if (end == 1 || end == count) {
    fprintf(stderr, "usage: segue-continue COMMAND... -- continue --launch|--frontmost|--app BUNDLE\n");
    return 2;
  }
  /* The command gets its own words and ours, without what parts them. */
  self.command = arguments + 1;
  int words = count - end - 1;
  memmove(arguments + end, arguments + end + 1, (size_t)(words + 1) * sizeof *arguments);
  if (!choose(&self, words, arguments + end) || !is_usual() || !is_ready(&self) || !find_offer(&self) || !fits(&self) ||
      !say_what(&self))
    leave(&self, "");
  segue_value *result = NULL;
  stopped_begin(self.app);
  segue_status status = segue_app_launch(self.app, self.offer, self.bundle, self.bundle ? NUL : 0, 0, &result);
  stopped_end();
  /* The command may ask its user whether text is left behind (R13.7), and tries once more. */
  if (status == SEGUE_ERROR_NOT_ALLOWED)
    leave(&self, "{}");
  if (!result || !say_restored(result))
    leave(&self, ending(status, result));
  segue_app_close(self.app);
  return 0;
}
