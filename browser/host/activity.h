/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The activity that a page has of its own (R12.7). Messages of the extension carry its user_info as a text of JSON in
 * the JSON of the message: so what a page makes of it breaks no frame. */
#ifndef ACTIVITY_H
#define ACTIVITY_H

#include <segue.h>
#include <stdbool.h>

/** Characters of a type, as segue_activity_create takes them. */
#define TYPE_MOST 255
/** Bytes of a page's user_info as JSON. */
#define STATE_MOST (64u * 1024)

/** The key in user_info of what a browser gets: {"type", "userInfo"}. The agent writes it. */
#define ACTIVITY_KEY "SeguePageActivity"

/**
 * Reads the type of a page's activity from {"activity"}.
 *   type  BROWSING_TYPE if the page has no activity, or names a type that cannot be one
 */
void activity_read_type(const segue_value *message, char type[TYPE_MOST + 1]);

/** Returns the user_info in {"userInfo"}, owned; NULL if there is none, or one that is too large, or no dictionary. */
segue_value *activity_read_state(const segue_value *message);

/** Writes "activity" and "userInfo" from the user_info that came with a page, if there are any that a page may get. */
void activity_write(const segue_value *info, segue_writer *writer);

#endif
