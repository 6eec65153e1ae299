/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The D-Bus peer of bench/handoff.c: an sd-bus service whose method returns its string. Ends with the bus. */
#include "bench.h"
#include <errno.h>
#include <string.h>
#include <systemd/sd-bus.h>

static int echo(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)context;
  (void)error;
  const char *text;
  int result = sd_bus_message_read(call, "s", &text);
  return result < 0 ? result : sd_bus_reply_method_return(call, "s", text);
}

static const sd_bus_vtable interface[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Echo", "s", "s", echo, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

static void check(const char *what, int result) {
  if (result < 0)
    bench_fail(what, strerror(-result));
}

/* echo_dbus ADDRESS */
int main(int count, char **arguments) {
  if (count != 2)
    bench_fail("usage", "echo_dbus ADDRESS");
  sd_bus *bus;
  check("sd_bus_new", sd_bus_new(&bus));
  check("sd_bus_set_address", sd_bus_set_address(bus, arguments[1]));
  check("sd_bus_set_bus_client", sd_bus_set_bus_client(bus, 1));
  check("sd_bus_start", sd_bus_start(bus));
  check("sd_bus_add_object_vtable", sd_bus_add_object_vtable(bus, NULL, "/echo", "com.example.Echo", interface, NULL));
  check("sd_bus_request_name", sd_bus_request_name(bus, "com.example.Echo", 0));
  puts("ready");
  fflush(stdout);
  for (;;) {
    int result = sd_bus_process(bus, NULL);
    if (result == -ENOTCONN || result == -ECONNRESET)
      return 0;
    check("sd_bus_process", result);
    if (result == 0 && (result = sd_bus_wait(bus, UINT64_MAX)) < 0 && result != -EINTR)
      return 0;
  }
}
