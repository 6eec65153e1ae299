/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Native messaging: a length of four bytes in the machine's order, then as many bytes of JSON. Both directions have
 * bounds in bytes. */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of one frame, in either direction. */
#define FRAME_MOST (256u * 1024)
/** Bytes of frames that wait for the browser to read. */
#define QUEUE_MOST (1024u * 1024)

/** The frames that come in. */
struct frame_reader {
  /** bytes of the head, then of the body, that have come */
  size_t received;
  uint32_t length;
  unsigned char head[4];
  /** grows with the bytes that have come, never with the length that is claimed */
  char *body;
  size_t capacity;
};

/** Gets a frame: JSON, not NUL-terminated, borrowed. False ends the reading. */
typedef bool (*frame_function)(void *context, const char *json, size_t length);

/** NULL: all was well. */
typedef const char *frame_problem;

/** Takes bytes that have come, and calls function for each frame that is whole. Returns what is wrong with them. */
frame_problem frame_reader_take(struct frame_reader *reader, const unsigned char *bytes, size_t count,
                                frame_function function, void *context);

/** The frames that go out. */
struct frame_writer {
  int descriptor;
  unsigned char *bytes;
  size_t begin, end, capacity;
};

/** Adds a frame. Returns a problem if it is too large, or if too much waits. */
frame_problem frame_writer_add(struct frame_writer *writer, const char *json, size_t length);
/** Writes what can be written without waiting; the descriptor is non-blocking. */
frame_problem frame_writer_flush(struct frame_writer *writer);
bool frame_writer_is_empty(const struct frame_writer *writer);

#endif
