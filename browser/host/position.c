/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "position.h"

#include <string.h>

#include "text.h"

static void read_text(const segue_value *dictionary, const char *key, size_t characters, char *result) {
  char *text = NULL;
  size_t length = 0;
  result[0] = '\0';
  if (segue_dictionary_get_string(dictionary, key, SEGUE_NUL_TERMINATED, &text, &length) != SEGUE_OK)
    return;
  text_clean(text, length, characters, result);
  segue_free(text);
}

bool position_read(const segue_value *dictionary, struct position *position) {
  read_text(dictionary, "text", POSITION_TEXT, position->text);
  read_text(dictionary, "before", POSITION_CONTEXT, position->before);
  read_text(dictionary, "after", POSITION_CONTEXT, position->after);
  read_text(dictionary, "id", POSITION_ID, position->id);
  double fraction = -1;
  if (segue_dictionary_get_double(dictionary, "fraction", SEGUE_NUL_TERMINATED, &fraction) != SEGUE_OK ||
      !(fraction >= 0 && fraction <= 1))
    fraction = -1;
  position->fraction = fraction;
  return position->text[0] != '\0' || position->id[0] != '\0' || fraction >= 0;
}

static void write_text(segue_writer *writer, const char *key, const char *text) {
  if (text[0] == '\0')
    return;
  segue_writer_put_string(writer, key, SEGUE_NUL_TERMINATED);
  segue_writer_put_string(writer, text, SEGUE_NUL_TERMINATED);
}

void position_write(const struct position *position, segue_writer *writer) {
  segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
  write_text(writer, "text", position->text);
  write_text(writer, "before", position->before);
  write_text(writer, "after", position->after);
  write_text(writer, "id", position->id);
  if (position->fraction >= 0) {
    segue_writer_put_string(writer, "fraction", SEGUE_NUL_TERMINATED);
    segue_writer_put_double(writer, position->fraction);
  }
  segue_writer_end(writer);
}
