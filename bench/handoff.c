/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures a continuation on one machine: from segue_app_continue to the continue callback, the origin in another
 * process, the hub in a third, the activity dirty each time; and a request of a kilobyte to the origin with an answer
 * of the same size. Runs in turns with its peers: a round trip over a raw Unix socket to another process, the same hops
 * without their work (bench/floor.c), and a method call through a D-Bus daemon to another process. Only the raw socket
 * is pinned to cores, because it has two results, far apart: the two processes on one core, or on two. */
#define _GNU_SOURCE
#include "continuing.h"
#include <poll.h>
#include <systemd/sd-bus.h>

/** A message there and back over a socket; `waits`: in poll, as a program does that waits for several descriptors. */
static double socket_once(int fd, bool waits) {
  char message[BENCH_MESSAGE_SIZE] = {0};
  double start = bench_now_us();
  if (write(fd, message, sizeof message) != (ssize_t)sizeof message)
    bench_fail("socket", "write");
  struct pollfd end = {.fd = fd, .events = POLLIN};
  if (waits && poll(&end, 1, -1) != 1)
    bench_fail("socket", "poll");
  for (size_t have = 0; have < sizeof message;) {
    ssize_t got = read(fd, message + have, sizeof message - have);
    if (got <= 0)
      bench_fail("socket", "read");
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

/* handoff BUS_ADDRESS ROUNDS CALLS_PER_ROUND CORE_OF_ECHO OTHER_CORE */
int main(int count, char **arguments) {
  if (count != 6)
    bench_fail("usage", "handoff BUS_ADDRESS ROUNDS CALLS_PER_ROUND CORE_OF_ECHO OTHER_CORE");
  size_t rounds = bench_count(arguments[2]), calls = bench_count(arguments[3]), total = rounds * calls;
  int near_core = atoi(arguments[4]), far_core = atoi(arguments[5]);
  enum { HANDOFF, REQUEST, DBUS, FLOOR, ONE_CORE, TWO_CORES, FIGURES };
  double *samples[FIGURES];
  for (int f = 0; f < FIGURES; f++)
    samples[f] = calloc(total, sizeof(double));
  sd_bus *bus = open_bus(arguments[1]);
  struct receiver self = {0};
  segue_app *app = open_app(&self);
  for (size_t i = 0; i < calls; i++) { /* not counted: caches, first allocations */
    socket_once(ECHO_SOCKET, false);
    socket_once(FLOOR_SOCKET, true);
    dbus_once(bus);
    continue_once(app, &self);
    request_once(app, &self);
  }
  for (size_t start = 0; start < total; start += calls) {
    size_t end = start + calls;
    pin(&near_core);
    for (size_t i = start; i < end; i++)
      samples[ONE_CORE][i] = socket_once(ECHO_SOCKET, false);
    pin(&far_core);
    for (size_t i = start; i < end; i++)
      samples[TWO_CORES][i] = socket_once(ECHO_SOCKET, false);
    pin(NULL);
    for (size_t i = start; i < end; i++)
      samples[FLOOR][i] = socket_once(FLOOR_SOCKET, true);
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
  bench_print("floor_p50_us", bench_percentile(samples[FLOOR], total, 50));
  bench_print("socket_one_core_p50_us", bench_percentile(samples[ONE_CORE], total, 50));
  bench_print("socket_two_cores_p50_us", bench_percentile(samples[TWO_CORES], total, 50));
  segue_release(self.activity);
  segue_release(self.offer);
  BENCH_CALL(segue_app_close(app));
  segue_release(app);
  return 0;
}
