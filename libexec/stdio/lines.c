/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lines.h"
#include "utf8.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/** Bytes that are read at once. */
#define READ_SIZE 65536
/** Buffers that are empty and larger than this are given back. */
#define KEPT_CAPACITY 65536
/** Lines of the greatest length that may wait beyond WAITING_MOST: the last ones that callbacks have added. */
#define WAITING_LINES 4

int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

size_t utf8_length(const char *bytes, size_t length) {
  size_t good = 0, size = 0;
  while (good < length && (size = utf8_decode(bytes + good, length - good, NULL)) > 0)
    good += size;
  return good;
}

/** Makes room for more bytes behind `end`, and moves what is there to the front. */
static bool make_room(char **bytes, size_t *begin, size_t *end, size_t *capacity, size_t more) {
  if (*begin > 0 && *capacity - *end < more) {
    memmove(*bytes, *bytes + *begin, *end - *begin);
    *end -= *begin;
    *begin = 0;
  }
  if (*capacity - *end >= more)
    return true;
  size_t wanted = *capacity * 2 > *end + more ? *capacity * 2 : *end + more;
  char *grown = realloc(*bytes, wanted);
  if (!grown)
    return false;
  *bytes = grown;
  *capacity = wanted;
  return true;
}

/** Gives a large buffer back once it is empty. */
static void give_back(char **bytes, size_t *begin, size_t *end, size_t *capacity) {
  if (*begin < *end)
    return;
  *begin = *end = 0;
  if (*capacity > KEPT_CAPACITY) {
    free(*bytes);
    *bytes = NULL;
    *capacity = 0;
  }
}

line_problem line_reader_fill(struct line_reader *reader, int descriptor, bool *ended) {
  *ended = false;
  if (!make_room(&reader->bytes, &reader->begin, &reader->end, &reader->capacity, READ_SIZE / 4))
    return "there is no memory for a line";
  size_t room = reader->capacity - reader->end;
  ssize_t count = read(descriptor, reader->bytes + reader->end, room < READ_SIZE ? room : READ_SIZE);
  if (count < 0 && errno != EINTR && errno != EAGAIN)
    return "standard input cannot be read";
  *ended = count == 0;
  if (count > 0)
    reader->end += (size_t)count;
  return NULL;
}

line_problem line_reader_next(struct line_reader *reader, const char **line, size_t *length) {
  *line = NULL;
  give_back(&reader->bytes, &reader->begin, &reader->end, &reader->capacity);
  char *start = reader->bytes + reader->begin;
  size_t there = reader->end - reader->begin;
  char *found = there > reader->searched ? memchr(start + reader->searched, '\n', there - reader->searched) : NULL;
  size_t size = found ? (size_t)(found - start) : there;
  reader->searched = found ? 0 : there;
  if (size > reader->most)
    return "a line is too long";
  if (!found)
    return NULL;
  if (utf8_length(start, size) != size)
    return "a line is no UTF-8";
  reader->begin += size + 1;
  *line = start;
  *length = size;
  return NULL;
}

void line_reader_free(struct line_reader *reader) {
  free(reader->bytes);
  reader->bytes = NULL;
}

bool line_writer_add(struct line_writer *writer, const char *line, size_t length) {
  size_t waiting = line_writer_waiting(writer);
  if (length > writer->most || waiting > WAITING_MOST + WAITING_LINES * writer->most)
    return false;
  if (!make_room(&writer->bytes, &writer->begin, &writer->end, &writer->capacity, length + 1))
    return false;
  memcpy(writer->bytes + writer->end, line, length);
  writer->bytes[writer->end + length] = '\n';
  writer->end += length + 1;
  if (waiting <= WAITING_MOST)
    writer->read_at = now_ms();
  return true;
}

/** Writes without waiting: a writable pipe takes PIPE_BUF bytes, and a socket is asked. */
static ssize_t write_some(struct line_writer *writer, size_t length) {
  const char *bytes = writer->bytes + writer->begin;
  ssize_t count = -1;
  if (!writer->is_no_socket)
    count = send(writer->descriptor, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (!writer->is_no_socket && count < 0 && errno == ENOTSOCK)
    writer->is_no_socket = true;
  if (writer->is_no_socket)
    count = write(writer->descriptor, bytes, length < PIPE_BUF ? length : PIPE_BUF);
  return count;
}

line_problem line_writer_flush(struct line_writer *writer) {
  ssize_t count = write_some(writer, line_writer_waiting(writer));
  if (count < 0)
    return errno == EINTR || errno == EAGAIN ? NULL : "the host does not read any longer";
  writer->begin += (size_t)count;
  writer->read_at = now_ms();
  give_back(&writer->bytes, &writer->begin, &writer->end, &writer->capacity);
  return NULL;
}

size_t line_writer_waiting(const struct line_writer *writer) { return writer->end - writer->begin; }

int line_writer_patience(const struct line_writer *writer) {
  if (line_writer_waiting(writer) <= WAITING_MOST)
    return -1;
  int64_t left = writer->read_at + READ_MS - now_ms();
  return left > 0 ? (int)left : 0;
}

void line_writer_free(struct line_writer *writer) {
  free(writer->bytes);
  writer->bytes = NULL;
}
