/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "start.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "log.h"

static void log_library(void *context, segue_log_level level, const char *message, size_t length) {
  (void)context, (void)level;
  log_line("%.*s", (int)length, message);
}

static segue_status open_app(const char *identifier, struct start_callbacks callbacks, void *context, segue_app **app,
                             segue_app_delegate **delegate) {
  segue_status status = segue_app_create(identifier, SEGUE_NUL_TERMINATED, app);
  if (status == SEGUE_OK)
    status = segue_app_set_name(*app, "Segue", SEGUE_NUL_TERMINATED);
  if (status == SEGUE_OK)
    status = segue_app_set_chooser(*app, true);
  if (status == SEGUE_OK)
    status = segue_app_delegate_create(context, NULL, delegate);
  if (status == SEGUE_OK && callbacks.offer)
    status = segue_app_delegate_on_offer(*delegate, callbacks.offer);
  if (status == SEGUE_OK && callbacks.connection)
    status = segue_app_delegate_on_connection(*delegate, callbacks.connection);
  if (status == SEGUE_OK)
    status = segue_app_set_delegate(*app, *delegate);
  return status == SEGUE_OK ? segue_app_open(*app) : status;
}

bool start_app(const char *identifier, struct start_callbacks callbacks, void *context, segue_app **app,
               segue_app_delegate **delegate) {
  char error[SEGUE_MESSAGE_SIZE];
  if (!getenv("SEGUE_LOG"))
    segue_log_set(SEGUE_LOG_ERROR, log_library, NULL, NULL);
  if (open_app(identifier, callbacks, context, app, delegate) == SEGUE_OK)
    return true;
  segue_last_error(error, sizeof error);
  log_line("%s", error);
  return false;
}

int start_loop(sd_event **loop, segue_app *app, sd_event_io_handler_t dispatch, void *context) {
  sigset_t ending;
  int descriptor = -1;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  sigprocmask(SIG_BLOCK, &ending, NULL);
  signal(SIGPIPE, SIG_IGN);
  int result = sd_event_default(loop);
  if (result >= 0)
    result = sd_event_add_signal(*loop, NULL, SIGTERM, NULL, NULL);
  if (result >= 0)
    result = sd_event_add_signal(*loop, NULL, SIGINT, NULL, NULL);
  if (result >= 0 && segue_app_fd(app, &descriptor) == SEGUE_OK)
    result = sd_event_add_io(*loop, NULL, descriptor, EPOLLIN, dispatch, context);
  return result;
}
