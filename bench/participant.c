/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An app with host delivery, for the figures that need several: the hub's process, an origin, an idle client. It prints
 * "ready" once it is registered with the hub, "saved" when its activity has been saved, and runs until it is killed. */
#include "bench.h"
#include <string.h>
#include <unistd.h>

#define TYPE "com.example.bench.editing"

struct participant {
  segue_app *app;
  segue_activity *activity;
  int saves, saves_told, tell; /* tell: descriptor to report on, or -1 */
};

static void say(const char *line) {
  puts(line);
  fflush(stdout);
}

static void on_connection(void *context, segue_app *app, segue_connection connection) {
  (void)context;
  (void)app;
  if (connection == SEGUE_CONNECTION_READY)
    say("ready");
}

static segue_reply will_save(void *context, segue_activity *activity, segue_save *save) {
  (void)save;
  struct participant *self = context;
  segue_writer *writer;
  segue_value *user_info;
  BENCH_CALL(segue_writer_create(&writer));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
  BENCH_CALL(segue_writer_put_string(writer, "line", SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_writer_put_int64(writer, ++self->saves));
  BENCH_CALL(segue_writer_end(writer));
  BENCH_CALL(segue_writer_finish(writer, &user_info));
  BENCH_CALL(segue_activity_set_user_info(activity, user_info));
  segue_release(user_info);
  segue_release(writer);
  if (self->tell < 0)
    say("saved");
  return SEGUE_REPLY_YES;
}

/** Dirties the activity for the next continuation, and reports to the receiver: 's' if this one saved, else 'n'. */
static void ended(void *context, segue_activity *activity, segue_receipt *receipt) {
  struct participant *self = context;
  segue_outcome outcome;
  BENCH_CALL(segue_receipt_get_outcome(receipt, &outcome));
  if (outcome != SEGUE_OUTCOME_RESTORED)
    bench_fail("continuation", "not restored");
  BENCH_CALL(segue_activity_set_needs_save(activity, true));
  char word = self->saves > self->saves_told ? 's' : 'n';
  self->saves_told = self->saves;
  if (self->tell >= 0 && write(self->tell, &word, 1) != 1)
    bench_fail("participant", "nobody to tell");
}

static void answer(void *context, segue_activity *activity, segue_request *request, const uint8_t *bytes,
                   size_t length) {
  (void)context;
  (void)activity;
  BENCH_CALL(segue_request_respond(request, bytes, length));
}

static void offer(struct participant *self) {
  segue_activity_delegate *delegate;
  BENCH_CALL(segue_activity_create(self->app, TYPE, SEGUE_NUL_TERMINATED, &self->activity));
  BENCH_CALL(segue_activity_delegate_create(self, NULL, &delegate));
  BENCH_CALL(segue_activity_delegate_on_will_save(delegate, will_save));
  BENCH_CALL(segue_activity_delegate_on_continuation_ended(delegate, ended));
  BENCH_CALL(segue_activity_delegate_on_request(delegate, answer));
  BENCH_CALL(segue_activity_set_delegate(self->activity, delegate));
  BENCH_CALL(segue_activity_become_current(self->activity));
}

/* participant IDENTIFIER [--offer] [--declare] [--tell DESCRIPTOR] [--link DESCRIPTOR]
 *   --offer    makes an activity current        --declare  declares its type
 *   --tell     reports each continuation on that descriptor, and saves only when one asks
 *   --link     links this device with another over that socket */
int main(int count, char **arguments) {
  if (count < 2)
    bench_fail("usage", "participant IDENTIFIER [--offer] [--declare] [--tell DESCRIPTOR] [--link DESCRIPTOR]");
  struct participant self = {.tell = -1};
  bool offers = false;
  int link = -1;
  BENCH_CALL(segue_app_create(arguments[1], SEGUE_NUL_TERMINATED, &self.app));
  BENCH_CALL(segue_app_set_team_identifier(self.app, "BENCH", SEGUE_NUL_TERMINATED));
  for (int i = 2; i < count; i++) {
    if (strcmp(arguments[i], "--offer") == 0) {
      offers = true;
    } else if (strcmp(arguments[i], "--declare") == 0) {
      BENCH_CALL(segue_app_add_activity_type(self.app, TYPE, SEGUE_NUL_TERMINATED));
    } else if (strcmp(arguments[i], "--tell") == 0 && i + 1 < count) {
      self.tell = (int)bench_count(arguments[++i]);
      BENCH_CALL(segue_limit_set(SEGUE_LIMIT_SAVE_DELAY_MS, 0));
    } else if (strcmp(arguments[i], "--link") == 0 && i + 1 < count) {
      link = (int)bench_count(arguments[++i]);
    } else {
      bench_fail("unknown option", arguments[i]);
    }
  }
  segue_app_delegate *delegate;
  BENCH_CALL(segue_app_delegate_create(&self, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_connection(delegate, on_connection));
  BENCH_CALL(segue_app_set_delegate(self.app, delegate));
  BENCH_CALL(segue_app_open(self.app));
  if (link >= 0)
    BENCH_CALL(segue_app_link(self.app, link, 0, NULL, NULL, NULL, NULL));
  if (offers)
    offer(&self);
  for (;;)
    BENCH_CALL(segue_app_dispatch(self.app, -1, NULL));
}
