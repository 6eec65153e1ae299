/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An app that does what it is told on standard input, a line each, and says what happens, a line each: with the
 * milliseconds of the monotonic clock first. It ends at the end of its input. The commands are in the table below.
 *
 *     participant IDENTIFIER [--team TEAM] [--type TYPE]... [--chooser] [--thread] [--frontmost] [--limit NUMBER VALUE]
 */
#include <poll.h>
#include <pthread.h>
#include <segue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "participant_callbacks.h"

/* The commands. */

static void set_payload(const char *size) {
  segue_writer *writer;
  segue_value *value;
  size_t count = strtoul(size, NULL, 10);
  uint8_t *data = calloc(1, count ? count : 1);
  CHECK(segue_writer_create(&writer));
  CHECK(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
  CHECK(segue_writer_put_string(writer, "data", NUL));
  CHECK(segue_writer_put_data(writer, data, count));
  CHECK(segue_writer_end(writer));
  CHECK(segue_writer_finish(writer, &value));
  if (CHECK(segue_activity_set_user_info(activity, value)))
    say("payload set");
  segue_release(value);
  segue_release(writer);
  free(data);
}

static void create(const char *title) {
  segue_release(activity);
  if (!CHECK(segue_activity_create(app, TYPE, NUL, &activity)))
    return;
  CHECK(segue_activity_set_delegate(activity, watcher));
  CHECK(segue_activity_set_title(activity, title, NUL));
}

static void offer(const char *title) {
  create(title);
  if (CHECK(segue_activity_become_current(activity)))
    say("offered");
}

/** "NAME TITLE": an activity that can be searched, with a persistent identifier unless NAME is "-". */
static void save_for_search(const char *words) {
  char name[64] = "";
  int length = 0;
  sscanf(words, "%63s %n", name, &length);
  create(words + length);
  CHECK(segue_activity_set_eligible(activity, SEGUE_ELIGIBLE_FOR_SEARCH, true));
  if (strcmp(name, "-") != 0)
    CHECK(segue_activity_set_persistent_identifier(activity, name, NUL));
  if (CHECK(segue_activity_become_current(activity)))
    say("offered");
}

static void deleted(void *context, segue_app *its, size_t count, const segue_error *error) {
  (void)context, (void)its;
  segue_status status = SEGUE_OK;
  if (error)
    CHECK(segue_error_get_status(error, &status));
  say("deleted %zu %s", count, segue_status_name(status));
}

/** Deletes saved activities: of that name, or "all". */
static void delete_saved(const char *name) {
  if (strcmp(name, "all") == 0) {
    CHECK(segue_app_delete_all_saved(app, deleted, NULL, NULL));
    return;
  }
  segue_writer *writer;
  segue_value *names;
  CHECK(segue_writer_create(&writer));
  CHECK(segue_writer_begin(writer, SEGUE_KIND_ARRAY));
  CHECK(segue_writer_put_string(writer, name, NUL));
  CHECK(segue_writer_end(writer));
  CHECK(segue_writer_finish(writer, &names));
  CHECK(segue_app_delete_saved(app, names, deleted, NULL, NULL));
  segue_release(names);
  segue_release(writer);
}

static void set_title(const char *title) { CHECK(segue_activity_set_title(activity, title, NUL)); }

/** Changes the title that many times, current each time, so that each change is published at once. */
static void change(const char *count, bool at_once) {
  for (unsigned long i = 0, end = strtoul(count, NULL, 10); i < end; i++) {
    char title[32];
    snprintf(title, sizeof title, "change %lu", i + 1);
    CHECK(segue_activity_set_title(activity, title, NUL));
    if (at_once)
      CHECK(segue_activity_become_current(activity));
  }
  say("changed all");
}

static void churn(const char *count) { change(count, false); }
static void flood(const char *count) { change(count, true); }

static void become_current(const char *unused) {
  (void)unused;
  CHECK(segue_activity_become_current(activity));
}

static void resign(const char *unused) {
  (void)unused;
  CHECK(segue_activity_resign_current(activity));
}

static void invalidate(const char *unused) {
  (void)unused;
  CHECK(segue_activity_invalidate(activity));
}

static void dirty(const char *unused) {
  (void)unused;
  if (CHECK(segue_activity_set_needs_save(activity, true)))
    say("dirty");
}

/** R3.12: what was continued is this app's own now. */
static void keep(const char *title) {
  CHECK(segue_activity_set_title(continued, title, NUL));
  CHECK(segue_activity_set_delegate(continued, watcher));
  if (CHECK(segue_activity_become_current(continued)))
    say("offered");
}

/** Its user writes into what it has continued. */
static void write_kept(const char *title) {
  CHECK(segue_activity_set_delegate(continued, watcher));
  if (CHECK(segue_activity_set_title(continued, title, NUL)))
    say("written");
}

/** R3.10 */
static void resume_back(const char *unused) {
  (void)unused;
  segue_status status = segue_activity_resume_back(activity, 0, resumed_back, NULL, NULL, NULL);
  if (status != SEGUE_OK)
    say("resume_back %s", segue_status_name(status));
}

/** "NAME BYTES": so many bytes, 7 n for the n-th. */
static void attach(const char *words) {
  char name[256] = "";
  size_t size = 0;
  sscanf(words, "%255s %zu", name, &size);
  uint8_t *bytes = malloc(size + 1);
  for (size_t i = 0; i < size; i++)
    bytes[i] = (uint8_t)(7 * i);
  if (CHECK(segue_activity_attach_bytes(activity, name, NUL, bytes, size)))
    say("attached");
  free(bytes);
}

/** "NAME PATH". */
static void attach_file(const char *words) {
  char name[256] = "";
  int length = 0;
  sscanf(words, "%255s %n", name, &length);
  if (CHECK(segue_activity_attach_file(activity, name, NUL, words + length, NUL)))
    say("attached");
}

static void fetched(void *context, segue_activity *its, const segue_error *error) {
  (void)its;
  segue_status status = SEGUE_OK;
  if (error)
    CHECK(segue_error_get_status(error, &status));
  say("fetched %s %s", (char *)context, segue_status_name(status));
}

/** "NAME PATH": of what it has continued. */
static void fetch(const char *words) {
  char name[256] = "";
  int length = 0;
  sscanf(words, "%255s %n", name, &length);
  char *context = strdup(name);
  segue_status status =
      segue_activity_fetch_attachment(continued, name, NUL, words + length, NUL, NULL, fetched, context, free, NULL);
  if (status != SEGUE_OK)
    say("fetched %s %s", name, segue_status_name(status));
}

/** R3.15: to that app. */
static void push(const char *app_name) {
  segue_value *result = NULL;
  segue_status status = segue_activity_push(activity, NULL, app_name, NUL, 0, &result);
  say("push %s", segue_status_name(status));
  segue_release(result);
}

/** "DEVICE": its identifier in hexadecimal digits; to the app of this name there. */
static void push_to_device(const char *digits) {
  uint8_t device[SEGUE_ID_SIZE] = {0};
  for (size_t i = 0; i < SEGUE_ID_SIZE; i++)
    sscanf(digits + 2 * i, "%2hhx", &device[i]);
  segue_value *result = NULL;
  segue_status status = segue_activity_push(activity, device, NULL, 0, 0, &result);
  say("push_to_device %s", segue_status_name(status));
  segue_release(result);
}

static void expire(const char *seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  CHECK(segue_activity_set_expiration_date(activity, (double)now.tv_sec + (double)now.tv_nsec / 1e9 + atof(seconds)));
}

/** R2.5 */
static void keep_offering(const char *word) {
  if (CHECK(segue_activity_set_keeps_offering(activity, word[0] == 'y')))
    say("keeps offering");
}

/** R10.2 */
static void set_private(const char *word) {
  if (CHECK(segue_activity_set_private(activity, word[0] == 'y')))
    say("is private");
}

static void drop_activity(const char *unused) {
  (void)unused;
  segue_release(activity);
  activity = NULL;
  say("released");
}

static void foreground(const char *word) { CHECK(segue_app_set_foreground(app, word[0] == 'y')); }

static void list(const char *unused) {
  (void)unused;
  segue_offer *offers[64];
  size_t count = 0;
  char line[4096] = "";
  if (!CHECK(segue_app_get_offers(app, offers, 64, &count)))
    return;
  for (size_t i = 0; i < count && i < 64; i++) {
    char *title = NULL;
    CHECK(segue_offer_get_title(offers[i], &title, NULL));
    snprintf(line + strlen(line), sizeof line - strlen(line), "%s%s", i ? "|" : "", title ? title : "");
    segue_free(title);
    segue_release(offers[i]);
  }
  say("offers %zu %s", count, line);
}

/** TITLE, or TITLE/MILLISECONDS */
static void continue_offer(const char *text) {
  char title[1100];
  snprintf(title, sizeof title, "%s", text);
  char *slash = strrchr(title, '/');
  uint32_t timeout = slash ? (uint32_t)strtoul(slash + 1, NULL, 10) : 0;
  if (slash)
    *slash = '\0';
  segue_offer *offers[64];
  size_t count = 0;
  bool found = false;
  if (!CHECK(segue_app_get_offers(app, offers, 64, &count)))
    return;
  for (size_t i = 0; i < count && i < 64; i++) {
    char *its = NULL;
    CHECK(segue_offer_get_title(offers[i], &its, NULL));
    if (!found && its && strcmp(its, title) == 0) {
      found = true;
      segue_release(continuation);
      continuation = NULL;
      if (CHECK(segue_app_continue(app, offers[i], timeout, &continuation)))
        say("continuation %s", name_of(continuation));
    }
    segue_free(its);
    segue_release(offers[i]);
  }
  if (!found)
    say("error no offer %s", title);
}

static void cancel(const char *unused) {
  (void)unused;
  CHECK(segue_continuation_cancel(continuation));
}

/** The app gets what waits at the agent from now on; "no": it gets nothing of that. */
static void accept_waiting(const char *word) { CHECK(segue_app_set_accepts_waiting(app, strcmp(word, "no") != 0)); }

static segue_reply reply_named(const char *word) {
  return strcmp(word, "later") == 0 ? SEGUE_REPLY_LATER : strcmp(word, "no") == 0 ? SEGUE_REPLY_NO : SEGUE_REPLY_YES;
}

/** Says so, since another app may ask for the state next. */
static void on_save(const char *word) {
  save_reply = reply_named(word);
  say("on_save %s", word);
}
static void on_arrival(const char *word) { continue_reply = reply_named(word); }
static void decline(const char *reason) { snprintf(decline_reason, sizeof decline_reason, "%s", reason); }
static void restoring(const char *numbers) { sscanf(numbers, "%d %d", &restorables, &refusing); }

static void saved(const char *unused) {
  (void)unused;
  CHECK(segue_save_complete(unsaved));
}

static void *saved_elsewhere(void *unused) {
  (void)unused;
  CHECK(segue_save_complete(unsaved));
  return NULL;
}

static void saved_by_thread(const char *unused) {
  (void)unused;
  pthread_t thread;
  pthread_create(&thread, NULL, saved_elsewhere, NULL);
  pthread_join(thread, NULL);
}

static void complete(const char *word) {
  hand_over(unanswered);
  CHECK(segue_continuation_complete(unanswered, reply_named(word) == SEGUE_REPLY_YES));
}

/** The child says what every call gives there, and then waits to be killed. */
static void fork_child(const char *unused) {
  (void)unused;
  char *memory = NULL;
  CHECK(segue_activity_get_type(activity, &memory, NULL));
  pid_t child = fork();
  if (child != 0) {
    say("child %d", (int)child);
    return;
  }
  segue_app *another = NULL;
  size_t count = 0;
  say("in the child: %s %s %s %s %s %s", segue_status_name(segue_app_create("com.example.child", NUL, &another)),
      segue_status_name(segue_app_dispatch(app, 0, NULL)), segue_status_name(segue_activity_become_current(activity)),
      segue_status_name(segue_app_close(app)), segue_status_name(segue_debug_live_handles(&count)),
      segue_status_name(segue_release(app)));
  segue_free(memory);
  say("the child has freed");
  pause();
  _exit(0);
}

static void handles(const char *unused) {
  (void)unused;
  size_t count = 0;
  CHECK(segue_debug_live_handles(&count));
  say("handles %zu", count);
}

static void describe(const char *unused) {
  (void)unused;
  char *text = NULL;
  if (CHECK(segue_app_describe(app, &text, NULL)))
    say("described %s", text);
  segue_free(text);
}

/** Does nothing, and dispatches nothing, until there is another line; a program in a dialog or a debugger. */
static void hold(const char *unused) {
  (void)unused;
  say("held");
  struct pollfd input = {.fd = 0, .events = POLLIN};
  poll(&input, 1, -1);
}

static void close_app(const char *unused) {
  (void)unused;
  CHECK(segue_app_close(app));
  say("closed");
}

static void connection_state(const char *argument) {
  (void)argument;
  segue_connection connection = -1;
  segue_status problem = -1;
  char *message = NULL;
  if (CHECK(segue_app_get_connection(app, &connection, &problem, &message, NULL)))
    say("is %s: %s %s", connection == SEGUE_CONNECTION_READY ? "ready" : "searching", segue_status_name(problem),
        message ? message : "-");
  segue_free(message);
}

static const struct {
  const char *word;
  void (*function)(const char *argument);
} commands[] = {
    {"offer", offer},
    {"title", set_title},
    {"payload", set_payload},
    {"churn", churn},
    {"flood", flood},
    {"current", become_current},
    {"resign", resign},
    {"invalidate", invalidate},
    {"dirty", dirty},
    {"keep", keep},
    {"write", write_kept},
    {"resume_back", resume_back},
    {"attach", attach},
    {"attach_file", attach_file},
    {"fetch", fetch},
    {"push", push},
    {"push_to_device", push_to_device},
    {"expire", expire},
    {"foreground", foreground},
    {"list", list},
    {"continue", continue_offer},
    {"cancel", cancel},
    {"accept", accept_waiting},
    {"on_save", on_save},
    {"on_continue", on_arrival},
    {"decline", decline},
    {"restoring", restoring},
    {"saved", saved},
    {"saved_by_thread", saved_by_thread},
    {"complete", complete},
    {"fork", fork_child},
    {"handles", handles},
    {"hold", hold},
    {"describe", describe},
    {"connection", connection_state},
    {"close", close_app},
    {"save", save_for_search},
    {"delete", delete_saved},
    {"keep_offering", keep_offering},
    {"private", set_private},
    {"release", drop_activity},
};

static void obey(char *line) {
  char *argument = strchr(line, ' ');
  if (argument)
    *argument++ = '\0';
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(commands[i].word, line) == 0) {
      commands[i].function(argument ? argument : "");
      return;
    }
  }
  say("error no command %s", line);
}

/** The lines that have come; false: the input has ended. */
static bool obey_input(void) {
  static char buffer[8192];
  static size_t used;
  ssize_t count = read(0, buffer + used, sizeof buffer - used);
  if (count <= 0)
    return false;
  used += (size_t)count;
  for (char *end; (end = memchr(buffer, '\n', used)) != NULL;) {
    *end = '\0';
    obey(buffer);
    size_t length = (size_t)(end - buffer) + 1;
    memmove(buffer, end + 1, used -= length);
  }
  return true;
}

static void run(void) {
  struct pollfd descriptors[2] = {{.fd = 0, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
  if (!delivers_by_thread)
    CHECK(segue_app_fd(app, &descriptors[1].fd));
  for (;;) {
    poll(descriptors, 2, -1);
    if (descriptors[0].revents && !obey_input())
      return;
    if (descriptors[1].revents) {
      segue_status status = segue_app_dispatch(app, 0, NULL);
      if (status == SEGUE_ERROR_INVALIDATED)
        descriptors[1].fd = -1;
      else
        check(status, "dispatch");
    }
  }
}

static bool configure(int count, char **arguments) {
  for (int i = 2; i < count; i++) {
    bool hasNext = i + 1 < count;
    if (strcmp(arguments[i], "--team") == 0 && hasNext)
      CHECK(segue_app_set_team_identifier(app, arguments[++i], NUL));
    else if (strcmp(arguments[i], "--type") == 0 && hasNext)
      CHECK(segue_app_add_activity_type(app, arguments[++i], NUL));
    else if (strcmp(arguments[i], "--chooser") == 0)
      CHECK(segue_app_set_chooser(app, true));
    else if (strcmp(arguments[i], "--unready") == 0)
      CHECK(segue_app_set_accepts_waiting(app, false));
    else if (strcmp(arguments[i], "--later") == 0)
      continue_reply = SEGUE_REPLY_LATER;
    else if (strcmp(arguments[i], "--frontmost") == 0)
      CHECK(segue_app_set_offers_frontmost_only(app, true));
    else if (strcmp(arguments[i], "--thread") == 0)
      CHECK(segue_app_set_delivery(app, (delivers_by_thread = true) ? SEGUE_DELIVER_THREAD : SEGUE_DELIVER_HOST));
    else if (strcmp(arguments[i], "--limit") == 0 && i + 2 < count) {
      CHECK(segue_limit_set(atoi(arguments[i + 1]), strtoull(arguments[i + 2], NULL, 10)));
      i += 2;
    } else
      return false;
  }
  return true;
}

int main(int count, char **arguments) {
  if (count < 2 || !CHECK(segue_app_create(arguments[1], NUL, &app)) || !configure(count, arguments))
    return 2;
  segue_app_delegate *delegate;
  CHECK(segue_app_delegate_create(NULL, NULL, &delegate));
  CHECK(segue_app_delegate_on_connection(delegate, on_connection));
  CHECK(segue_app_delegate_on_offer(delegate, on_offer));
  CHECK(segue_app_delegate_on_will_continue(delegate, will_continue));
  CHECK(segue_app_delegate_on_continue(delegate, on_continue));
  CHECK(segue_app_delegate_on_did_fail(delegate, did_fail));
  CHECK(segue_app_set_delegate(app, delegate));
  CHECK(segue_activity_delegate_create(NULL, NULL, &watcher));
  CHECK(segue_activity_delegate_on_will_save(watcher, will_save));
  CHECK(segue_activity_delegate_on_was_continued(watcher, was_continued));
  CHECK(segue_activity_delegate_on_continuation_ended(watcher, continuation_ended));
  CHECK(segue_activity_delegate_on_did_resume_back(watcher, did_resume_back));
  if (!CHECK(segue_app_open(app)))
    return 3;
  say("open");
  run();
  CHECK(segue_app_close(app));
  segue_release(activity);
  segue_release(continued);
  segue_release(watcher);
  segue_release(continuation);
  segue_release(unanswered);
  segue_release(unsaved);
  segue_release(delegate);
  segue_release(app);
  size_t alive = 0;
  CHECK(segue_debug_live_handles(&alive));
  say("ended with %zu handles", alive);
  return alive == 0 ? 0 : 4;
}
