/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lines of UTF-8 that come in and go out. Both directions have bounds in bytes, and neither changes a flag of a
 * descriptor: the host may share it with others. */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of one line without its LF, before `open` has set another bound. */
#define LINE_MOST (1024u * 1024)
/** The highest bound that `open` may set. */
#define LINE_HIGHEST (24u * 1024 * 1024)
/** Bytes that may wait for the host. While more wait, no line is handled and no callback runs. */
#define WAITING_MOST (1024u * 1024)
/** Milliseconds in which the host has to read something while more than WAITING_MOST bytes wait. */
#define READ_MS 10000

/** A text that names what is wrong; NULL: all is well. Static memory. */
typedef const char *line_problem;

/** The lines that come in. Memory grows with the bytes that have come. */
struct line_reader {
  char *bytes;
  size_t begin, end, capacity;
  /** bytes from begin that are known to hold no LF */
  size_t searched;
  /** the bound of one line, in bytes */
  size_t most;
};

/** Reads once from a readable descriptor, when no whole line is left. ended  out: the input is over. */
line_problem line_reader_fill(struct line_reader *reader, int descriptor, bool *ended);
/**
 * Gives the next whole line without its LF.
 *   line  out: borrowed, until the next call with this reader; NULL if no line is whole yet
 * Problems: the line is too long, or no UTF-8.
 */
line_problem line_reader_next(struct line_reader *reader, const char **line, size_t *length);
void line_reader_free(struct line_reader *reader);

/** The lines that go out. */
struct line_writer {
  int descriptor;
  /** the system has said so */
  bool is_no_socket;
  char *bytes;
  size_t begin, end, capacity;
  /** the bound of one line, in bytes */
  size_t most;
  /** by the clock of now_ms: the last time at which the host read something, or at which too much began to wait */
  int64_t read_at;
};

/** Adds a line, with its LF. Returns false if it is longer than the bound, or more waits than any host needs. */
bool line_writer_add(struct line_writer *writer, const char *line, size_t length);
/** Writes what a writable descriptor takes without waiting. Problems: the host does not read any longer. */
line_problem line_writer_flush(struct line_writer *writer);
/** Bytes that wait. */
size_t line_writer_waiting(const struct line_writer *writer);
/** Milliseconds until the host counts as one that does not read; -1: it does not owe anything; 0: it counts as one. */
int line_writer_patience(const struct line_writer *writer);
void line_writer_free(struct line_writer *writer);

/** Milliseconds of a clock that never goes back. */
int64_t now_ms(void);
/** Returns the bytes of the longest beginning that is well-formed UTF-8 (RFC 3629). */
size_t utf8_length(const char *bytes, size_t length);

#endif
