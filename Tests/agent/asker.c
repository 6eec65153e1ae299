/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Somebody who asks the agent, once, and says what the answer is.
 *
 *     asker launch BUNDLE MILLISECONDS  has the first offer continued: "launched JSON", or "error STATUS: MESSAGE"
 *     asker inbox                       what waits: "inbox JSON", or "error STATUS: MESSAGE"
 */
#include <poll.h>
#include <segue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static segue_app *app;

static int check(segue_status status) {
  char message[SEGUE_MESSAGE_SIZE];
  if (status == SEGUE_OK)
    return 1;
  segue_last_error(message, sizeof message);
  printf("error %s: %s\n", segue_status_name(status), message);
  return 0;
}

static segue_offer *first_offer(void) {
  struct pollfd descriptor = {.fd = -1, .events = POLLIN};
  if (!check(segue_app_fd(app, &descriptor.fd)))
    return NULL;
  for (;;) {
    segue_offer *offer = NULL;
    size_t count = 0;
    if (!check(segue_app_get_offers(app, &offer, 1, &count)) || count > 0)
      return offer;
    if (poll(&descriptor, 1, 10000) <= 0) {
      puts("error: nothing is offered");
      return NULL;
    }
    check(segue_app_dispatch(app, 0, NULL));
  }
}

static int show(const char *what, segue_value *value) {
  char *json = NULL;
  int isShown = check(segue_value_encode_json(value, SEGUE_JSON_TAGGED, &json, NULL));
  if (isShown)
    printf("%s %s\n", what, json);
  segue_free(json);
  segue_release(value);
  return isShown;
}

int main(int count, char **arguments) {
  segue_value *answer = NULL;
  int isRight = 0;
  if (count < 2 || !check(segue_app_create("com.example.asker", SEGUE_NUL_TERMINATED, &app)) ||
      !check(segue_app_set_chooser(app, true)) || !check(segue_app_open(app)))
    return 2;
  if (strcmp(arguments[1], "inbox") == 0) {
    isRight = check(segue_app_ask_agent(app, "inbox", SEGUE_NUL_TERMINATED, NULL, 0, &answer)) && show("inbox", answer);
  } else if (count == 4) {
    segue_offer *offer = first_offer();
    isRight = offer &&
              check(segue_app_launch(app, offer, arguments[2], SEGUE_NUL_TERMINATED,
                                     (uint32_t)strtoul(arguments[3], NULL, 10), &answer)) &&
              show("launched", answer);
    segue_release(offer);
  }
  segue_app_close(app);
  segue_release(app);
  return isRight ? 0 : 1;
}
