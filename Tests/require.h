/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For programs that check themselves: REQUIRE prints what does not hold, with the library's last error, and exits. A
 * program that wants to print more about the place of a failure defines WHERE before it includes this file. */
#ifndef REQUIRE_H
#define REQUIRE_H

#include <segue.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NUL SEGUE_NUL_TERMINATED
#ifndef WHERE
#define WHERE __FILE__
#endif
#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      char message[SEGUE_MESSAGE_SIZE] = "";                                                                           \
      segue_last_error(message, sizeof message);                                                                       \
      fprintf(stderr, "%s: line %d: %s (%s)\n", WHERE, __LINE__, #condition, message);                                 \
      _exit(1);                                                                                                        \
    }                                                                                                                  \
  } while (0)
#define OK(call) REQUIRE((call) == SEGUE_OK)

#endif
