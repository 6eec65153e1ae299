/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures an activity with 256 KiB of user_info that names 1,000 files of a container: encoding its document, where
 * the URLs become references, and decoding that in an app that has the container elsewhere. The URLs are keys, elements
 * of sets, and values; the result is checked. */
#include "bench.h"
#include <string.h>

enum { URLS = 1000, SIZE = 256 * 1024 };

#define NUL SEGUE_NUL_TERMINATED
#define HERE "/home/anna/Synchronised files"
#define THERE "/srv/anna"

static segue_app *app_with(const char *folder) {
  segue_app *app;
  BENCH_CALL(segue_app_create("com.example.bench", NUL, &app));
  BENCH_CALL(segue_app_add_container(app, "com.example.files", NUL, folder, NUL));
  BENCH_CALL(segue_app_add_container(app, "com.example.other", NUL, "/home/anna/Other", NUL));
  return app;
}

static void put_url(segue_writer *writer, int number) {
  char url[256];
  snprintf(url, sizeof url, "file:///home/anna/Synchronised%%20files/projects/%d/chapter-%d.txt", number % 17, number);
  BENCH_CALL(segue_writer_put_url(writer, url, NUL));
}

/* A third of the URLs are keys, a third are in a set, and a third are values. */
static segue_value *user_info(size_t size) {
  segue_writer *writer;
  segue_value *value;
  static char text[SIZE];
  memset(text, 't', sizeof text);
  size_t each = size / (URLS / 3) - 220;
  BENCH_CALL(segue_writer_create(&writer));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
  BENCH_CALL(segue_writer_put_string(writer, "set", NUL));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_SET));
  for (int i = 2; i < URLS; i += 3)
    put_url(writer, i);
  BENCH_CALL(segue_writer_end(writer));
  for (int i = 0; i < URLS; i += 3) {
    put_url(writer, i);
    BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_ARRAY));
    if (i + 1 < URLS)
      put_url(writer, i + 1);
    BENCH_CALL(segue_writer_put_string(writer, text, each));
    BENCH_CALL(segue_writer_end(writer));
  }
  BENCH_CALL(segue_writer_end(writer));
  BENCH_CALL(segue_writer_finish(writer, &value));
  BENCH_CALL(segue_release(writer));
  return value;
}

static void check(segue_activity *activity, size_t sent) {
  uint8_t *cbor;
  size_t length;
  BENCH_CALL(segue_activity_get_user_info_cbor(activity, &cbor, &length));
  int urls = 0;
  for (size_t i = 0; i + 21 < length; i++)
    urls += memcmp(cbor + i, "file:///srv/anna/proj", 21) == 0;
  if (urls != URLS || sent < SIZE * 9 / 10 || sent > SIZE)
    bench_fail("containers", "not 1,000 URLs in 256 KiB");
  segue_free(cbor);
}

/* containers ROUNDS */
int main(int count, char **arguments) {
  if (count != 2)
    bench_fail("usage", "containers ROUNDS");
  size_t rounds = bench_count(arguments[1]);
  double *encode = calloc(rounds, sizeof *encode), *decode = calloc(rounds, sizeof *decode);
  double *both = calloc(rounds, sizeof *both);
  segue_app *here = app_with(HERE), *there = app_with(THERE);
  segue_value *value = user_info(SIZE);
  segue_activity *activity;
  BENCH_CALL(segue_activity_create(here, "com.example.editing", NUL, &activity));
  BENCH_CALL(segue_activity_set_user_info(activity, value));
  uint8_t *sent;
  size_t size;
  BENCH_CALL(segue_activity_get_user_info_cbor(activity, &sent, &size));
  segue_free(sent);
  for (size_t i = 0; i < rounds; i++) {
    uint8_t *document;
    size_t length;
    segue_activity *arrived;
    double start = bench_now_us();
    BENCH_CALL(segue_activity_encode(activity, &document, &length));
    double middle = bench_now_us();
    BENCH_CALL(segue_activity_decode(there, document, length, &arrived));
    double end = bench_now_us();
    encode[i] = middle - start, decode[i] = end - middle, both[i] = end - start;
    if (i == 0)
      check(arrived, size);
    segue_free(document);
    BENCH_CALL(segue_release(arrived));
  }
  bench_print("bytes", (double)size);
  bench_print("encode_us", bench_percentile(encode, rounds, 50));
  bench_print("decode_us", bench_percentile(decode, rounds, 50));
  bench_print("both_us", bench_percentile(both, rounds, 50));
  BENCH_CALL(segue_release(activity));
  BENCH_CALL(segue_release(value));
  BENCH_CALL(segue_release(here));
  BENCH_CALL(segue_release(there));
  return 0;
}
