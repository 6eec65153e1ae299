/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* pump ONE OTHER: forwards bytes between two connected sockets, both ways, in the simplest way: the peer of a hub that
 * forwards a stream. */
#include "bench.h"
#include <poll.h>
#include <unistd.h>

static char chunk[64 * 1024];

static bool pass(int from, int to) {
  ssize_t got = read(from, chunk, sizeof chunk);
  for (ssize_t gone = 0; gone < got;) {
    ssize_t put = write(to, chunk + gone, (size_t)(got - gone));
    if (put <= 0)
      return false;
    gone += put;
  }
  return got > 0;
}

int main(int count, char **arguments) {
  if (count != 3)
    bench_fail("usage", "pump ONE OTHER");
  int one = (int)bench_count(arguments[1]), other = (int)bench_count(arguments[2]);
  for (;;) {
    struct pollfd ends[] = {{one, POLLIN, 0}, {other, POLLIN, 0}};
    if (poll(ends, 2, -1) < 0)
      bench_fail("pump", "poll");
    if ((ends[0].revents && !pass(one, other)) || (ends[1].revents && !pass(other, one)))
      return 0;
  }
}
