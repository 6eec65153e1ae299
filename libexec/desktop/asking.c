/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "asking.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "requests.h"

/** Devices of an account that are compared. */
#define MEMBERS_MOST 256

bool asking_is_for_now(segue_status status) {
  return status == SEGUE_ERROR_BUSY || status == SEGUE_ERROR_CONNECTION_UNAVAILABLE ||
         status == SEGUE_ERROR_LIMIT_EXCEEDED || status == SEGUE_ERROR_REMOTE_APPLICATION_TIMED_OUT ||
         status == SEGUE_ERROR_SYSTEM;
}

segue_status asking_account(segue_app *app, segue_value **account) {
  segue_status status = segue_app_ask_agent(app, "account", SEGUE_NUL_TERMINATED, NULL, 0, account);
  if (status == SEGUE_OK)
    return status;
  *account = NULL;
  return asking_is_for_now(status) ? status : SEGUE_OK;
}

/** Tells whether this is the name of the host, which a device without an account has. */
static bool is_host(const char *name) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0)
    return false;
  host[strcspn(host, ".")] = '\0';
  return strcmp(name, host[0] != '\0' ? host : "this device") == 0;
}

bool asking_is_here(const segue_value *account, const char *name) {
  bool is_member = false, is_here = false;
  for (int index = 0; account && index < MEMBERS_MOST; index++) {
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

segue_status asking_route(segue_app *app, const uint8_t *id, bool *can_continue) {
  segue_value *options = activity_options(id), *route = NULL, *against = NULL;
  size_t count = 1;
  segue_status status = segue_app_ask_agent(app, "route", SEGUE_NUL_TERMINATED, options, 0, &route);
  if (segue_value_find_value(route, "candidates/0/against", SEGUE_NUL_TERMINATED, &against) == SEGUE_OK)
    segue_value_get_count(against, &count);
  *can_continue = count == 0;
  segue_release(against);
  segue_release(route);
  segue_release(options);
  return status;
}
