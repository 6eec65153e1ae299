/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// Opens TCP connections that say nothing, as fast as it may, until its standard input ends: somebody without any key
// who keeps devices apart (A19). The oldest are closed to make room for new ones.
//
//   flood ADDRESS PORT INTERFACE RATE [SOURCE...]    RATE: connections a second; SOURCE: the addresses to come from
//
// It says "floods" once the first second is over, and in the end how many connections it has begun a second.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// BATCH: as many before it looks at its input again, where it falls behind.
enum { HELD = 900, BATCH = 1000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int has_ended(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  char byte;
  return poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0;
}

int main(int count, char **words) {
  if (count < 5)
    return 2;
  struct sockaddr_in6 target = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(words[2]))};
  target.sin6_scope_id = if_nametoindex(words[3]);
  if (inet_pton(AF_INET6, words[1], &target.sin6_addr) != 1)
    return 2;
  int held[HELD];
  memset(held, -1, sizeof held);
  double rate = atof(words[4]), began = now();
  long begun = 0, told = 0;
  while (!has_ended()) {
    double passed = now() - began;
    long due = (long)(passed * rate);
    if (due > begun + BATCH)
      due = begun + BATCH;
    for (; begun < due; begun++) {
      int *place = &held[begun % HELD];
      if (*place >= 0) {
        // Without a state that stays at this end.
        struct linger at_once = {.l_onoff = 1, .l_linger = 0};
        setsockopt(*place, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(*place);
      }
      *place = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
      if (count > 5) {
        struct sockaddr_in6 source = {.sin6_family = AF_INET6, .sin6_scope_id = target.sin6_scope_id};
        inet_pton(AF_INET6, words[5 + begun % (count - 5)], &source.sin6_addr);
        if (bind(*place, (struct sockaddr *)&source, sizeof source) != 0)
          return 3;
      }
      if (connect(*place, (struct sockaddr *)&target, sizeof target) != 0 && errno != EINPROGRESS &&
          errno != EADDRNOTAVAIL)
        return 4;
    }
    if (!told && passed > 1)
      told = printf("floods\n"), fflush(stdout);
    struct timespec pause = {.tv_nsec = 500000};
    nanosleep(&pause, NULL);
  }
  printf("has begun %.0f a second\n", (double)begun / (now() - began));
  return 0;
}
