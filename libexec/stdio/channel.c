/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "channel.h"
#include "utf8.h"

#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static void put_key(struct channel *channel, const char *key) {
  segue_writer_put_string(channel->writer, key, SEGUE_NUL_TERMINATED);
}

/** Begins any message. */
static void begin(struct channel *channel) {
  segue_value *unsent = NULL;
  if (!channel->writer)
    segue_writer_create(&channel->writer);
  /* Nothing is left of a message that was not sent. */
  if (channel->is_begun)
    segue_writer_finish(channel->writer, &unsent);
  segue_release(unsent);
  channel->is_begun = true;
  segue_writer_begin(channel->writer, SEGUE_KIND_DICTIONARY);
  channel_put_text(channel, "jsonrpc", "2.0", SEGUE_NUL_TERMINATED);
}

void channel_begin_notification(struct channel *channel, const char *method) {
  begin(channel);
  channel_put_text(channel, "method", method, SEGUE_NUL_TERMINATED);
  channel_begin(channel, "params", SEGUE_KIND_DICTIONARY);
}

int64_t channel_begin_request(struct channel *channel, const char *method) {
  begin(channel);
  channel_put_number(channel, "id", ++channel->last_request);
  channel_put_text(channel, "method", method, SEGUE_NUL_TERMINATED);
  channel_begin(channel, "params", SEGUE_KIND_DICTIONARY);
  return channel->last_request;
}

void channel_begin_result(struct channel *channel, const segue_value *id) {
  begin(channel);
  channel_put_value(channel, "id", id);
  channel_begin(channel, "result", SEGUE_KIND_DICTIONARY);
}

void channel_put_text(struct channel *channel, const char *key, const char *text, size_t length) {
  put_key(channel, key);
  segue_writer_put_string(channel->writer, text, length);
}

void channel_put_number(struct channel *channel, const char *key, int64_t number) {
  put_key(channel, key);
  segue_writer_put_int64(channel->writer, number);
}

void channel_put_real(struct channel *channel, const char *key, double number) {
  put_key(channel, key);
  segue_writer_put_double(channel->writer, number);
}

void channel_put_bool(struct channel *channel, const char *key, bool value) {
  put_key(channel, key);
  segue_writer_put_bool(channel->writer, value);
}

void channel_put_value(struct channel *channel, const char *key, const segue_value *value) {
  put_key(channel, key);
  if (value)
    segue_writer_put_value(channel->writer, value);
  else
    segue_writer_put_null(channel->writer);
}

void channel_begin(struct channel *channel, const char *key, segue_kind kind) {
  put_key(channel, key);
  segue_writer_begin(channel->writer, kind);
}

void channel_put_getter(struct channel *channel, const char *key, text_getter getter, const void *object) {
  char *text = NULL;
  size_t length = 0;
  if (getter(object, &text, &length) == SEGUE_OK && text)
    channel_put_text(channel, key, text, length);
  segue_free(text);
}

/** Puts a text that may have been cut inside a character. */
static void put_cut_text(struct channel *channel, const char *key, const char *text) {
  channel_put_text(channel, key, text, utf8_length(text, strlen(text)));
}

void channel_put_error(struct channel *channel, const struct problem *problem) {
  int32_t foundation = segue_status_foundation_code(problem->status);
  channel_begin(channel, "error", SEGUE_KIND_DICTIONARY);
  channel_put_number(channel, "code", problem->code);
  put_cut_text(channel, "message", problem->message);
  channel_begin(channel, "data", SEGUE_KIND_DICTIONARY);
  channel_put_text(channel, "status", segue_status_name(problem->status), SEGUE_NUL_TERMINATED);
  if (foundation != 0)
    channel_put_number(channel, "foundation", foundation);
  if (problem->path[0] != '\0')
    put_cut_text(channel, "path", problem->path);
  segue_writer_end(channel->writer);
  segue_writer_end(channel->writer);
}

/** Encodes the message and adds its line. */
static bool add_line(struct channel *channel, struct problem *problem) {
  segue_value *message = NULL;
  char *line = NULL;
  size_t length = 0;
  bool is_good = (segue_writer_finish(channel->writer, &message) == SEGUE_OK &&
                  segue_value_encode_json(message, SEGUE_JSON_TAGGED, &line, &length) == SEGUE_OK) ||
                 problem_library(problem, "");
  channel->is_begun = false;
  if (is_good && length > channel->lines.most)
    is_good = problem_status(problem, SEGUE_ERROR_LIMIT_EXCEEDED, "",
                             "the message does not fit into a line; open with a larger lineBytes");
  else if (is_good && !line_writer_add(&channel->lines, line, length))
    channel->is_broken = true;
  segue_free(line);
  segue_release(message);
  if (!is_good)
    log_line("a message was not sent: %s", problem->message);
  return is_good;
}

bool channel_try_to_send(struct channel *channel, struct problem *problem) {
  segue_writer_end(channel->writer);
  segue_writer_end(channel->writer);
  return add_line(channel, problem);
}

bool channel_send(struct channel *channel) {
  struct problem problem;
  return channel_try_to_send(channel, &problem);
}

void channel_refuse(struct channel *channel, const segue_value *id, const struct problem *problem) {
  struct problem unsent;
  begin(channel);
  channel_put_value(channel, "id", id);
  channel_put_error(channel, problem);
  segue_writer_end(channel->writer);
  add_line(channel, &unsent);
}

void uuid_write(const uint8_t *uuid, char *text) {
  static const char digits[] = "0123456789abcdef";
  for (int index = 0; index < SEGUE_ID_SIZE; index++) {
    if (index == 4 || index == 6 || index == 8 || index == 10)
      *text++ = '-';
    *text++ = digits[uuid[index] >> 4];
    *text++ = digits[uuid[index] & 15];
  }
  *text = '\0';
}
