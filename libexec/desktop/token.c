/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "token.h"

#include <stdlib.h>
#include <string.h>

#define ACTIVATION "XDG_ACTIVATION_TOKEN="
#define STARTUP "DESKTOP_STARTUP_ID="

static char activation[sizeof ACTIVATION + TOKEN_SIZE] = ACTIVATION;
static char startup[sizeof STARTUP + TOKEN_SIZE] = STARTUP;

void token_prepare(void) {
  putenv(activation);
  putenv(startup);
}

void token_set(const char *token) {
  strncpy(activation + strlen(ACTIVATION), token, TOKEN_SIZE - 1);
  strncpy(startup + strlen(STARTUP), token, TOKEN_SIZE - 1);
}
