/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that check themselves: what does not hold ends them, and is said with the library's last error. A program
 * that wants to say more of where it failed defines WHERE before it includes this. */
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
