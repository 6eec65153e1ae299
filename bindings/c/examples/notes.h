/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the apps that edit and view notes, in any language: identifiers, and the layout of user_info. Also the
 * error handling of the C programs. */
#ifndef NOTES_H
#define NOTES_H

#include <segue.h>
#include <stdio.h>
#include <stdlib.h>

/* Apps of one team continue each other's activities. */
#define NOTES_TEAM "EXAMPLE"
#define NOTES_EDITING "com.example.notes.editing"

/* user_info, version 1. */
#define NOTES_PAYLOAD_VERSION 1
#define NOTES_DOCUMENT "NSUserActivityDocumentURLKey" /* URL: the file */
#define NOTES_LINE "line"                             /* integer: the line of the cursor, from 1 */
#define NOTES_COLUMN "column"                         /* integer: bytes before the cursor in its line */
#define NOTES_SELECTION "selection"                   /* integer: bytes selected from the cursor on */

/** Ends the program if a call failed, with the library's message, which names the argument and the cause. */
static inline void notes_check(segue_status status) {
  if (status == SEGUE_OK)
    return;
  char message[SEGUE_MESSAGE_SIZE];
  segue_last_error(message, sizeof message);
  fprintf(stderr, "%s: %s\n", segue_status_name(status), message);
  exit(EXIT_FAILURE);
}

/** Prints a line of the library's log. It runs on any thread, and calls nothing of the library. */
static inline void notes_log(void *context, segue_log_level level, const char *message, size_t length) {
  (void)context, (void)level;
  fprintf(stderr, "%.*s\n", (int)length, message);
}

/** Without this, and without did_fail, a C program would not hear of its failures. */
static inline void notes_follow_log(void) { notes_check(segue_log_set(SEGUE_LOG_ERROR, notes_log, NULL, NULL)); }

#endif
