/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef LOG_H
#define LOG_H

/** Writes a line for people to standard error: what is longer than 1,000 bytes is cut. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
