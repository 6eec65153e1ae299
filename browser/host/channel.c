/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "channel.h"

void channel_put_text(struct channel *channel, const char *key, const char *text) {
  segue_writer_put_string(channel->writer, key, SEGUE_NUL_TERMINATED);
  segue_writer_put_string(channel->writer, text, SEGUE_NUL_TERMINATED);
}

void channel_put_number(struct channel *channel, const char *key, int64_t number) {
  segue_writer_put_string(channel->writer, key, SEGUE_NUL_TERMINATED);
  segue_writer_put_int64(channel->writer, number);
}

segue_writer *channel_begin(struct channel *channel, const char *kind) {
  if (!channel->writer && segue_writer_create(&channel->writer) != SEGUE_OK)
    channel->problem = "there is no memory for a message";
  segue_writer_begin(channel->writer, SEGUE_KIND_DICTIONARY);
  channel_put_text(channel, "t", kind);
  return channel->writer;
}

void channel_send(struct channel *channel) {
  segue_value *message = NULL;
  char *json = NULL;
  size_t length = 0;
  frame_problem problem = NULL;
  segue_writer_end(channel->writer);
  if (segue_writer_finish(channel->writer, &message) != SEGUE_OK ||
      segue_value_encode_json(message, SEGUE_JSON_PLAIN, &json, &length) != SEGUE_OK)
    problem = "a message cannot be written as JSON";
  else
    problem = frame_writer_add(&channel->frames, json, length);
  if (!problem)
    problem = frame_writer_flush(&channel->frames);
  if (problem && !channel->problem)
    channel->problem = problem;
  segue_free(json);
  segue_release(message);
}

void channel_refuse(struct channel *channel, int64_t tab, const char *reason) {
  channel_begin(channel, "refused");
  channel_put_text(channel, "reason", reason);
  if (tab >= 0)
    channel_put_number(channel, "tab", tab);
  channel_send(channel);
}
