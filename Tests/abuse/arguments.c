/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arguments at random. Most are good, or few calls would get far. The wrong ones are wrong in a way that a library can
 * see: a length is never more than the memory behind its pointer, unless it is more than any limit of segue.h. */
#include "abuse.h"
#include <math.h>

/** More than the highest limit, 16 MiB, so that a length may be too large and still be true. Not under ThreadSanitizer:
 * unoptimised Swift then takes minutes for a text of that size, which would pass for a call that hangs. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
enum { LONGEST = 64 << 10 };
#else
enum { LONGEST = (16 << 20) + 64 };
#endif
#else
enum { LONGEST = (16 << 20) + 64 };
#endif
static const char long_text[LONGEST];

static const struct bytes texts[] = {
    TEXT("com.example.a"),
    TEXT("com.example.b"),
    TEXT("com.example.editing"),
    TEXT("com.example.editing"),
    TEXT("title"),
    TEXT("bool"),
    TEXT("integer"),
    TEXT("real"),
    TEXT("date"),
    TEXT("text"),
    TEXT("data"),
    TEXT("https://example.com/page?q=1#here"),
    TEXT("http://[::1]:8080/%41"),
    TEXT("ftp://example.com/"),
    TEXT("https://exa mple.com/"),
    TEXT(":"),
    TEXT(""),
    TEXT("a\0b"),
    TEXT("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\x81"),
    TEXT("e\xcc\x81"),
    TEXT("\xff"),
    TEXT("\xc0\x80"),
    TEXT("\xed\xa0\x80"),
    TEXT("\xf4\x90\x80\x80"),
    TEXT("\xe2\x82"),
    TEXT("a line\nand\tanother\r\x1b[0m\x7f"),
};

/** An entry of each kind that there is a function for. */
#define DICTIONARY                                                                                                     \
  TEXT("\xa7\x64"                                                                                                      \
       "bool\xf5\x67"                                                                                                  \
       "integer\x01\x64"                                                                                               \
       "real\xfb\x3f\xf8\0\0\0\0\0\0\x64"                                                                              \
       "date\xc1\xfb\x41\xd0\0\0\0\0\0\0\x64"                                                                          \
       "text\x61k\x64"                                                                                                 \
       "data\x41\0\x65"                                                                                                \
       "title\x80")

static const struct bytes data[] = {
    DICTIONARY,
    DICTIONARY,
    DICTIONARY,
    DICTIONARY,
    TEXT("\xd9\xd9\xf7\x82\x01\xa1\x64type\x73"
         "com.example.editing"),
    TEXT("\xd9\xd9\xf7\x82\x01\xa1\x64type\x73"
         "com.example.editin"),
    TEXT("\xa0"),
    TEXT("\x61k"),
    TEXT("\xd9\x01\x02\x82\x61k\x61z"),
    TEXT("\x82\x61k\x61z"),
    TEXT("\xc1\xfb\x41\xd0\0\0\0\0\0\0"),
    TEXT("\x5b\xff\xff\xff\xff\xff\xff\xff\xff"),
    TEXT("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff"),
    TEXT("\xbf\x61k\x01\x61k\x02\xff"),
    TEXT("\x81\x81\x81\x81\x81\x81"),
    TEXT("\xc2\x49\x01\0\0\0\0\0\0\0\0"),
    TEXT("\x7f\x61k\x61z\xff"),
    TEXT("\xf7"),
    TEXT("\xff\xff\xff\xff"),
    TEXT("0123456789abcdef"),
};

static const size_t no_lengths[] = {SIZE_MAX - 1, (size_t)PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, (size_t)1 << 40,
                                    (size_t)1 << 32};
static const double reals[] = {
    0, -0.0, 1, -1, 1.5, NAN, INFINITY, 1e10, 1e18, 1e308, 5e-324, 9007199254740993.0, -62135596800.0};

struct bytes any_text(void) {
  return ANY(texts);
}
struct bytes any_data(void) {
  return ANY(data);
}

static void set_length(struct call *call, int index, size_t length) {
  int place = call->function->parameters[index].length;
  if (place >= 0)
    call->words[place] = length;
}

/** Bytes with a true length, SEGUE_NUL_TERMINATED where there is a NUL, or one over all limits. */
static uint64_t make_bytes(struct call *call, int index, struct bytes some) {
  uint32_t kind = draw(64);
  size_t length = some.count;
  if (kind < 8)
    length = call->function->parameters[index].role == ROLE_STRING ? SEGUE_NUL_TERMINATED : length;
  else if (kind == 8)
    length = ANY(no_lengths);
  else if (kind == 9)
    length = draw((uint32_t)some.count + 1);
  else if (kind == 10)
    some.start = long_text, length = draw(16) ? draw(10000) : LONGEST - draw(128);
  else if (kind == 11)
    some.start = NULL, length = draw(2);
  set_length(call, index, length);
  return (uintptr_t)some.start;
}

static uint64_t junk(void) {
  static const uint64_t some[] = {1,
                                  8,
                                  4096,
                                  UINT64_MAX,
                                  (uint64_t)0x5E << 56,
                                  (uint64_t)0x5E01FFFFFF000001,
                                  (uint64_t)0x5F << 56,
                                  (uint64_t)0x5F01FFFFFF000001};
  switch (draw(3)) {
  case 0:
    return ANY(some);
  case 1:
    return (uintptr_t)texts;
  default: /* the highest bit of the generation: 8 million lives away */
    return pool_look((int)draw((uint32_t)handle_count)) ^ 1 << 23;
  }
}

/** One of those without which little else happens; they are seldom released. */
static bool is_needed(int type) {
  static const char *const needed[] = {"segue_app", "segue_activity", "segue_activity_delegate", "segue_app_delegate"};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (strcmp(handle_types[type], needed[i]) == 0)
      return true;
  return false;
}

static int any_type(bool releases) {
  int type;
  do
    type = (int)draw((uint32_t)handle_count);
  while (releases && is_needed(type) && draw(16));
  return type;
}

static uint64_t make_handle(struct call *call, const struct parameter *parameter) {
  bool releases = is_called(call->function, "segue_release");
  bool may_have_any = parameter->handle == ANY_HANDLE;
  int type = call->type = may_have_any ? any_type(releases) : parameter->handle;
  uint64_t handle;
  switch (draw(24)) {
  case 0:
    handle = 0;
    break;
  case 1:
    call->must_fail = true;
    return junk();
  case 2: {
    int other = (int)draw((uint32_t)handle_count);
    handle = pool_look(other);
    if (may_have_any || other == type) {
      handle = pool_stale(type);
    } else if (handle) {
      call->must_fail = true;
      return handle;
    }
    break;
  }
  case 3:
    handle = pool_stale(type);
    break;
  default:
    handle = releases ? call->taken = pool_take(type) : pool_look(type);
  }
  if (!handle && !parameter->nullable)
    call->must_fail = true;
  return handle;
}

static uint64_t make_list(struct call *call, int index, const struct parameter *parameter) {
  size_t count = draw(4);
  for (size_t i = 0; i < count; i++)
    call->list[i] = pool_look(parameter->handle);
  if (draw(32) == 0)
    call->list[count++] = junk(), call->must_fail = true;
  set_length(call, index, draw(32) == 0 ? ANY(no_lengths) : count);
  return (uintptr_t)call->list;
}

static uint64_t make_value(struct call *call, const struct parameter *parameter) {
  double real;
  uint64_t word;
  /* For ever is too long for a test, and a time that is long is no other case than a short one. */
  if (strcmp(parameter->name, "wait_ms") == 0)
    return draw(3);
  if (strcmp(parameter->name, "timeout_ms") == 0) {
    if (is_called(call->function, "segue_app_ask_agent") && !request_waits(call->request) && draw(8))
      return 0;
    return draw(32) == 0 ? draw_word() : draw(3);
  }
  /* The same with the time and the life of a fleet, which are all spent inside the call. */
  if (strcmp(parameter->name, "milliseconds") == 0 || strcmp(parameter->name, "events") == 0)
    return draw(32) ? draw(200) : UINT64_MAX - draw_word() / 2;
  if (strcmp(parameter->name, "fd") == 0)
    return (uint64_t)(call->descriptor = draw(4) ? descriptor_take() : descriptor_junk());
  switch (parameter->type) {
  case TYPE_BOOL:
    return draw(2);
  case TYPE_DOUBLE:
    real = ANY(reals);
    memcpy(&word, &real, 8);
    return word;
  case TYPE_INT32:
  case TYPE_UINT32:
    return draw(8) ? draw(14) : draw_word();
  default:
    return draw(3) == 0 ? draw(5) : draw(2) ? draw(100000) : draw_word();
  }
}

/** A place that is large enough, or NULL. */
static uint64_t make_output(struct call *call, int index, const struct parameter *parameter) {
  bool null = draw(12) == 0;
  if (null && parameter->required)
    call->must_fail = true;
  if (parameter->role == ROLE_HANDLES) {
    set_length(call, index, null ? draw(2) : draw(32) ? draw(MOST_OFFERS) : SIZE_MAX - draw(2));
    return null ? 0 : (uintptr_t)call->list;
  }
  if (parameter->length >= 0 && call->function->parameters[parameter->length].is_in) {
    set_length(call, index, null ? draw_word() : draw(BUFFER + 1));
    return null ? 0 : (uintptr_t)call->buffer;
  }
  return null ? 0 : (uintptr_t)(call->outputs + index * ROOM);
}

static uint64_t make_argument(struct call *call, int index) {
  const struct parameter *parameter = &call->function->parameters[index];
  if (!parameter->is_in)
    return make_output(call, index, parameter);
  switch (parameter->role) {
  case ROLE_HANDLE:
    if (strcmp(parameter->name, "options") == 0 && draw(4))
      return call->options = make_options(call->request);
    return make_handle(call, parameter);
  case ROLE_HANDLES:
    return make_list(call, index, parameter);
  case ROLE_STRING:
    if (strcmp(parameter->name, "folder") == 0)
      return make_bytes(call, index, (struct bytes){folder, strlen(folder)});
    if (strcmp(parameter->name, "path") == 0)
      return make_bytes(call, index, (struct bytes)TEXT("file"));
    if (strcmp(parameter->name, "request") == 0) {
      call->request = draw(16) ? (int)draw((uint32_t)request_count) : -1;
      return make_bytes(call, index, request_name(call->request));
    }
    /* So that some are there. */
    if (strcmp(parameter->name, "name") == 0 && strstr(call->function->name, "attach") && draw(4))
      return make_bytes(call, index, (struct bytes)TEXT("attached"));
    return make_bytes(call, index, ANY(texts));
  case ROLE_DATA:
    if (parameter->size)
      return draw(parameter->nullable ? 2 : 16) ? (uintptr_t)long_text : 0;
    return make_bytes(call, index, ANY(data));
  case ROLE_CALLBACK:
    if (parameter->is_destroy)
      return call->context ? (uintptr_t)parameter->callback : 0;
    return draw(12) ? (uintptr_t)parameter->callback : 0;
  case ROLE_CONTEXT:
    return call->context = draw(8) ? context_make() : 0;
  case ROLE_MEMORY:
    return memory_take();
  default:
    return make_value(call, parameter);
  }
}

void make_arguments(struct call *call) {
  bool is_set[MOST_PARAMETERS] = {false};
  if (call->function->count > MOST_PARAMETERS)
    fail("more parameters than there is room for", call->function->name);
  for (int i = 0; i < call->function->count; i++) {
    int length = call->function->parameters[i].length;
    if (length >= 0 && call->function->parameters[length].is_in)
      is_set[length] = true;
  }
  for (int i = 0; i < call->function->count; i++)
    if (!is_set[i])
      call->words[i] = make_argument(call, i);
}
