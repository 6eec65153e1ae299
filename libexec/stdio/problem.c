/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "problem.h"

#include <stdio.h>

bool problem_parameter(struct problem *problem, const char *path, const char *message) {
  problem_status(problem, SEGUE_ERROR_INVALID_ARGUMENT, path, message);
  problem->code = CODE_BAD_PARAMETER;
  return false;
}

bool problem_library(struct problem *problem, const char *path) {
  char message[SEGUE_MESSAGE_SIZE];
  segue_status status = segue_last_error(message, sizeof message);
  return problem_status(problem, status, path, message);
}

bool problem_status(struct problem *problem, segue_status status, const char *path, const char *message) {
  problem->code = CODE_OF_STATUS - status;
  problem->status = status;
  snprintf(problem->message, sizeof problem->message, "%s", message);
  snprintf(problem->path, sizeof problem->path, "%s", path);
  return false;
}
