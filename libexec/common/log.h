/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef LOG_H
#define LOG_H

/** Writes a line for people to standard error, with the name of the program. What a terminal could take as a command is
 * replaced by question marks, and what is longer than 900 bytes is cut. A line that nobody can take at once is lost. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
