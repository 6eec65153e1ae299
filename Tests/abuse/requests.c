/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Requests to the agent, with options at random: those that the header lists, most of them of the right kind. */
#include "abuse.h"

/** Texts that some options need, beside those for all functions. */
static const struct bytes more_texts[] = {
    TEXT("com.example.abuse"),
    TEXT("com.example.launched"),
    TEXT("com.example.editing"),
    TEXT("Home"),
    TEXT("correct horse battery"),
    TEXT("127.0.0.1:4567"),
    TEXT("ask"),
    TEXT("at-once"),
    TEXT("never"),
    TEXT("segue:x"),
};

/** Requests that other calls make, and one that there is not. */
static const struct bytes other_names[] = {TEXT("continue"), TEXT("push"), TEXT("no-such-request")};

struct bytes request_name(int request) {
  if (request < 0)
    return draw(2) ? ANY(other_names) : any_text();
  return (struct bytes){requests[request].name, strlen(requests[request].name)};
}

bool request_waits(int request) {
  static const char *const waiting[] = {"open", "join", "await-join", "account", "pushes"};
  for (size_t i = 0; request >= 0 && i < sizeof waiting / sizeof *waiting; i++)
    if (strcmp(requests[request].name, waiting[i]) == 0)
      return true;
  return false;
}

static const void *look(const char *type) { return (const void *)(uintptr_t)pool_look(handle_type(type)); }

/** An identifier of something that is there, or perhaps was, or zeros. */
static void put_id(segue_writer *writer) {
  uint8_t id[SEGUE_ID_SIZE] = {0};
  switch (draw(4)) {
  case 0:
    segue_offer_get_id(look("segue_offer"), id);
    break;
  case 1:
    segue_activity_get_id(look("segue_activity"), id);
    break;
  case 2:
    segue_continuation_get_id(look("segue_continuation"), id);
    break;
  }
  segue_writer_put_uuid(writer, id);
}

static void put_text(segue_writer *writer) {
  struct bytes text = draw(8) ? ANY(more_texts) : any_text();
  segue_writer_put_string(writer, text.start, text.count);
}

static void put_data(segue_writer *writer) {
  static const uint8_t digest[32];
  struct bytes bytes = draw(2) ? any_data() : (struct bytes){digest, sizeof digest};
  segue_writer_put_data(writer, bytes.start, bytes.count);
}

static void put(segue_writer *writer, enum option_kind kind) {
  switch (kind) {
  case OPTION_BOOL:
    segue_writer_put_bool(writer, draw(2));
    break;
  case OPTION_INTEGER:
    segue_writer_put_int64(writer, draw(2) ? draw(8) : draw(2) ? draw(100000) : (int64_t)draw_word());
    break;
  case OPTION_STRING:
    put_text(writer);
    break;
  case OPTION_DATA:
    put_data(writer);
    break;
  case OPTION_UUID:
    put_id(writer);
    break;
  case OPTION_ARRAY:
    segue_writer_begin(writer, SEGUE_KIND_ARRAY);
    for (uint32_t i = draw(4); i > 0; i--)
      put_text(writer);
    segue_writer_end(writer);
    break;
  }
}

/** An option, now and then of another kind: a value that is there, or one that another option has. */
static void put_option(segue_writer *writer, const struct option *option) {
  segue_writer_put_string(writer, option->name, strlen(option->name));
  switch (draw(24)) {
  case 0:
    if (segue_writer_put_value(writer, look("segue_value")) != SEGUE_OK)
      segue_writer_put_null(writer);
    break;
  case 1:
    put(writer, (enum option_kind)draw(OPTION_ARRAY + 1));
    break;
  default:
    put(writer, option->kind);
  }
}

uint64_t make_options(int request) {
  static const struct option unknown = {"no-such-option", OPTION_INTEGER}, taken = {"timeout", OPTION_INTEGER};
  const struct request *asked = &requests[request < 0 ? (int)draw((uint32_t)request_count) : request];
  segue_writer *writer = NULL;
  segue_value *options = NULL;
  segue_writer_create(&writer);
  segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
  for (int i = 0; i < asked->count; i++)
    if (draw(4))
      put_option(writer, &asked->options[i]);
  if (draw(24) == 0)
    put_option(writer, draw(2) ? &unknown : &taken);
  segue_writer_end(writer);
  segue_writer_finish(writer, &options);
  segue_release(writer);
  return (uintptr_t)options;
}
