/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD 4

static size_t smaller(size_t one, size_t other) { return one < other ? one : other; }

/** Makes room for more bytes behind those that are there. */
static bool grow(void **bytes, size_t *capacity, size_t needed) {
  if (needed <= *capacity)
    return true;
  size_t larger = *capacity < 4096 ? 4096 : *capacity * 2;
  if (larger < needed)
    larger = needed;
  void *moved = realloc(*bytes, larger);
  if (!moved)
    return false;
  *bytes = moved;
  *capacity = larger;
  return true;
}

frame_problem frame_reader_take(struct frame_reader *reader, const unsigned char *bytes, size_t count,
                                frame_function function, void *context) {
  while (count > 0) {
    if (reader->received < HEAD) {
      size_t part = smaller(count, HEAD - reader->received);
      memcpy(reader->head + reader->received, bytes, part);
      reader->received += part;
      bytes += part;
      count -= part;
      if (reader->received < HEAD)
        return NULL;
      memcpy(&reader->length, reader->head, HEAD);
      if (reader->length == 0)
        return "a frame is empty";
      if (reader->length > FRAME_MOST)
        return "a frame is longer than 256 KiB";
    }
    size_t body = reader->received - HEAD;
    size_t part = smaller(count, reader->length - body);
    if (!grow((void **)&reader->body, &reader->capacity, body + part))
      return "there is no memory for a frame";
    memcpy(reader->body + body, bytes, part);
    reader->received += part;
    bytes += part;
    count -= part;
    if (reader->received - HEAD == reader->length) {
      reader->received = 0;
      if (!function(context, reader->body, reader->length))
        return NULL;
    }
  }
  return NULL;
}

frame_problem frame_writer_add(struct frame_writer *writer, const char *json, size_t length) {
  if (length == 0 || length > FRAME_MOST)
    return "a frame for the browser is longer than 256 KiB";
  size_t waiting = writer->end - writer->begin;
  if (waiting + HEAD + length > QUEUE_MOST)
    return "the browser does not read";
  if (writer->begin > 0) {
    memmove(writer->bytes, writer->bytes + writer->begin, waiting);
    writer->begin = 0;
    writer->end = waiting;
  }
  if (!grow((void **)&writer->bytes, &writer->capacity, waiting + HEAD + length))
    return "there is no memory for a frame";
  uint32_t head = (uint32_t)length;
  memcpy(writer->bytes + waiting, &head, HEAD);
  memcpy(writer->bytes + waiting + HEAD, json, length);
  writer->end = waiting + HEAD + length;
  return NULL;
}

frame_problem frame_writer_flush(struct frame_writer *writer) {
  while (writer->begin < writer->end) {
    ssize_t written = write(writer->descriptor, writer->bytes + writer->begin, writer->end - writer->begin);
    if (written > 0)
      writer->begin += (size_t)written;
    else if (written < 0 && errno == EINTR)
      continue;
    else if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return NULL;
    else
      return "the browser has closed the connection";
  }
  writer->begin = writer->end = 0;
  return NULL;
}

bool frame_writer_is_empty(const struct frame_writer *writer) { return writer->begin == writer->end; }
