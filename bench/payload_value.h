/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The payload of payload.h as a value of Segue: building it, and reading it. */
#ifndef PAYLOAD_VALUE_H
#define PAYLOAD_VALUE_H

#include "bench.h"
#include "payload.h"

#define STRING(text) (text), SEGUE_NUL_TERMINATED

static segue_value *segue_build(void) {
  segue_writer *writer;
  segue_value *value;
  BENCH_CALL(segue_writer_create(&writer));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
  BENCH_CALL(segue_writer_put_string(writer, STRING("document")));
  BENCH_CALL(segue_writer_put_string(writer, STRING(PAYLOAD_DOCUMENT)));
  BENCH_CALL(segue_writer_put_string(writer, STRING("line")));
  BENCH_CALL(segue_writer_put_int64(writer, PAYLOAD_LINE));
  BENCH_CALL(segue_writer_put_string(writer, STRING("scroll")));
  BENCH_CALL(segue_writer_put_double(writer, PAYLOAD_SCROLL));
  BENCH_CALL(segue_writer_put_string(writer, STRING("thumbnail")));
  BENCH_CALL(segue_writer_put_data(writer, payload_thumbnail(), 256));
  BENCH_CALL(segue_writer_put_string(writer, STRING("edited")));
  BENCH_CALL(segue_writer_put_date(writer, PAYLOAD_EDITED));
  BENCH_CALL(segue_writer_put_string(writer, STRING("selection")));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_ARRAY));
  BENCH_CALL(segue_writer_put_int64(writer, PAYLOAD_SELECTION_START));
  BENCH_CALL(segue_writer_put_int64(writer, PAYLOAD_SELECTION_END));
  BENCH_CALL(segue_writer_end(writer));
  BENCH_CALL(segue_writer_put_string(writer, STRING("outline")));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_ARRAY));
  for (int i = 0; i < PAYLOAD_SECTIONS; i++) {
    char title[32];
    snprintf(title, sizeof title, "Section %d", i);
    BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
    BENCH_CALL(segue_writer_put_string(writer, STRING("title")));
    BENCH_CALL(segue_writer_put_string(writer, STRING(title)));
    BENCH_CALL(segue_writer_put_string(writer, STRING("offset")));
    BENCH_CALL(segue_writer_put_int64(writer, 300 + 300 * i));
    BENCH_CALL(segue_writer_put_string(writer, STRING("folded")));
    BENCH_CALL(segue_writer_put_bool(writer, i % 2 == 1));
    BENCH_CALL(segue_writer_end(writer));
  }
  BENCH_CALL(segue_writer_end(writer));
  BENCH_CALL(segue_writer_put_string(writer, STRING("nested")));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
  BENCH_CALL(segue_writer_put_string(writer, STRING("more")));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
  BENCH_CALL(segue_writer_put_string(writer, STRING("deep")));
  BENCH_CALL(segue_writer_put_string(writer, STRING("value")));
  BENCH_CALL(segue_writer_end(writer));
  BENCH_CALL(segue_writer_end(writer));
  BENCH_CALL(segue_writer_end(writer));
  BENCH_CALL(segue_writer_finish(writer, &value));
  BENCH_CALL(segue_release(writer));
  return value;
}

/** Reads every leaf, copies the bytes of strings and data out, and releases the value. */
static void segue_read(segue_value *value, struct payload_sum *sum) {
  segue_reader *reader;
  segue_item item;
  uint8_t copy[1024];
  BENCH_CALL(segue_reader_create(value, &reader));
  while (segue_reader_next(reader, &item, copy, sizeof copy) == SEGUE_OK) {
    switch (item.kind) {
    case SEGUE_KIND_STRING:
    case SEGUE_KIND_DATA:
      sum->bytes += item.count + copy[0];
      break;
    case SEGUE_KIND_INTEGER:
      sum->numbers += item.as.uint64;
      break;
    case SEGUE_KIND_BOOL:
      sum->numbers += item.as.boolean;
      break;
    case SEGUE_KIND_DOUBLE:
    case SEGUE_KIND_DATE:
      sum->reals += item.as.real;
      break;
    case SEGUE_KIND_END:
      continue;
    default:
      break;
    }
    sum->items++;
  }
  segue_release(reader);
  segue_release(value);
}

/** Whether two libraries have read the same leaves. */
static bool same(struct payload_sum a, struct payload_sum b) {
  return a.items == b.items && a.bytes == b.bytes && a.numbers == b.numbers && a.reals > b.reals - 1 &&
         a.reals < b.reals + 1;
}

#endif
