/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures encoding and decoding one activity payload with Segue and with libcbor, in turns. Encoding starts from a
 * tree in memory; decoding ends when every leaf has been read through public getters, the bytes of strings and data
 * copied out, and the tree released. */
#include "payload_value.h"
#include <cbor.h>
#include <string.h>

/* ---- Segue ---- */

static size_t segue_encode_once(const segue_value *value) {
  uint8_t *cbor;
  size_t length;
  BENCH_CALL(segue_value_encode(value, &cbor, &length));
  segue_free(cbor);
  return length;
}

static void segue_decode_once(const uint8_t *cbor, size_t length, struct payload_sum *sum) {
  segue_value *value;
  BENCH_CALL(segue_value_decode(cbor, length, &value));
  segue_read(value, sum);
}

/* ---- libcbor ---- */

static void put(cbor_item_t *map, const char *key, cbor_item_t *value) {
  cbor_item_t *name = cbor_build_string(key);
  if (!cbor_map_add(map, (struct cbor_pair){cbor_move(name), cbor_move(value)}))
    bench_fail("libcbor", "map full");
}

static cbor_item_t *libcbor_build(void) {
  cbor_item_t *root = cbor_new_definite_map(8);
  put(root, "document", cbor_build_string(PAYLOAD_DOCUMENT));
  put(root, "line", cbor_build_uint16(PAYLOAD_LINE));
  put(root, "scroll", cbor_build_float8(PAYLOAD_SCROLL));
  put(root, "thumbnail", cbor_build_bytestring(payload_thumbnail(), 256));
  put(root, "edited", cbor_build_tag(1, cbor_move(cbor_build_float8(PAYLOAD_EDITED))));
  cbor_item_t *selection = cbor_new_definite_array(2);
  (void)cbor_array_push(selection, cbor_move(cbor_build_uint8(PAYLOAD_SELECTION_START)));
  (void)cbor_array_push(selection, cbor_move(cbor_build_uint16(PAYLOAD_SELECTION_END)));
  put(root, "selection", selection);
  cbor_item_t *outline = cbor_new_definite_array(PAYLOAD_SECTIONS);
  for (int i = 0; i < PAYLOAD_SECTIONS; i++) {
    char title[32];
    snprintf(title, sizeof title, "Section %d", i);
    cbor_item_t *section = cbor_new_definite_map(3);
    put(section, "title", cbor_build_string(title));
    put(section, "offset", cbor_build_uint16((uint16_t)(300 + 300 * i)));
    put(section, "folded", cbor_build_bool(i % 2 == 1));
    (void)cbor_array_push(outline, cbor_move(section));
  }
  put(root, "outline", outline);
  cbor_item_t *nested = cbor_new_definite_map(1), *more = cbor_new_definite_map(1);
  put(more, "deep", cbor_build_string("value"));
  put(nested, "more", more);
  put(root, "nested", nested);
  return root;
}

static size_t libcbor_encode_once(const cbor_item_t *root) {
  unsigned char *cbor;
  size_t capacity, length = cbor_serialize_alloc(root, &cbor, &capacity);
  if (length == 0)
    bench_fail("libcbor", "serialize");
  free(cbor);
  return length;
}

static void libcbor_read(cbor_item_t *item, struct payload_sum *sum, bool counted) {
  uint8_t copy[1024];
  sum->items += counted;
  switch (cbor_typeof(item)) {
  case CBOR_TYPE_UINT:
    sum->numbers += cbor_get_int(item);
    break;
  case CBOR_TYPE_STRING:
    memcpy(copy, cbor_string_handle(item), cbor_string_length(item));
    sum->bytes += cbor_string_length(item) + copy[0];
    break;
  case CBOR_TYPE_BYTESTRING:
    memcpy(copy, cbor_bytestring_handle(item), cbor_bytestring_length(item));
    sum->bytes += cbor_bytestring_length(item) + copy[0];
    break;
  case CBOR_TYPE_ARRAY:
    for (size_t i = 0; i < cbor_array_size(item); i++)
      libcbor_read(cbor_array_handle(item)[i], sum, true);
    break;
  case CBOR_TYPE_MAP:
    for (size_t i = 0; i < cbor_map_size(item); i++) {
      libcbor_read(cbor_map_handle(item)[i].key, sum, true);
      libcbor_read(cbor_map_handle(item)[i].value, sum, true);
    }
    break;
  case CBOR_TYPE_TAG: { /* a date is one item in Segue, a tag and a number here */
    cbor_item_t *inner = cbor_tag_item(item);
    libcbor_read(inner, sum, false);
    cbor_decref(&inner);
    break;
  }
  default:
    if (cbor_is_float(item))
      sum->reals += cbor_float_get_float(item);
    else
      sum->numbers += cbor_get_bool(item);
  }
}

static void libcbor_decode_once(const uint8_t *cbor, size_t length, struct payload_sum *sum) {
  struct cbor_load_result result;
  cbor_item_t *root = cbor_load(cbor, length, &result);
  if (root == NULL)
    bench_fail("libcbor", "load");
  libcbor_read(root, sum, true);
  cbor_decref(&root);
}

/* ---- both, in turns ---- */

enum { ENCODE_SEGUE, ENCODE_LIBCBOR, DECODE_SEGUE, DECODE_LIBCBOR, BUILD_SEGUE, BUILD_LIBCBOR, FIGURES };

/* codec ROUNDS */
int main(int count, char **arguments) {
  if (count != 2)
    bench_fail("usage", "codec ROUNDS");
  enum { CALLS = 1000 };
  size_t rounds = bench_count(arguments[1]);
  segue_value *value = segue_build();
  cbor_item_t *root = libcbor_build();

  uint8_t *cbor;
  size_t length;
  BENCH_CALL(segue_value_encode(value, &cbor, &length));
  if (length != libcbor_encode_once(root))
    bench_fail("codec", "the two encodings differ in length");
  struct payload_sum ours = {0}, theirs = {0};
  segue_decode_once(cbor, length, &ours);
  libcbor_decode_once(cbor, length, &theirs);
  if (ours.items < 60 || !same(ours, theirs))
    bench_fail("codec", "the two libraries read different leaves");

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
    TIMED(ENCODE_SEGUE, segue_encode_once(value));
    TIMED(ENCODE_LIBCBOR, libcbor_encode_once(root));
    TIMED(DECODE_SEGUE, segue_decode_once(cbor, length, &ours));
    TIMED(DECODE_LIBCBOR, libcbor_decode_once(cbor, length, &theirs));
    TIMED(BUILD_SEGUE, segue_release(segue_build()));
    TIMED(BUILD_LIBCBOR, ({
            cbor_item_t *tree = libcbor_build();
            libcbor_encode_once(tree);
            cbor_decref(&tree);
          }));
  }
  static const char *const names[FIGURES] = {"encode_segue_ns",   "encode_libcbor_ns", "decode_segue_ns",
                                             "decode_libcbor_ns", "build_segue_ns",    "build_libcbor_ns"};
  for (int f = 0; f < FIGURES; f++)
    bench_print(names[f], bench_percentile(samples[f], rounds, 50));
  bench_print("payload_bytes", (double)length);
  segue_free(cbor);
  segue_release(value);
  cbor_decref(&root);
  return 0;
}
