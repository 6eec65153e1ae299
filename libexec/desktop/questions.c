/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Questions about an offer that go to the agent: whether it is of another device, and what would continue it. */
#include <stdlib.h>
#include <string.h>

#include "asking.h"
#include "devices.h"

struct question {
  struct job job;
  struct device *device;
  segue_app *app;
  char name[DEVICE_NAME_SIZE];
  uint8_t id[SEGUE_ID_SIZE];
  enum place place;
  enum verdict verdict;
  bool is_final;
};

static segue_status ask_place(struct question *question) {
  segue_value *account = NULL;
  segue_status status = asking_account(question->app, &account);
  if (status == SEGUE_OK)
    question->place = asking_is_here(account, question->name) ? PLACE_HERE : PLACE_ELSEWHERE;
  segue_release(account);
  return status;
}

static segue_status ask_route(struct question *question) {
  bool can_continue = false;
  segue_status status = asking_route(question->app, question->id, &can_continue);
  question->verdict = can_continue ? VERDICT_YES : VERDICT_NO;
  return status;
}

static void work(struct job *job) {
  struct question *question = (struct question *)job;
  segue_status status = question->place == PLACE_UNKNOWN ? ask_place(question) : SEGUE_OK;
  if (status == SEGUE_OK && question->place == PLACE_ELSEWHERE)
    status = ask_route(question);
  question->is_final = status == SEGUE_OK || !asking_is_for_now(status);
}

static void done(struct job *job) {
  struct question *question = (struct question *)job;
  devices_answered(question->device, question->id, question->place, question->verdict, question->is_final);
  segue_release(question->app);
  free(question);
}

bool questions_ask(struct device *device) {
  struct question *question = calloc(1, sizeof *question);
  if (!question)
    return false;
  *question = (struct question){.job = {work, done, NULL},
                                .device = device,
                                .app = device->devices->app,
                                .place = device->place,
                                .verdict = VERDICT_NO};
  strcpy(question->name, device->name);
  memcpy(question->id, device->front_id, SEGUE_ID_SIZE);
  if (segue_retain(question->app) == SEGUE_OK) {
    if (worker_add(device->devices->worker, &question->job))
      return true;
    segue_release(question->app);
  }
  free(question);
  return false;
}
