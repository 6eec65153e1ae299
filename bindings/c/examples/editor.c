/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/**
 * A text editor whose activity can be continued: the origin's side of Segue. Try it:
 *
 *     editor FILE [--payload-version N]
 *
 * and type a number to go to that line, or "?" for the other commands. Start `viewer` in another terminal.
 *
 * Read it in this order: main, open_app, offer, run, will_save, continuation_ended. These functions are all that an
 * origin needs.
 */
#include "notes.h"
#include "text.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

struct editor {
  const char *path;
  struct text text;
  size_t line, column, selection; /* the cursor, counted from 0, and the bytes selected from it on */
  bool edited;                    /* since the file was last written */
  segue_app *app;
  segue_activity *activity;
  segue_activity_delegate *delegate;
};

static void show_line(const struct editor *editor) {
  if (editor->text.count == 0) {
    printf("(empty)\n");
    return;
  }
  const char *line = editor->text.lines[editor->line], *cursor = line + editor->column;
  bool selecting = editor->selection > 0;
  printf("%zu: %.*s%s%.*s%s%s\n", editor->line + 1, (int)editor->column, line, selecting ? "[" : "|",
         (int)editor->selection, cursor, selecting ? "]" : "", cursor + editor->selection);
}

/* ---- the activity ---- */

/** Stores the state of this editor as user_info, so that another app can show the same file at the same place. */
static segue_value *make_user_info(const struct editor *editor) {
  char *url = text_url_from_path(editor->path);
  if (url == NULL) {
    fprintf(stderr, "editor: %s: %s\n", editor->path, strerror(errno));
    return NULL;
  }
  segue_writer *writer = NULL;
  segue_value *user_info;
  /* The first error is sticky: the last call returns it. */
  segue_writer_create(&writer);
  segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
  segue_writer_put_string(writer, NOTES_DOCUMENT, SEGUE_NUL_TERMINATED);
  segue_writer_put_url(writer, url, SEGUE_NUL_TERMINATED);
  segue_writer_put_string(writer, NOTES_LINE, SEGUE_NUL_TERMINATED);
  segue_writer_put_uint64(writer, editor->line + 1);
  segue_writer_put_string(writer, NOTES_COLUMN, SEGUE_NUL_TERMINATED);
  segue_writer_put_uint64(writer, editor->column);
  segue_writer_put_string(writer, NOTES_SELECTION, SEGUE_NUL_TERMINATED);
  segue_writer_put_uint64(writer, editor->selection);
  segue_writer_end(writer);
  notes_check(segue_writer_finish(writer, &user_info));
  segue_release(writer);
  free(url);
  return user_info;
}

static bool write_file(struct editor *editor) {
  if (editor->edited && !text_save(&editor->text, editor->path)) {
    fprintf(stderr, "editor: %s: %s\n", editor->path, strerror(errno));
    return false;
  }
  editor->edited = false;
  return true;
}

/**
 * Brings the activity up to date: a receiver continues it, or a save is due. The text is in the file and not in the
 * activity, so the file is written first.
 */
static segue_reply will_save(void *context, segue_activity *activity, segue_save *save) {
  struct editor *editor = context;
  const char *failure = write_file(editor) ? NULL : "the file cannot be written";
  segue_value *user_info = make_user_info(editor);
  if (user_info != NULL) {
    notes_check(segue_activity_set_user_info(activity, user_info));
    segue_release(user_info);
  }
  /* The receiver then gets an older state, and both sides learn why. */
  if (user_info == NULL)
    failure = "the state cannot be made";
  if (failure != NULL)
    notes_check(segue_save_fail(save, failure, SEGUE_NUL_TERMINATED));
  return SEGUE_REPLY_YES;
}

/** Prints the receipt of an attempt to continue the activity, successful or not. */
static void continuation_ended(void *context, segue_activity *activity, segue_receipt *receipt) {
  (void)context;
  (void)activity;
  static const char *const outcomes[] = {"", "restored", "declined", "failed", "unknown"};
  segue_outcome outcome;
  segue_status status;
  char *app, *device, *reason;
  notes_check(segue_receipt_get_outcome(receipt, &outcome));
  notes_check(segue_receipt_get_status(receipt, &status));
  notes_check(segue_receipt_get_app_name(receipt, &app, NULL));
  notes_check(segue_receipt_get_device_name(receipt, &device, NULL));
  notes_check(segue_receipt_get_reason(receipt, &reason, NULL));
  printf("receipt: %s by %s on %s", outcomes[outcome], app, device);
  if (outcome != SEGUE_OUTCOME_RESTORED)
    printf(" (%s) %s", segue_status_name(status), reason == NULL ? "" : reason);
  printf("\n");
  segue_free(app);
  segue_free(device);
  segue_free(reason);
}

/** Makes the activity current. From now on other apps of the team see its offer. */
static void offer(struct editor *editor, uint32_t payload_version) {
  const char *slash = strrchr(editor->path, '/');
  notes_check(segue_activity_create(editor->app, NOTES_EDITING, SEGUE_NUL_TERMINATED, &editor->activity));
  notes_check(segue_activity_set_title(editor->activity, slash ? slash + 1 : editor->path, SEGUE_NUL_TERMINATED));
  notes_check(segue_activity_set_payload_version(editor->activity, payload_version));

  notes_check(segue_activity_delegate_create(editor, NULL, &editor->delegate));
  notes_check(segue_activity_delegate_on_will_save(editor->delegate, will_save));
  notes_check(segue_activity_delegate_on_continuation_ended(editor->delegate, continuation_ended));
  notes_check(segue_activity_set_delegate(editor->activity, editor->delegate));

  notes_check(segue_activity_become_current(editor->activity));
}

/* ---- the editor ---- */

static const char help[] = "NUMBER  go to that line          /TEXT  find and select text\n"
                           "= TEXT  replace the line         + TEXT insert a line behind it\n"
                           "-       delete the line          q      write the file and quit\n";

static bool find(struct editor *editor, const char *wanted) {
  for (size_t n = 1; n <= editor->text.count; n++) {
    size_t line = (editor->line + n) % editor->text.count;
    const char *found = strstr(editor->text.lines[line], wanted);
    if (found != NULL) {
      editor->line = line;
      editor->column = (size_t)(found - editor->text.lines[line]);
      editor->selection = strlen(wanted);
      return true;
    }
  }
  return false;
}

static void go_to(struct editor *editor, size_t line) {
  editor->line = line < editor->text.count ? line : editor->text.count > 0 ? editor->text.count - 1 : 0;
  editor->column = editor->selection = 0;
}

/** Executes one line of input; false if it was the last. */
static bool obey(struct editor *editor, char *input) {
  input[strcspn(input, "\n")] = '\0';
  const char *rest = input + (input[0] == '\0' ? 0 : input[1] == ' ' ? 2 : 1);
  struct text *text = &editor->text;
  bool good = true;
  if (input[0] == 'q') {
    return false;
  } else if (input[0] >= '1' && input[0] <= '9') {
    go_to(editor, strtoul(input, NULL, 10) - 1);
  } else if (input[0] == '/' && text->count > 0) {
    if (!find(editor, input + 1))
      printf("not found\n");
  } else if (input[0] == '=' && text->count > 0) {
    good = text_replace(text, editor->line, rest);
    editor->edited = true;
    go_to(editor, editor->line);
  } else if (input[0] == '+') {
    good = text_insert(text, text->count > 0 ? editor->line + 1 : 0, rest);
    editor->edited = true;
    go_to(editor, editor->line + 1);
  } else if (input[0] == '-' && text->count > 0) {
    text_delete(text, editor->line);
    editor->edited = true;
    go_to(editor, editor->line);
  } else {
    printf("%s", help);
    return true;
  }
  if (!good)
    fprintf(stderr, "editor: %s\n", strerror(errno));
  /* The state has changed. This call is cheap: will_save runs only when the state is needed. */
  notes_check(segue_activity_set_needs_save(editor->activity, true));
  show_line(editor);
  return true;
}

/** Waits for the user and for Segue. Segue's callbacks run inside segue_app_dispatch, on this thread. */
static void run(struct editor *editor) {
  struct pollfd watched[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
  notes_check(segue_app_fd(editor->app, &watched[1].fd));
  setvbuf(stdin, NULL, _IONBF, 0); /* so that poll sees all unread input */
  char *input = NULL;
  size_t capacity = 0;
  bool running = true;
  while (running) {
    if (poll(watched, 2, -1) < 0)
      continue; /* a signal */
    if (watched[1].revents != 0)
      notes_check(segue_app_dispatch(editor->app, 0, NULL));
    if (watched[0].revents != 0)
      running = getline(&input, &capacity, stdin) >= 0 && obey(editor, input);
  }
  free(input);
}

static void open_app(struct editor *editor) {
  notes_follow_log();
  notes_check(segue_app_create("com.example.notes.editor", SEGUE_NUL_TERMINATED, &editor->app));
  notes_check(segue_app_set_name(editor->app, "Notes Editor", SEGUE_NUL_TERMINATED));
  notes_check(segue_app_set_team_identifier(editor->app, NOTES_TEAM, SEGUE_NUL_TERMINATED));
  notes_check(segue_app_open(editor->app));
}

int main(int count, char **arguments) {
  uint32_t payload_version = NOTES_PAYLOAD_VERSION;
  if (count == 4 && strcmp(arguments[2], "--payload-version") == 0)
    payload_version = (uint32_t)strtoul(arguments[3], NULL, 10);
  else if (count != 2) {
    fprintf(stderr, "usage: editor FILE [--payload-version N]\n");
    return EXIT_FAILURE;
  }
  setvbuf(stdout, NULL, _IOLBF, 0); /* each line at once, also into a pipe */
  struct editor editor = {.path = arguments[1]};
  if (!text_load(&editor.text, editor.path)) {
    fprintf(stderr, "editor: %s: %s\n", editor.path, strerror(errno));
    return EXIT_FAILURE;
  }
  printf("editing %s, %zu lines\n", editor.path, editor.text.count);
  show_line(&editor);

  open_app(&editor);
  offer(&editor, payload_version);
  run(&editor);

  bool written = write_file(&editor);
  notes_check(segue_app_close(editor.app)); /* no callback runs after this; the offer disappears everywhere */
  segue_release(editor.delegate);
  segue_release(editor.activity);
  segue_release(editor.app);
  text_free(&editor.text);
  return written ? EXIT_SUCCESS : EXIT_FAILURE;
}
