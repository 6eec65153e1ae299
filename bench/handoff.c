/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a continuation on one machine: from segue_app_continue to the continue callback, the origin in another
 * process, the hub in a third, the activity dirty each time; and a request of a kilobyte to the origin with an answer
 * of the same size. Runs in turns with its peers: a round trip over a raw Unix socket to another process, and a method
 * call through a D-Bus daemon to another process. Only the raw socket is pinned to cores, because it has two results,
 * far apart: the two processes on one core, or on two. */
#define _GNU_SOURCE
#include "bench.h"
#include <sched.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define TYPE "com.example.bench.editing"

/* Descriptors that bench/run leaves open. */
enum { REQUEST_SIZE = 1024 };
enum { ECHO_SOCKET = 3, ORIGIN_REPORTS = 4 };

struct receiver {
  segue_offer *offer;
  segue_activity *activity; /* the first that was continued: to ask its origin */
  double answered_at;       /* us; 0 while a request is in progress */
  double continued_at;      /* us; 0 while a continuation is in progress */
};

static void on_offer(void *context, segue_app *app, segue_offer_event event, segue_offer *offer) {
  (void)app;
  struct receiver *self = context;
  if (event == SEGUE_OFFER_APPEARED && self->offer == NULL) {
    BENCH_CALL(segue_offer_retain(offer));
    self->offer = offer;
  }
}

static bool will_continue(void *context, segue_app *app, const char *type, size_t length, segue_continuation *which) {
  (void)context;
  (void)app;
  (void)type;
  (void)length;
  (void)which;
  return true;
}

static segue_reply continued(void *context, segue_app *app, segue_activity *activity, segue_continuation *which) {
  (void)app;
  (void)which;
  struct receiver *self = context;
  /* The last one: after some hundreds of others the origin has dropped the earlier grants. */
  BENCH_CALL(segue_activity_release(self->activity));
  BENCH_CALL(segue_activity_retain(activity));
  self->activity = activity;
  self->continued_at = bench_now_us();
  return SEGUE_REPLY_YES;
}

static void did_fail(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                     segue_continuation *which) {
  (void)context;
  (void)app;
  (void)type;
  (void)length;
  (void)which;
  char *message = NULL;
  segue_error_get_message(error, &message, NULL);
  bench_fail("continuation", message);
}

static double continue_once(segue_app *app, struct receiver *self) {
  segue_continuation *continuation;
  self->continued_at = 0;
  double start = bench_now_us();
  BENCH_CALL(segue_app_continue(app, self->offer, 0, &continuation));
  while (self->continued_at == 0)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  BENCH_CALL(segue_continuation_release(continuation));
  char word; /* the origin has its receipt, and the activity is dirty again */
  if (read(ORIGIN_REPORTS, &word, 1) != 1)
    bench_fail("origin", "gone");
  if (word != 's')
    bench_fail("origin", "continued without will_save");
  return self->continued_at - start;
}

static void answered(void *context, segue_activity *activity, const uint8_t *bytes, size_t length,
                     const segue_error *error) {
  (void)activity;
  if (error != NULL || length != REQUEST_SIZE || bytes[length - 1] != 7) {
    char *why = NULL;
    if (error)
      segue_error_get_message(error, &why, NULL);
    bench_fail("request", why ? why : "another answer");
  }
  ((struct receiver *)context)->answered_at = bench_now_us();
}

static double request_once(segue_app *app, struct receiver *self) {
  uint8_t bytes[REQUEST_SIZE];
  memset(bytes, 7, sizeof bytes);
  self->answered_at = 0;
  double start = bench_now_us();
  BENCH_CALL(segue_activity_request(self->activity, bytes, sizeof bytes, 0, answered, self, NULL, NULL));
  while (self->answered_at == 0)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  return self->answered_at - start;
}

/** Puts this thread on one core, or with NULL back on all that it may use. */
static void pin(const int *core) {
  static cpu_set_t all;
  cpu_set_t one;
  if (CPU_COUNT(&all) == 0 && sched_getaffinity(0, sizeof all, &all) != 0)
    bench_fail("sched_getaffinity", "refused");
  CPU_ZERO(&one);
  if (core != NULL)
    CPU_SET(*core, &one);
  if (sched_setaffinity(0, sizeof one, core != NULL ? &one : &all) != 0)
    bench_fail("sched_setaffinity", "refused");
}

static double socket_once(void) {
  char message[BENCH_MESSAGE_SIZE] = {0};
  double start = bench_now_us();
  if (write(ECHO_SOCKET, message, sizeof message) != (ssize_t)sizeof message)
    bench_fail("echo socket", "write");
  for (size_t have = 0; have < sizeof message;) {
    ssize_t got = read(ECHO_SOCKET, message + have, sizeof message - have);
    if (got <= 0)
      bench_fail("echo socket", "read");
    have += (size_t)got;
  }
  return bench_now_us() - start;
}

static double dbus_once(sd_bus *bus) {
  char text[BENCH_MESSAGE_SIZE + 1];
  memset(text, 'x', BENCH_MESSAGE_SIZE);
  text[BENCH_MESSAGE_SIZE] = '\0';
  sd_bus_message *reply = NULL;
  const char *answer = NULL;
  double start = bench_now_us();
  int result =
      sd_bus_call_method(bus, "com.example.Echo", "/echo", "com.example.Echo", "Echo", NULL, &reply, "s", text);
  if (result >= 0)
    result = sd_bus_message_read(reply, "s", &answer);
  double elapsed = bench_now_us() - start;
  if (result < 0 || strcmp(answer, text) != 0)
    bench_fail("D-Bus", strerror(-result));
  sd_bus_message_unref(reply);
  return elapsed;
}

static sd_bus *open_bus(const char *address) {
  sd_bus *bus;
  if (sd_bus_new(&bus) < 0 || sd_bus_set_address(bus, address) < 0 || sd_bus_set_bus_client(bus, 1) < 0 ||
      sd_bus_start(bus) < 0)
    bench_fail("D-Bus", "no connection");
  return bus;
}

static segue_app *open_app(struct receiver *self) {
  segue_app *app;
  segue_app_delegate *delegate;
  BENCH_CALL(segue_app_create("com.example.bench.receiver", SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_set_team_identifier(app, "BENCH", SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_add_activity_type(app, TYPE, SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_delegate_create(self, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_offer(delegate, on_offer));
  BENCH_CALL(segue_app_delegate_on_will_continue(delegate, will_continue));
  BENCH_CALL(segue_app_delegate_on_continue(delegate, continued));
  BENCH_CALL(segue_app_delegate_on_did_fail(delegate, did_fail));
  BENCH_CALL(segue_app_set_delegate(app, delegate));
  BENCH_CALL(segue_app_open(app));
  while (self->offer == NULL)
    BENCH_CALL(segue_app_dispatch(app, -1, NULL));
  return app;
}

/* handoff BUS_ADDRESS ROUNDS CALLS_PER_ROUND CORE_OF_ECHO OTHER_CORE */
int main(int count, char **arguments) {
  if (count != 6)
    bench_fail("usage", "handoff BUS_ADDRESS ROUNDS CALLS_PER_ROUND CORE_OF_ECHO OTHER_CORE");
  size_t rounds = bench_count(arguments[2]), calls = bench_count(arguments[3]), total = rounds * calls;
  int near_core = atoi(arguments[4]), far_core = atoi(arguments[5]);
  enum { HANDOFF, REQUEST, DBUS, ONE_CORE, TWO_CORES, FIGURES };
  double *samples[FIGURES];
  for (int f = 0; f < FIGURES; f++)
    samples[f] = calloc(total, sizeof(double));
  sd_bus *bus = open_bus(arguments[1]);
  struct receiver self = {0};
  segue_app *app = open_app(&self);
  for (size_t i = 0; i < calls; i++) { /* not counted: caches, first allocations */
    socket_once();
    dbus_once(bus);
    continue_once(app, &self);
    request_once(app, &self);
  }
  for (size_t start = 0; start < total; start += calls) {
    size_t end = start + calls;
    pin(&near_core);
    for (size_t i = start; i < end; i++)
      samples[ONE_CORE][i] = socket_once();
    pin(&far_core);
    for (size_t i = start; i < end; i++)
      samples[TWO_CORES][i] = socket_once();
    pin(NULL);
    for (size_t i = start; i < end; i++)
      samples[DBUS][i] = dbus_once(bus);
    for (size_t i = start; i < end; i++) {
      samples[HANDOFF][i] = continue_once(app, &self);
      /* Its remaining work, after the callback, is done when this is answered, and does not slow down the next. */
      request_once(app, &self);
    }
    for (size_t i = start; i < end; i++)
      samples[REQUEST][i] = request_once(app, &self);
  }
  bench_print("handoff_p50_us", bench_percentile(samples[HANDOFF], total, 50));
  bench_print("handoff_p99_us", bench_percentile(samples[HANDOFF], total, 99));
  bench_print("request_p50_us", bench_percentile(samples[REQUEST], total, 50));
  bench_print("request_p99_us", bench_percentile(samples[REQUEST], total, 99));
  bench_print("dbus_p50_us", bench_percentile(samples[DBUS], total, 50));
  bench_print("socket_one_core_p50_us", bench_percentile(samples[ONE_CORE], total, 50));
  bench_print("socket_two_cores_p50_us", bench_percentile(samples[TWO_CORES], total, 50));
  segue_activity_release(self.activity);
  segue_offer_release(self.offer);
  BENCH_CALL(segue_app_close(app));
  segue_app_release(app);
  return 0;
}
