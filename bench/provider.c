/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A desktop that searches, and measures segue-search: bench/provider.py. Each line of the input is a term.
 *
 *     provider ADDRESS NAME PATH     prints medians: of the search, of a bare call to the same program, and of the same
 *                                    question to the agent
 */
#include "bench.h"
#include <stdbool.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define INTERFACE "org.gnome.Shell.SearchProvider2"
#define TERMS_MOST 10000
/** Searches before the measurement: the first ones find everything cold. */
#define WARMING 20

static segue_app *app;
static sd_bus *bus;
static const char *name, *path;

static void check(const char *what, int result) {
  if (result < 0)
    bench_fail(what, strerror(-result));
}

/** Searches for a term. Returns the number of results. */
static size_t search(const char *term) {
  sd_bus_message *answer = NULL;
  const char *id;
  size_t count = 0;
  check("GetInitialResultSet",
        sd_bus_call_method(bus, name, path, INTERFACE, "GetInitialResultSet", NULL, &answer, "as", 1, term));
  check("results", sd_bus_message_enter_container(answer, 'a', "s"));
  while (sd_bus_message_read(answer, "s", &id) > 0)
    count++;
  sd_bus_message_unref(answer);
  return count;
}

static void call_bare(void) {
  check("Ping", sd_bus_call_method(bus, name, path, "org.freedesktop.DBus.Peer", "Ping", NULL, NULL, ""));
}

/** Asks the agent for what the search asks it for. */
static void ask(const char *term) {
  char query[260];
  segue_writer *writer;
  segue_value *options, *answer;
  snprintf(query, sizeof query, "%s*", term);
  BENCH_CALL(segue_writer_create(&writer));
  BENCH_CALL(segue_writer_begin(writer, SEGUE_KIND_DICTIONARY));
  BENCH_CALL(segue_writer_put_string(writer, "query", SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_writer_put_string(writer, query, SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_writer_put_string(writer, "limit", SEGUE_NUL_TERMINATED));
  BENCH_CALL(segue_writer_put_int64(writer, 20));
  BENCH_CALL(segue_writer_end(writer));
  BENCH_CALL(segue_writer_finish(writer, &options));
  BENCH_CALL(segue_app_ask_agent(app, "search", SEGUE_NUL_TERMINATED, options, 0, &answer));
  segue_release(answer);
  segue_release(options);
  segue_release(writer);
}

int main(int count, char **arguments) {
  static double searched[TERMS_MOST], bare[TERMS_MOST], asked[TERMS_MOST];
  size_t terms = 0, found = 0, number = 0;
  char line[256];
  if (count != 4)
    bench_fail("usage", "provider ADDRESS NAME PATH");
  name = arguments[2], path = arguments[3];
  check("sd_bus_new", sd_bus_new(&bus));
  check("sd_bus_set_address", sd_bus_set_address(bus, arguments[1]));
  check("sd_bus_set_bus_client", sd_bus_set_bus_client(bus, 1));
  check("sd_bus_start", sd_bus_start(bus));
  BENCH_CALL(segue_app_create("com.example.search", SEGUE_NUL_TERMINATED, &app));
  BENCH_CALL(segue_app_set_chooser(app, true));
  BENCH_CALL(segue_app_open(app));
  for (; terms < TERMS_MOST && fgets(line, sizeof line, stdin); number++) {
    line[strcspn(line, "\n")] = '\0';
    double began = bench_now_us();
    call_bare();
    double middle = bench_now_us();
    size_t results = search(line);
    double later = bench_now_us();
    ask(line);
    double ended = bench_now_us();
    if (number < WARMING)
      continue;
    bare[terms] = middle - began;
    asked[terms] = ended - later;
    searched[terms++] = later - middle;
    found += results;
  }
  if (terms == 0)
    bench_fail("input", "too few terms");
  bench_print("results", (double)found / (double)terms);
  bench_print("searched_us", bench_percentile(searched, terms, 50));
  bench_print("searched_p99_us", bench_percentile(searched, terms, 99));
  bench_print("asked_us", bench_percentile(asked, terms, 50));
  bench_print("bare_us", bench_percentile(bare, terms, 50));
}
