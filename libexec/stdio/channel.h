/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The messages that go to the host: JSON-RPC 2.0, one object a line. */
#ifndef CHANNEL_H
#define CHANNEL_H

#include "log.h"
#include <segue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lines.h"
#include "problem.h"

/** Bytes of a UUID as text, NUL included. */
#define UUID_TEXT 37

/** Bytes of a message as a value of the library: segue_value_decode_json takes no more. A line may have escapes. */
#define MESSAGE_MOST (16 * 1024 * 1024)

struct channel {
  struct line_writer lines;
  /** the message that is being made */
  segue_writer *writer;
  /** set from the begin of a message to its line */
  bool is_begun;
  /** the number of the last request to the host */
  int64_t last_request;
  /** set when a message could not be added: the session has to end */
  bool is_broken;
};

/** Begins the notification; put its parameters, then channel_send. */
void channel_begin_notification(struct channel *channel, const char *method);
/** Begins a request to the host. Returns its number, which the answer has as its id. */
int64_t channel_begin_request(struct channel *channel, const char *method);
/** Begins the answer to a request. id  borrowed */
void channel_begin_result(struct channel *channel, const segue_value *id);

void channel_put_text(struct channel *channel, const char *key, const char *text, size_t length);
void channel_put_number(struct channel *channel, const char *key, int64_t number);
void channel_put_real(struct channel *channel, const char *key, double number);
void channel_put_bool(struct channel *channel, const char *key, bool value);
/** value  borrowed; NULL: null */
void channel_put_value(struct channel *channel, const char *key, const segue_value *value);
/** {code, message, data} under the key "error". */
void channel_put_error(struct channel *channel, const struct problem *problem);
/** Begins a dictionary or an array; end it with segue_writer_end(channel->writer). */
void channel_begin(struct channel *channel, const char *key, segue_kind kind);

/** A getter of the library for a text, such as segue_offer_get_title. */
typedef segue_status (*text_getter)(const void *object, char **text, size_t *length);
/** Puts what a getter gives, if it gives a text. */
#define channel_put_got(channel, key, getter, object) channel_put_getter(channel, key, (text_getter)(getter), object)
void channel_put_getter(struct channel *channel, const char *key, text_getter getter, const void *object);

/** Ends the message and adds it to those that wait. Returns false if it is too large, or too deep: it is not sent. */
bool channel_try_to_send(struct channel *channel, struct problem *problem);
/** The same; the log alone names the problem. */
bool channel_send(struct channel *channel);
/** Answers a request with an error. id  borrowed, may be NULL: null */
void channel_refuse(struct channel *channel, const segue_value *id, const struct problem *problem);

/** uuid  16 bytes. text  out: UUID_TEXT bytes */
void uuid_write(const uint8_t *uuid, char *text);

#endif
