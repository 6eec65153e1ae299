/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures streams on one machine, the hub in a third process: the time to the first byte, the throughput, and the
 * memory of a long transfer to a slow reader. Runs in turns with the peer, a raw socket pair between the same two
 * processes, which the origin serves with the same function. */
#define _GNU_SOURCE
#include "receiver.h"
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#define TYPE "com.example.bench.streaming"

enum { RAW = 3, CHUNK = 64 * 1024, SLOW_CHUNK = 4 * 1024 };
static char chunk[CHUNK];

/* The request of the reading side: a number of bytes, or one message back. */
struct wish {
  uint64_t bytes; /* 0: a message of BENCH_MESSAGE_SIZE comes, and goes back */
};

static bool read_all(int fd, void *bytes, size_t size) {
  for (size_t have = 0; have < size;) {
    ssize_t got = read(fd, (char *)bytes + have, size - have);
    if (got <= 0)
      return false;
    have += (size_t)got;
  }
  return true;
}

static void write_all(int fd, const void *bytes, size_t size) {
  for (size_t gone = 0; gone < size;) {
    ssize_t put = write(fd, (const char *)bytes + gone, size - gone);
    if (put <= 0)
      bench_fail("streams", "write");
    gone += (size_t)put;
  }
}

/* The origin ------------------------------------------------------------------------------------------------------- */

/** Serves one request; false at the end. */
static bool serve(int fd) {
  struct wish wish;
  if (!read_all(fd, &wish, sizeof wish))
    return false;
  if (wish.bytes == 0) {
    char message[BENCH_MESSAGE_SIZE];
    if (read_all(fd, message, sizeof message))
      write_all(fd, message, sizeof message);
  }
  for (uint64_t left = wish.bytes; left > 0;) {
    size_t size = left < CHUNK ? (size_t)left : CHUNK;
    write_all(fd, chunk, size);
    left -= size;
  }
  return true;
}

struct origin {
  segue_stream *stream; /* one at a time */
  int fd;               /* its descriptor, or -1 */
};

static void did_receive_stream(void *context, segue_activity *activity, segue_stream *stream) {
  (void)activity;
  struct origin *self = context;
  BENCH_CALL(segue_retain(stream));
  BENCH_CALL(segue_stream_open(stream, &self->fd));
  self->stream = stream;
  write_all(self->fd, chunk, 1);
}

static void finish_stream(struct origin *self) {
  BENCH_CALL(segue_stream_finish(self->stream));
  BENCH_CALL(segue_release(self->stream));
  close(self->fd);
  self->fd = -1;
}

static int be_origin(segue_app *app) {
  struct origin self = {.fd = -1};
  segue_activity *activity;
  segue_activity_delegate *delegate;
  int due;
  BENCH_CALL(segue_app_open(app));
  BENCH_CALL(segue_app_fd(app, &due));
  BENCH_CALL(segue_activity_create(app, TYPE, SEGUE_NUL_TERMINATED, &activity));
  BENCH_CALL(segue_activity_set_supports_continuation_streams(activity, true));
  BENCH_CALL(segue_activity_delegate_create(&self, NULL, &delegate));
  BENCH_CALL(segue_activity_delegate_on_did_receive_stream(delegate, did_receive_stream));
  BENCH_CALL(segue_activity_set_delegate(activity, delegate));
  BENCH_CALL(segue_activity_become_current(activity));
  for (;;) {
    struct pollfd sources[] = {{RAW, POLLIN, 0}, {due, POLLIN, 0}, {self.fd, POLLIN, 0}};
    if (poll(sources, 3, -1) < 0)
      bench_fail("streams", "poll");
    if (sources[0].revents && !serve(RAW))
      return 0;
    if (sources[2].revents && !serve(self.fd))
      finish_stream(&self);
    if (sources[1].revents)
      BENCH_CALL(segue_app_dispatch(app, 0, NULL));
  }
}

/* The receiver ----------------------------------------------------------------------------------------------------- */

struct receiver {
  segue_app *app;
  segue_activity *activity;
  segue_stream *stream;
  bool has_ended;
};

static void answered(void *context, segue_activity *activity, segue_stream *stream, const segue_error *error) {
  (void)activity;
  if (error)
    bench_fail("stream", "refused");
  BENCH_CALL(segue_retain(stream));
  ((struct receiver *)context)->stream = stream;
}

static void ended(void *context, segue_stream *stream, segue_stream_result result, uint32_t code) {
  (void)stream;
  (void)code;
  if (result != SEGUE_STREAM_ENDED)
    bench_fail("stream", "not ended");
  ((struct receiver *)context)->has_ended = true;
}

/** A stream whose first byte was read. */
static int open_stream(struct receiver *self) {
  int fd;
  char first;
  self->stream = NULL;
  BENCH_CALL(segue_activity_ask_stream(self->activity, 0, answered, self, NULL));
  while (!self->stream)
    BENCH_CALL(segue_app_dispatch(self->app, -1, NULL));
  BENCH_CALL(segue_stream_open(self->stream, &fd));
  if (!read_all(fd, &first, 1))
    bench_fail("stream", "no first byte");
  return fd;
}

static void close_stream(struct receiver *self, int fd) {
  BENCH_CALL(segue_stream_finish(self->stream));
  if (read(fd, chunk, 1) != 0)
    bench_fail("stream", "goes on");
  self->has_ended = false;
  BENCH_CALL(segue_stream_ask_result(self->stream, ended, self, NULL));
  while (!self->has_ended)
    BENCH_CALL(segue_app_dispatch(self->app, -1, NULL));
  close(fd);
  BENCH_CALL(segue_release(self->stream));
}

/** Returns microseconds for that many bytes, read in pieces. */
static double transfer(int fd, uint64_t bytes, size_t piece) {
  struct wish wish = {bytes};
  double start = bench_now_us();
  write_all(fd, &wish, sizeof wish);
  for (uint64_t left = bytes; left > 0;) {
    ssize_t got = read(fd, chunk, left < piece ? (size_t)left : piece);
    if (got <= 0)
      bench_fail("streams", "read");
    left -= (uint64_t)got;
  }
  return bench_now_us() - start;
}

static double round_trip(void) {
  struct {
    struct wish wish;
    char message[BENCH_MESSAGE_SIZE];
  } out = {0};
  double start = bench_now_us();
  write_all(RAW, &out, sizeof out);
  if (!read_all(RAW, out.message, sizeof out.message))
    bench_fail("raw socket", "read");
  return bench_now_us() - start;
}

/** Puts a thread on one core, or on all. */
static void pin(pid_t thread, int core, const cpu_set_t *all) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core < 0 ? 0 : core, &one);
  if (sched_setaffinity(thread, sizeof one, core < 0 ? all : &one) != 0)
    bench_fail("sched_setaffinity", "refused");
}

/** Returns KiB of the private memory of a process, without the kernel's memory for its sockets. */
static double resident_kib(pid_t process) {
  char line[256];
  double kib = 0, part;
  snprintf(line, sizeof line, "/proc/%d/status", (int)process);
  FILE *file = fopen(line, "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "RssAnon: %lf", &part) == 1)
      kib = part;
  if (file)
    fclose(file);
  return kib;
}

/* streams origin
 * streams receiver ORIGIN HUB ROUNDS MIB_PER_ROUND MIB_SLOW ONE_CORE OTHER_CORE */
int main(int count, char **arguments) {
  struct receiver self = {0};
  bool is_origin = count == 2;
  const char *name = is_origin ? "com.example.bench.origin" : "com.example.bench.receiver";
  BENCH_CALL(segue_app_create(name, SEGUE_NUL_TERMINATED, &self.app));
  BENCH_CALL(segue_app_set_team_identifier(self.app, "BENCH", SEGUE_NUL_TERMINATED));
  if (is_origin)
    return be_origin(self.app);
  if (count != 9)
    bench_fail("usage", "streams origin | streams receiver ORIGIN HUB ROUNDS MIB MIB_SLOW ONE_CORE OTHER_CORE");
  pid_t origin = atoi(arguments[2]), hub = atoi(arguments[3]);
  size_t rounds = bench_count(arguments[4]), opens = 20;
  uint64_t bytes = (uint64_t)bench_count(arguments[5]) << 20, slow = (uint64_t)bench_count(arguments[6]) << 20;
  int one = atoi(arguments[7]), other = atoi(arguments[8]);
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  self.activity = bench_continue(self.app, TYPE);
  double *ratio = calloc(rounds, sizeof *ratio), *speed = calloc(rounds, sizeof *speed);
  double *opened = calloc(rounds * opens, sizeof *opened), *raw = calloc(rounds * opens, sizeof *raw);
  for (size_t round = 0; round < rounds; round++) {
    pin(origin, one, &all);
    pin(0, other, &all);
    for (size_t i = 0; i < opens; i++)
      raw[round * opens + i] = round_trip();
    pin(origin, -1, &all);
    pin(0, -1, &all);
    for (size_t i = 0; i < opens; i++) {
      double start = bench_now_us();
      int fd = open_stream(&self);
      opened[round * opens + i] = bench_now_us() - start;
      close_stream(&self, fd);
    }
    int fd = open_stream(&self);
    /* In turns, and each first in every other round: the first one changes the state of the machine. */
    double first = transfer(round % 2 ? fd : RAW, bytes, CHUNK), second = transfer(round % 2 ? RAW : fd, bytes, CHUNK);
    ratio[round] = round % 2 ? second / first : first / second;
    speed[round] = (double)bytes / (round % 2 ? first : second);
    close_stream(&self, fd);
  }
  int fd = open_stream(&self);
  transfer(fd, 1 << 20, SLOW_CHUNK);
  double before = resident_kib(origin) + resident_kib(hub) + resident_kib(getpid());
  transfer(fd, slow, SLOW_CHUNK);
  double after = resident_kib(origin) + resident_kib(hub) + resident_kib(getpid());
  close_stream(&self, fd);
  bench_print("open_p50_us", bench_percentile(opened, rounds * opens, 50));
  bench_print("raw_p50_us", bench_percentile(raw, rounds * opens, 50));
  bench_print("throughput_ratio", bench_percentile(ratio, rounds, 50));
  bench_print("bytes_per_us", bench_percentile(speed, rounds, 50));
  bench_print("growth_kib", after - before);
  BENCH_CALL(segue_app_close(self.app));
  return 0;
}
