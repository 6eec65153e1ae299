/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void log_line(const char *format, ...) {
  char line[1024] = "segue-desktop: ";
  size_t begin = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(line + begin, sizeof line - begin - 1, format, arguments);
  va_end(arguments);
  if (written < 0)
    return;
  size_t length = strlen(line);
  for (size_t index = 0; index < length; index++)
    if ((unsigned char)line[index] < ' ' || line[index] == 0x7f)
      line[index] = '?';
  line[length++] = '\n';
  /* Nobody may read it: then the line is lost, and nothing waits. */
  struct pollfd polled = {STDERR_FILENO, POLLOUT, 0};
  if (poll(&polled, 1, 0) == 1 && (polled.revents & POLLOUT) != 0 && write(STDERR_FILENO, line, length) < 0)
    return;
}
