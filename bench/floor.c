/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The floor of bench/handoff.c: the hops and the wake-ups of a continuation without its work. A message goes from the
 * receiver to a hub, to an origin, and back the same way; each process waits in poll, reads, and writes.
 *
 *     floor FD          an origin: returns every message
 *     floor FD OTHER    a hub: passes every message on, both ways */
#include "bench.h"
#include <poll.h>
#include <unistd.h>

/** Returns false at the end of the connection. */
static bool read_message(int fd, char *message) {
  for (size_t have = 0; have < BENCH_MESSAGE_SIZE;) {
    ssize_t got = read(fd, message + have, BENCH_MESSAGE_SIZE - have);
    if (got == 0)
      return false;
    if (got < 0)
      bench_fail("floor", "read");
    have += (size_t)got;
  }
  return true;
}

int main(int count, char **arguments) {
  if (count != 2 && count != 3)
    bench_fail("usage", "floor FD [OTHER]");
  struct pollfd ends[2];
  nfds_t number = (nfds_t)count - 1;
  for (nfds_t i = 0; i < number; i++)
    ends[i] = (struct pollfd){.fd = (int)bench_count(arguments[i + 1]), .events = POLLIN};
  for (;;) {
    if (poll(ends, number, -1) < 0)
      bench_fail("floor", "poll");
    for (nfds_t i = 0; i < number; i++) {
      char message[BENCH_MESSAGE_SIZE];
      if (ends[i].revents == 0)
        continue;
      if (!read_message(ends[i].fd, message))
        return 0;
      if (write(ends[number - 1 - i].fd, message, sizeof message) != (ssize_t)sizeof message)
        bench_fail("floor", "write");
    }
  }
}
