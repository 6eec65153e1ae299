/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Connections to hand over, and what is none. */
#define _GNU_SOURCE
#include "abuse.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

enum { ENDS = 16 };
/** Other ends of what was given out, plus one; 0: none. */
static atomic_int ends[ENDS];

int descriptor_take(void) {
  int end = atomic_exchange(&ends[draw(ENDS)], 0) - 1;
  if (end >= 0)
    return end;
  int both[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
    return -1;
  int former = atomic_exchange(&ends[draw(ENDS)], both[1] + 1) - 1;
  if (former >= 0)
    close(former); /* perhaps in the middle of a link */
  return both[0];
}

int descriptor_junk(void) {
  switch (draw(5)) {
  case 0:
    return -1;
  case 1:
    return open("/dev/null", O_RDWR | O_CLOEXEC);
  case 2:
    return memfd_create("abuse", MFD_CLOEXEC);
  case 3:
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  default:
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  }
}

void descriptors_close(void) {
  for (int i = 0; i < ENDS; i++) {
    int end = atomic_exchange(&ends[i], 0) - 1;
    if (end >= 0)
      close(end);
  }
}

int descriptors_open(void) {
  DIR *entries = opendir("/proc/self/fd");
  int count = 0;
  while (entries && readdir(entries))
    count++;
  if (entries)
    closedir(entries);
  return count;
}
