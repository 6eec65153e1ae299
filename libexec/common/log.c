/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "log.h"
#include "utf8.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Tells whether a terminal could take a character as a command: a control, or a mark of the direction of writing. */
static bool is_control(uint32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x61c || character == 0x200e ||
         character == 0x200f || (character >= 0x2028 && character <= 0x202e) ||
         (character >= 0x2066 && character <= 0x2069);
}

void log_line(const char *format, ...) {
  char line[1024];
  size_t begin = (size_t)snprintf(line, 64, "%.60s: ", program_invocation_short_name);
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(line + begin, sizeof line - begin - 1, format, arguments);
  va_end(arguments);
  if (written < 0)
    return;
  size_t length = strlen(line);
  for (size_t index = 0; index < length;) {
    uint32_t character = 0;
    size_t size = utf8_decode(line + index, length - index, &character);
    if (size == 0 || is_control(character))
      memset(line + index, '?', size > 0 ? size : 1);
    index += size > 0 ? size : 1;
  }
  line[length++] = '\n';
  struct pollfd polled = {STDERR_FILENO, POLLOUT, 0};
  if (poll(&polled, 1, 0) == 1 && (polled.revents & POLLOUT) != 0 && write(STDERR_FILENO, line, length) < 0)
    return;
}
