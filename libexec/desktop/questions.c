/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Questions about an offer that go to the agent: whether it is of another device, and what would continue it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "devices.h"
#include "requests.h"

/** Devices of an account that are compared. */
#define MEMBERS_MOST 256

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

/** Tells whether this is the name of the host, which a device without an account has. */
static bool is_host(const char *name) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0)
    return false;
  host[strcspn(host, ".")] = '\0';
  return strcmp(name, host[0] != '\0' ? host : "this device") == 0;
}

/** Finds the name of this device in the account. An offer has only a name: one that this device has counts as here. */
static bool is_this_device(const segue_value *account, const char *name) {
  bool is_member = false, is_here = false;
  for (int index = 0; index < MEMBERS_MOST; index++) {
    char path[64], *its_name = NULL;
    bool is_this = false;
    snprintf(path, sizeof path, "devices/%d/this_device", index);
    if (segue_value_find_bool(account, path, SEGUE_NUL_TERMINATED, &is_this) != SEGUE_OK)
      break;
    is_member = true;
    snprintf(path, sizeof path, "devices/%d/name", index);
    if (is_this && segue_value_find_string(account, path, SEGUE_NUL_TERMINATED, &its_name, NULL) == SEGUE_OK)
      is_here = strcmp(its_name, name) == 0;
    segue_free(its_name);
  }
  return is_here || (!is_member && is_host(name));
}

/** Tells whether the agent might answer later: it is not there yet, or not ready. */
static bool is_for_now(segue_status status) {
  return status == SEGUE_ERROR_BUSY || status == SEGUE_ERROR_CONNECTION_UNAVAILABLE ||
         status == SEGUE_ERROR_LIMIT_EXCEEDED || status == SEGUE_ERROR_REMOTE_APPLICATION_TIMED_OUT ||
         status == SEGUE_ERROR_SYSTEM;
}

static segue_status ask_place(struct question *question) {
  segue_value *account = NULL;
  segue_status status = segue_app_ask_agent(question->app, "account", SEGUE_NUL_TERMINATED, NULL, 0, &account);
  /* An agent that refuses knows no other devices. */
  if (status == SEGUE_OK || !is_for_now(status))
    question->place =
        (account ? is_this_device(account, question->name) : is_host(question->name)) ? PLACE_HERE : PLACE_ELSEWHERE;
  segue_release(account);
  return question->place == PLACE_UNKNOWN ? status : SEGUE_OK;
}

static segue_status ask_route(struct question *question) {
  segue_value *options = activity_options(question->id), *route = NULL, *against = NULL;
  size_t count = 1;
  segue_status status = segue_app_ask_agent(question->app, "route", SEGUE_NUL_TERMINATED, options, 0, &route);
  if (segue_value_find_value(route, "candidates/0/against", SEGUE_NUL_TERMINATED, &against) == SEGUE_OK)
    segue_value_get_count(against, &count);
  question->verdict = count == 0 ? VERDICT_YES : VERDICT_NO;
  segue_release(against);
  segue_release(route);
  segue_release(options);
  return status;
}

static void work(struct job *job) {
  struct question *question = (struct question *)job;
  segue_status status = question->place == PLACE_UNKNOWN ? ask_place(question) : SEGUE_OK;
  if (status == SEGUE_OK && question->place == PLACE_ELSEWHERE)
    status = ask_route(question);
  question->is_final = status == SEGUE_OK || !is_for_now(status);
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
