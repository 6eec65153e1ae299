/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An error of a request: a code of JSON-RPC 2.0, or one that follows from a status of the library. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include <segue.h>
#include <stdbool.h>

#define CODE_NO_JSON (-32700)
#define CODE_NO_REQUEST (-32600)
#define CODE_NO_METHOD (-32601)
#define CODE_BAD_PARAMETER (-32602)
/** A request before `open`. */
#define CODE_NOT_OPEN (-32002)
/** Minus the status is the code of an error of the library. */
#define CODE_OF_STATUS (-32000)

/** Bytes of a path, NUL included. */
#define PATH_SIZE 320

struct problem {
  int code;
  segue_status status;
  char message[SEGUE_MESSAGE_SIZE];
  /** the parameter, such as userInfo/line; empty: none */
  char path[PATH_SIZE];
};

/* All of these return false, so that a function can end with one of them. */

/** A parameter is wrong. path: such as "activity" */
bool problem_parameter(struct problem *problem, const char *path, const char *message);
/** A call of the library has failed; its message is that of segue_last_error. */
bool problem_library(struct problem *problem, const char *path);
bool problem_status(struct problem *problem, segue_status status, const char *path, const char *message);

#endif
