/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures the payload of codec.c as tagged JSON text, with Segue, with jansson, and, where it is installed, with
 * yyjson, in turns. Decoding ends when every leaf has been read through public getters, base64 and dates decoded, and
 * the tree released; encoding starts from a finished tree, whose base64 jansson and yyjson have as text already. */
#include "payload_value.h"
#include <jansson.h>
#include <string.h>
#if __has_include(<yyjson.h>)
#include <yyjson.h>
#define HAS_YYJSON 1
#endif

/* ---- Segue ---- */

static char *segue_encode(const segue_value *value, size_t *length) {
  char *text;
  BENCH_CALL(segue_value_encode_json(value, SEGUE_JSON_TAGGED, &text, length));
  return text;
}

static void segue_decode_once(const char *text, size_t length, struct payload_sum *sum) {
  segue_value *value;
  BENCH_CALL(segue_value_decode_json(text, length, SEGUE_JSON_TAGGED, &value));
  segue_read(value, sum);
}

/* ---- what the others need besides ---- */

static int8_t base64_number[256];

static void base64_prepare(void) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  memset(base64_number, -1, sizeof base64_number);
  for (int i = 0; i < 64; i++)
    base64_number[(uint8_t)alphabet[i]] = (int8_t)i;
}

/** Decodes base64 of groups of four, the last one padded; refuses other characters. */
static size_t base64_decode(const char *text, size_t length, uint8_t *bytes) {
  size_t count = 0;
  size_t pads = length > 1 ? (text[length - 1] == '=') + (text[length - 2] == '=') : 0;
  for (size_t from = 0; from < length; from += 4) {
    bool last = from + 4 == length;
    int numbers[4];
    for (int i = 0; i < 4; i++)
      numbers[i] = last && i >= 4 - (int)pads ? 0 : base64_number[(uint8_t)text[from + (size_t)i]];
    if ((numbers[0] | numbers[1] | numbers[2] | numbers[3]) < 0)
      bench_fail("base64", "another character");
    uint32_t word = (uint32_t)(numbers[0] << 18 | numbers[1] << 12 | numbers[2] << 6 | numbers[3]);
    bytes[count++] = (uint8_t)(word >> 16);
    bytes[count++] = (uint8_t)(word >> 8);
    bytes[count++] = (uint8_t)word;
  }
  return count - pads;
}

static void read_text(const char *text, size_t length, struct payload_sum *sum) {
  uint8_t copy[1024];
  memcpy(copy, text, length);
  sum->bytes += length + copy[0];
  sum->items++;
}

static void read_data(const char *text, size_t length, struct payload_sum *sum) {
  uint8_t bytes[1024];
  sum->bytes += base64_decode(text, length, bytes) + bytes[0];
  sum->items++;
}

/* ---- jansson ---- */

static void jansson_read(json_t *item, struct payload_sum *sum) {
  switch (json_typeof(item)) {
  case JSON_INTEGER:
    sum->numbers += (uint64_t)json_integer_value(item);
    break;
  case JSON_REAL:
    sum->reals += json_real_value(item);
    break;
  case JSON_STRING:
    read_text(json_string_value(item), json_string_length(item), sum);
    return;
  case JSON_ARRAY:
    for (size_t i = 0; i < json_array_size(item); i++)
      jansson_read(json_array_get(item, i), sum);
    break;
  case JSON_OBJECT: {
    const char *key;
    json_t *value;
    json_object_foreach(item, key, value) {
      if (key[0] == '$' && json_object_size(item) == 1) {
        if (strcmp(key, "$data") == 0) {
          read_data(json_string_value(value), json_string_length(value), sum);
        } else if (strcmp(key, "$date") == 0) {
          sum->reals += json_number_value(value);
          sum->items++;
        } else {
          bench_fail("jansson", "an unknown tag");
        }
        return;
      }
      read_text(key, strlen(key), sum);
      jansson_read(value, sum);
    }
    break;
  }
  default:
    sum->numbers += json_is_true(item);
  }
  sum->items++;
}

static json_t *jansson_load(const char *text, size_t length) {
  json_error_t error;
  json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (root == NULL)
    bench_fail("jansson", error.text);
  return root;
}

static void jansson_decode_once(const char *text, size_t length, struct payload_sum *sum) {
  json_t *root = jansson_load(text, length);
  jansson_read(root, sum);
  json_decref(root);
}

/** Sixteen digits are enough for the doubles of this payload: the text is the same. */
static char *jansson_encode(const json_t *root) {
  char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(16));
  if (text == NULL)
    bench_fail("jansson", "dump");
  return text;
}

/* ---- yyjson ---- */

#ifdef HAS_YYJSON
static void yyjson_read_item(yyjson_val *item, struct payload_sum *sum) {
  size_t index, count;
  yyjson_val *key, *value;
  switch (yyjson_get_type(item)) {
  case YYJSON_TYPE_NUM:
    if (yyjson_is_real(item))
      sum->reals += yyjson_get_real(item);
    else
      sum->numbers += yyjson_get_uint(item);
    break;
  case YYJSON_TYPE_STR:
    read_text(yyjson_get_str(item), yyjson_get_len(item), sum);
    return;
  case YYJSON_TYPE_ARR:
    yyjson_arr_foreach(item, index, count, value) yyjson_read_item(value, sum);
    break;
  case YYJSON_TYPE_OBJ:
    yyjson_obj_foreach(item, index, count, key, value) {
      if (yyjson_get_str(key)[0] == '$' && count == 1) {
        if (yyjson_equals_str(key, "$data")) {
          read_data(yyjson_get_str(value), yyjson_get_len(value), sum);
        } else {
          sum->reals += yyjson_get_num(value);
          sum->items++;
        }
        return;
      }
      read_text(yyjson_get_str(key), yyjson_get_len(key), sum);
      yyjson_read_item(value, sum);
    }
    break;
  default:
    sum->numbers += yyjson_is_true(item);
  }
  sum->items++;
}

static void yyjson_decode_once(const char *text, size_t length, struct payload_sum *sum) {
  yyjson_doc *document = yyjson_read(text, length, 0);
  if (document == NULL)
    bench_fail("yyjson", "read");
  yyjson_read_item(yyjson_doc_get_root(document), sum);
  yyjson_doc_free(document);
}
#endif

/* ---- all, in turns ---- */

enum { ENCODE_SEGUE, ENCODE_JANSSON, DECODE_SEGUE, DECODE_JANSSON, ENCODE_YYJSON, DECODE_YYJSON, FIGURES };

/* json ROUNDS */
int main(int count, char **arguments) {
  if (count != 2)
    bench_fail("usage", "json ROUNDS");
  enum { CALLS = 1000 };
  size_t rounds = bench_count(arguments[1]);
  base64_prepare();
  segue_value *value = segue_build();
  size_t length;
  char *text = segue_encode(value, &length);
  json_t *root = jansson_load(text, length);
  char *other = jansson_encode(root);
  if (strcmp(text, other) != 0)
    bench_fail("json", "the two texts differ");
  free(other);
  struct payload_sum ours = {0}, theirs = {0};
  segue_decode_once(text, length, &ours);
  jansson_decode_once(text, length, &theirs);
  if (ours.items < 60 || !same(ours, theirs))
    bench_fail("json", "the two libraries read different leaves");
  int figures = ENCODE_YYJSON;
#ifdef HAS_YYJSON
  figures = FIGURES;
  yyjson_doc *document = yyjson_read(text, length, 0);
  struct payload_sum third = {0};
  yyjson_decode_once(text, length, &third);
  if (!same(ours, third))
    bench_fail("json", "yyjson reads different leaves");
#endif

  double *samples[FIGURES];
  for (int f = 0; f < FIGURES; f++)
    samples[f] = calloc(rounds, sizeof(double));
  for (size_t r = 0; r < rounds; r++) {
    double start = bench_now_us(), end;
#define TIMED(figure, call)                                                                                            \
  for (int i = 0; i < CALLS; i++)                                                                                      \
    call;                                                                                                              \
  end = bench_now_us();                                                                                                \
  samples[figure][r] = (end - start) * 1e3 / CALLS;                                                                    \
  start = end
    TIMED(ENCODE_SEGUE, segue_free(segue_encode(value, &length)));
    TIMED(ENCODE_JANSSON, free(jansson_encode(root)));
    TIMED(DECODE_SEGUE, segue_decode_once(text, length, &ours));
    TIMED(DECODE_JANSSON, jansson_decode_once(text, length, &theirs));
#ifdef HAS_YYJSON
    TIMED(ENCODE_YYJSON, free(yyjson_write(document, 0, NULL)));
    TIMED(DECODE_YYJSON, yyjson_decode_once(text, length, &third));
#endif
  }
  static const char *const names[FIGURES] = {"encode_segue_ns",   "encode_jansson_ns", "decode_segue_ns",
                                             "decode_jansson_ns", "encode_yyjson_ns",  "decode_yyjson_ns"};
  for (int f = 0; f < figures; f++)
    bench_print(names[f], bench_percentile(samples[f], rounds, 50));
  bench_print("text_bytes", (double)length);
#ifdef HAS_YYJSON
  yyjson_doc_free(document);
#endif
  segue_free(text);
  segue_release(value);
  json_decref(root);
  return 0;
}
