/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "agent.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

/** Bytes of stack: the least that a calling thread needs is 64 KiB (segue.h, "LIMITS OF THE SYSTEM"). */
#define STACK_SIZE (128 * 1024)

static void *ask(void *context) {
  struct agent_question *question = context;
  const uint64_t one = 1;
  segue_value *answer = NULL;
  segue_status status = segue_app_ask_agent(question->app, "failures", SEGUE_NUL_TERMINATED, NULL, 0, &answer);
  segue_release(answer);
  /* An agent that refuses runs, too. */
  question->runs = status == SEGUE_OK || status == SEGUE_ERROR_UNSUPPORTED_VERSION || status == SEGUE_ERROR_BUSY ||
                   status == SEGUE_ERROR_LIMIT_EXCEEDED || status == SEGUE_ERROR_INVALID_STATE;
  if (write(question->descriptor, &one, sizeof one) < 0)
    return NULL;
  return NULL;
}

void agent_ask(struct agent_question *question, segue_app *app) {
  pthread_attr_t attributes;
  *question = (struct agent_question){.app = app, .descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (question->descriptor < 0 || pthread_attr_init(&attributes) != 0)
    return;
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  question->has_thread = pthread_create(&question->thread, &attributes, ask, question) == 0;
  pthread_attr_destroy(&attributes);
}

void agent_end(struct agent_question *question) {
  if (question->has_thread)
    pthread_join(question->thread, NULL);
  question->has_thread = false;
  if (question->descriptor >= 0)
    close(question->descriptor);
  question->descriptor = -1;
}
