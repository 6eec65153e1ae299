/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/**
 * An office program with up to four tabs, each of which can be continued by itself: four activity types, four
 * responders. The same program with one tab is a small app, so what this one is on a big device may be several there.
 *
 *     tabs IDENTIFIER [letter|sums|plan|talk]...        all four if none is named
 *
 * It reads lines: the name of a tab turns to it, "continue" continues the frontmost offer, "= TEXT" is what the user
 * types, "quit" ends. ../../python/examples/tabs.py is the same in Python, and has more: streams, and the way back from
 * a browser, which shows the page of a tab (webpage_url) where no app continues it.
 */
#include "notes.h"

#include <ctype.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define TEAM "OFFICE"
#define SITE "https://office.example.com"
enum { TAB_COUNT = 4, TEXT_SIZE = 256 };

static const struct {
  const char *name, *type;
} kinds[TAB_COUNT] = {
    {"letter", "com.example.office.writing"},
    {"sums", "com.example.office.calculating"},
    {"plan", "com.example.office.planning"},
    {"talk", "com.example.office.presenting"},
};

struct tab {
  const char *name, *type;
  segue_responder *responder; /* NULL: this program does not have the tab */
  char text[TEXT_SIZE];
};

struct program {
  segue_app *app;
  struct tab tabs[TAB_COUNT];
  struct tab *shown;
};

/** Names the page of the tab, which shows its text (RFC 3986 §2.1). */
static void set_page(const struct tab *tab, segue_activity *activity) {
  char url[sizeof SITE + 32 + 3 * TEXT_SIZE];
  int length = snprintf(url, sizeof url, SITE "/%s?text=", tab->name);
  for (const unsigned char *each = (const unsigned char *)tab->text; *each != '\0'; each++)
    length += sprintf(url + length, isalnum(*each) ? "%c" : "%%%02X", *each);
  notes_check(segue_activity_set_webpage_url(activity, url, (size_t)length));
}

/** Writes what the tab shows: a save is due. It fails if that is not UTF-8, as a terminal may have it. */
static segue_reply update(void *context, segue_activity *activity, segue_save *save) {
  struct tab *tab = context;
  segue_writer *writer;
  segue_value *entries;
  notes_check(segue_writer_create(&writer));
  notes_check(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
  notes_check(segue_writer_put_string(writer, "text", SEGUE_NUL_TERMINATED));
  if (segue_writer_put_string(writer, tab->text, SEGUE_NUL_TERMINATED) != SEGUE_OK) {
    printf("%s is not UTF-8\n", tab->name);
    segue_release(writer);
    notes_check(segue_save_fail(save, "its text is not UTF-8", SEGUE_NUL_TERMINATED));
    return SEGUE_REPLY_LATER;
  }
  notes_check(segue_writer_end(writer));
  notes_check(segue_writer_finish(writer, &entries));
  notes_check(segue_activity_add_user_info_entries(activity, entries));
  set_page(tab, activity);
  segue_release(entries);
  segue_release(writer);
  return SEGUE_REPLY_YES;
}

/** Shows what another program's tab has shown. The text that it sends is untrusted, like any file: a text that is too
 * long is not restored. */
static bool restore(void *context, segue_activity *activity) {
  struct tab *tab = context;
  segue_value *user_info = NULL;
  char *text = NULL;
  size_t length = 0;
  notes_check(segue_activity_get_user_info(activity, &user_info));
  bool found = segue_dictionary_get_string(user_info, "text", SEGUE_NUL_TERMINATED, &text, &length) == SEGUE_OK;
  segue_release(user_info);
  found = found && length < TEXT_SIZE;
  if (found)
    memcpy(tab->text, text, length + 1);
  segue_free(text);
  if (found)
    printf("restored %s: %s\n", tab->name, tab->text);
  return found;
}

/** The user turns to a tab, whose activity is current from now on. */
static void show(struct program *program, struct tab *tab) {
  program->shown = tab;
  notes_check(segue_app_set_main_responder(program->app, tab->responder));
  printf("shows %s: %s\n", tab->name, tab->text);
}

/** The activity of one of our types has arrived: its tab gets it in place of its own. */
static segue_reply continue_activity(void *context, segue_app *app, segue_activity *activity,
                                     segue_continuation *continuation) {
  (void)app;
  struct program *program = context;
  char *type;
  segue_reply reply = SEGUE_REPLY_NO;
  notes_check(segue_activity_get_type(activity, &type, NULL));
  for (int i = 0; i < TAB_COUNT; i++) {
    struct tab *tab = &program->tabs[i];
    if (tab->responder == NULL || strcmp(tab->type, type) != 0)
      continue;
    segue_restorable *restorable;
    notes_check(segue_responder_set_activity(tab->responder, activity));
    notes_check(segue_responder_get_restorable(tab->responder, &restorable));
    notes_check(segue_continuation_restore(continuation, &restorable, 1));
    segue_release(restorable);
    show(program, tab);
    reply = SEGUE_REPLY_YES;
  }
  segue_free(type);
  return reply;
}

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  (void)context;
  (void)app;
  char *title;
  notes_check(segue_offer_get_title(offer, &title, NULL));
  printf("%s: %s\n", event == SEGUE_OFFER_GONE ? "gone" : "offered", title == NULL ? "" : title);
  segue_free(title);
}

static void did_fail(void *context, segue_app *app, const char *type, size_t type_length, const segue_error *error,
                     segue_continuation *continuation) {
  (void)context;
  (void)app;
  (void)continuation;
  char *message;
  notes_check(segue_error_get_message(error, &message, NULL));
  printf("%.*s: %s\n", (int)type_length, type, message);
  segue_free(message);
}

/** A tab with an activity, which its responder alone holds. */
static void open_tab(struct program *program, struct tab *tab) {
  segue_activity *activity;
  notes_check(segue_responder_create(program->app, update, restore, tab, NULL, &tab->responder));
  notes_check(segue_activity_create(program->app, tab->type, SEGUE_NUL_TERMINATED, &activity));
  notes_check(segue_activity_set_title(activity, tab->name, SEGUE_NUL_TERMINATED));
  set_page(tab, activity);
  notes_check(segue_responder_set_activity(tab->responder, activity));
  segue_release(activity);
}

static void continue_frontmost(struct program *program) {
  segue_offer *offer;
  size_t count;
  notes_check(segue_app_get_offers(program->app, &offer, 1, &count));
  if (count == 0) {
    puts("nothing is offered");
    return;
  }
  notes_check(segue_app_continue(program->app, offer, 0, NULL));
  segue_release(offer);
}

/** Does what a line says. Whether the program goes on. */
static bool obey(struct program *program, char *line) {
  line[strcspn(line, "\n")] = '\0';
  if (strcmp(line, "quit") == 0)
    return false;
  if (strcmp(line, "continue") == 0) {
    continue_frontmost(program);
  } else if (strncmp(line, "= ", 2) == 0) {
    /* Nothing need be reported: the tab is asked when it is continued. */
    snprintf(program->shown->text, TEXT_SIZE, "%s", line + 2);
  } else {
    for (int i = 0; i < TAB_COUNT; i++)
      if (program->tabs[i].responder != NULL && strcmp(program->tabs[i].name, line) == 0)
        show(program, &program->tabs[i]);
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s IDENTIFIER [letter|sums|plan|talk]...\n", argv[0]);
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct program program = {0};
  segue_app_delegate *delegate;
  notes_check(segue_app_delegate_create(&program, NULL, &delegate));
  notes_check(segue_app_delegate_on_offer(delegate, on_offer));
  notes_check(segue_app_delegate_on_continue(delegate, continue_activity));
  notes_check(segue_app_delegate_on_did_fail(delegate, did_fail));
  notes_follow_log();
  notes_check(segue_app_create(argv[1], SEGUE_NUL_TERMINATED, &program.app));
  notes_check(segue_app_set_team_identifier(program.app, TEAM, SEGUE_NUL_TERMINATED));
  notes_check(segue_app_set_delegate(program.app, delegate));
  bool wanted[TAB_COUNT];
  for (int i = 0; i < TAB_COUNT; i++) {
    program.tabs[i] = (struct tab){.name = kinds[i].name, .type = kinds[i].type};
    wanted[i] = argc == 2;
    for (int each = 2; each < argc; each++)
      wanted[i] = wanted[i] || strcmp(argv[each], kinds[i].name) == 0;
    if (wanted[i])
      notes_check(segue_app_add_activity_type(program.app, kinds[i].type, SEGUE_NUL_TERMINATED));
  }
  notes_check(segue_app_open(program.app));
  for (int i = 0; i < TAB_COUNT; i++)
    if (wanted[i])
      open_tab(&program, &program.tabs[i]);
  for (int i = TAB_COUNT - 1; i >= 0; i--)
    if (wanted[i])
      program.shown = &program.tabs[i];
  if (program.shown == NULL) {
    fprintf(stderr, "%s: there is no such tab\n", argv[2]);
    return 2;
  }
  show(&program, program.shown);

  struct pollfd sources[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
  notes_check(segue_app_fd(program.app, &sources[1].fd));
  setvbuf(stdin, NULL, _IONBF, 0); /* no line waits where poll does not see it */
  char line[TEXT_SIZE];
  bool goes_on = true;
  while (goes_on && poll(sources, 2, -1) > 0) {
    if (sources[1].revents != 0)
      notes_check(segue_app_dispatch(program.app, 0, NULL));
    if (sources[0].revents != 0)
      goes_on = fgets(line, sizeof line, stdin) != NULL && obey(&program, line);
  }
  notes_check(segue_app_close(program.app));
  for (int i = 0; i < TAB_COUNT; i++)
    segue_release(program.tabs[i].responder);
  segue_release(delegate);
  segue_release(program.app);
  return EXIT_SUCCESS;
}
