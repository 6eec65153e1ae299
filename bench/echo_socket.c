/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The raw peer of bench/handoff.c: returns every message on descriptor 3, until that is closed. */
#include "bench.h"
#include <unistd.h>

int main(void) {
  char message[BENCH_MESSAGE_SIZE];
  for (;;) {
    size_t have = 0;
    while (have < sizeof message) {
      ssize_t got = read(3, message + have, sizeof message - have);
      if (got == 0)
        return 0;
      if (got < 0)
        bench_fail("echo_socket", "read");
      have += (size_t)got;
    }
    if (write(3, message, sizeof message) != (ssize_t)sizeof message)
      bench_fail("echo_socket", "write");
  }
}
