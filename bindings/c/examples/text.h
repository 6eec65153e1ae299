/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A text file as lines in memory, and paths as file URLs. This file does not use Segue. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
  char **lines; /* each without its newline, NUL-terminated */
  size_t count;
};

/** Reads a file; false (and errno) if it cannot be read or holds a NUL byte. */
bool text_load(struct text *text, const char *path);
/** Replaces the file by the text: whole, or not at all. False (and errno) if it cannot be written. */
bool text_save(const struct text *text, const char *path);
void text_free(struct text *text);

/** Inserts a line before the one at `index` (0...count). False without memory. */
bool text_insert(struct text *text, size_t index, const char *line);
/** Replaces the line at `index` (0...count-1). False without memory. */
bool text_replace(struct text *text, size_t index, const char *line);
void text_delete(struct text *text, size_t index);

/** Returns the file: URL of an existing file, absolute and percent-encoded; NULL (and errno) on failure. Use free. */
char *text_url_from_path(const char *path);
/** Returns the path of a file: URL of this machine; NULL if it is not one. Use free. */
char *text_path_from_url(const char *url);

#endif
