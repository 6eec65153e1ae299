/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A notification server that measures segue-desktop: bench/desktop.py. It is an app, too, which sees the offer that a
 * notification is about, and continues it: by a click on the notification, and by segue_app_launch itself.
 *
 *     notify server ADDRESS     for each offer prints "shown US", "clicked US" and "direct US"
 *     notify call ADDRESS       for each line of its input calls Notify, and prints "bare US"
 */
#include "bench.h"
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define SERVER "org.freedesktop.Notifications"
#define SERVER_PATH "/org/freedesktop/Notifications"
#define BARE "bare"
#define TYPE "com.example.editing"

static segue_app *app;
static sd_bus *bus;
static segue_offer *offered;
static pthread_t launcher;
/** microseconds: when the offer came, the click was sent, the launch was called; 0: not yet */
static double came, clicked, launched;
static uint32_t last_id;

static void check(const char *what, int result) {
  if (result < 0)
    bench_fail(what, strerror(-result));
}

static void say(const char *name, double from) {
  printf("%s %.1f\n", name, bench_now_us() - from);
  fflush(stdout);
}

static void *launch(void *context) {
  (void)context;
  launched = bench_now_us();
  BENCH_CALL(segue_app_launch(app, offered, NULL, 0, 0, NULL));
  return NULL;
}

static void on_offer(void *context, segue_app *opened, segue_offer_event event, segue_offer *offer) {
  (void)context, (void)opened;
  if (event != SEGUE_OFFER_APPEARED)
    return;
  segue_release(offered);
  BENCH_CALL(segue_retain(offer));
  offered = offer;
  came = bench_now_us();
}

static segue_reply on_continue(void *context, segue_app *opened, segue_activity *activity,
                               segue_continuation *continuation) {
  (void)context, (void)opened, (void)activity, (void)continuation;
  if (clicked > 0)
    say("clicked", clicked);
  else
    say("direct", launched);
  return SEGUE_REPLY_YES;
}

static int notify(sd_bus_message *call, void *context, sd_bus_error *error) {
  const char *name;
  (void)context, (void)error;
  check("Notify", sd_bus_message_read(call, "s", &name));
  if (strcmp(name, BARE) != 0)
    say("shown", came);
  return sd_bus_reply_method_return(call, "u", ++last_id);
}

static int close_notification(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)context, (void)error;
  return sd_bus_reply_method_return(call, "");
}

static int capabilities(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)context, (void)error;
  return sd_bus_reply_method_return(call, "as", 3, "actions", "body", "body-markup");
}

static const sd_bus_vtable interface[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Notify", "susssasa{sv}i", "u", notify, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("CloseNotification", "u", "", close_notification, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("GetCapabilities", "", "as", capabilities, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_SIGNAL("ActionInvoked", "us", 0),
    SD_BUS_VTABLE_END,
};

static void connect_bus(const char *address) {
  check("sd_bus_new", sd_bus_new(&bus));
  check("sd_bus_set_address", sd_bus_set_address(bus, address));
  check("sd_bus_set_bus_client", sd_bus_set_bus_client(bus, 1));
  check("sd_bus_start", sd_bus_start(bus));
}

static void open_app(void) {
  segue_app_delegate *delegate;
  BENCH_CALL(segue_app_create("com.example.notes", SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_set_team_identifier(app, "T", SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_add_activity_type(app, TYPE, SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_app_delegate_create(NULL, NULL, &delegate));
  BENCH_CALL(segue_app_delegate_on_offer(delegate, on_offer));
  BENCH_CALL(segue_app_delegate_on_continue(delegate, on_continue));
  BENCH_CALL(segue_app_set_delegate(app, delegate));
  BENCH_CALL(segue_app_open(app));
}

/** Takes "click" and "launch". Returns false at the end of the input. */
static bool take_order(void) {
  char line[64];
  if (!fgets(line, sizeof line, stdin))
    return false;
  clicked = launched = 0;
  if (line[0] == 'c') {
    clicked = bench_now_us();
    check("ActionInvoked", sd_bus_emit_signal(bus, SERVER_PATH, SERVER, "ActionInvoked", "us", last_id, "default"));
    return true;
  }
  if (pthread_create(&launcher, NULL, launch, NULL) != 0)
    bench_fail("pthread_create", "refused");
  pthread_detach(launcher);
  return true;
}

static void serve(void) {
  int descriptor;
  check("add", sd_bus_add_object_vtable(bus, NULL, SERVER_PATH, SERVER, interface, NULL));
  check("name", sd_bus_request_name(bus, SERVER, 0));
  open_app();
  BENCH_CALL(segue_app_fd(app, &descriptor));
  setvbuf(stdin, NULL, _IONBF, 0);
  puts("ready");
  fflush(stdout);
  for (;;) {
    struct pollfd polled[] = {{descriptor, POLLIN, 0}, {sd_bus_get_fd(bus), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    while (sd_bus_process(bus, NULL) > 0)
      ;
    sd_bus_flush(bus);
    if (poll(polled, 3, -1) < 0)
      continue;
    /* The offer first: it came before the notification. */
    if (polled[0].revents != 0)
      BENCH_CALL(segue_app_dispatch(app, 0, NULL));
    if (polled[2].revents != 0 && !take_order())
      exit(0);
  }
}

static void call_bare(void) {
  char line[64];
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    double began = bench_now_us();
    check("Notify", sd_bus_call_method(bus, SERVER, SERVER_PATH, SERVER, "Notify", NULL, NULL, "susssasa{sv}i", BARE, 0,
                                       "", "Continue 'budget.md'", "Notes, on laptop", 2, "default", "Continue", 1,
                                       "urgency", "y", 0, -1));
    say("bare", began);
  }
}

int main(int count, char **arguments) {
  if (count != 3)
    bench_fail("usage", "notify server|call ADDRESS");
  connect_bus(arguments[2]);
  if (strcmp(arguments[1], "server") == 0)
    serve();
  else
    call_bare();
}
