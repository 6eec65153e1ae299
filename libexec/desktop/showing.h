/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The inner side of the notifier: the notifications that the server was asked for, and its signals about them. */
#ifndef SHOWING_H
#define SHOWING_H

#include "notifier.h"

#define SERVER "org.freedesktop.Notifications"
#define SERVER_PATH "/org/freedesktop/Notifications"
/** The server may take any time; if it dies, the bus says so. */
#define SERVER_USEC UINT64_MAX

/* Signals of the server. */

void showing_take_action(struct notifier *notifier, uint32_t id, const char *action);
void showing_take_end(struct notifier *notifier, uint32_t id, uint32_t reason);
/** Forgets the token of a notification. */
void showing_drop_token(struct notifier *notifier, uint32_t id);

/** Closes a notification of a server by its unique name; empty: nothing is done. */
void notifier_close_at(struct notifier *notifier, const char *server, uint32_t id);
/** Tells whether a server that was given up may yet answer. */
bool showing_closes(const struct notifier *notifier);
/** The server is gone, and may yet answer what it was asked. */
void showing_end_server(struct notifier *notifier);
/** The connection is gone. */
void showing_end_bus(struct notifier *notifier);

#endif
