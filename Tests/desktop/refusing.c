/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * A preloaded library. Files in the folder REFUSALS say what happens while they are there: "busy", the agent has no
 * time to look for a route; "slow", it does not answer; "unsaved", a launch is refused since text is not saved; "lost",
 * since the offer is gone; "phone", offers whose title begins with that word are of another device, "paptop".
 */
#include <dlfcn.h>
#include <segue.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_there(const char *name) {
  char path[4096];
  const char *folder = getenv("REFUSALS");
  snprintf(path, sizeof path, "%s/%s", folder ? folder : "", name);
  return access(path, F_OK) == 0;
}

segue_status segue_app_ask_agent(segue_app *app, const char *request, size_t length, const segue_value *options,
                                 uint32_t timeout_ms, segue_value **result) {
  segue_status (*next)(segue_app *, const char *, size_t, const segue_value *, uint32_t, segue_value **) =
      (segue_status(*)(segue_app *, const char *, size_t, const segue_value *, uint32_t, segue_value **))dlsym(
          RTLD_NEXT, "segue_app_ask_agent");
  /* Decided first: the test may change it once it has read the line. */
  bool is_refused = strcmp(request, "route") == 0 && is_there("busy");
  fprintf(stderr, "request %s\n", request);
  /* A thread that waits for changes is ended when the screen is locked, which cannot be done here. */
  while (strcmp(request, "route") == 0 && is_there("slow"))
    usleep(10000);
  return is_refused ? SEGUE_ERROR_BUSY : next(app, request, length, options, timeout_ms, result);
}

segue_status segue_app_launch(segue_app *app, const segue_offer *offer, const char *bundle_identifier, size_t length,
                              uint32_t timeout_ms, segue_value **result) {
  segue_status (*next)(segue_app *, const segue_offer *, const char *, size_t, uint32_t, segue_value **) =
      (segue_status(*)(segue_app *, const segue_offer *, const char *, size_t, uint32_t, segue_value **))dlsym(
          RTLD_NEXT, "segue_app_launch");
  segue_status refusal = is_there("unsaved") ? SEGUE_ERROR_NOT_ALLOWED : is_there("lost") ? SEGUE_ERROR_NOT_FOUND : 0;
  fprintf(stderr, "launch\n");
  while (is_there("slow"))
    usleep(10000);
  return refusal ? refusal : next(app, offer, bundle_identifier, length, timeout_ms, result);
}

segue_status segue_offer_get_device_name(const segue_offer *offer, char **name, size_t *length) {
  segue_status (*next)(const segue_offer *, char **, size_t *) =
      (segue_status(*)(const segue_offer *, char **, size_t *))dlsym(RTLD_NEXT, "segue_offer_get_device_name");
  segue_status status = next(offer, name, NULL);
  char *title = NULL;
  segue_offer_get_title(offer, &title, NULL);
  if (status == SEGUE_OK && is_there("phone") && title && strncmp(title, "phone", 5) == 0)
    (*name)[0] = 'p';
  segue_free(title);
  if (status == SEGUE_OK && length)
    *length = strlen(*name);
  return status;
}
