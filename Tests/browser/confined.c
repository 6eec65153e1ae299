/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tries what a confined host must not do: one word a line, with the error or "done".
 *
 *     confined FILE BESIDE [free]
 *
 * FILE: a file outside of the runtime folder; it is emptied, if that is allowed. BESIDE: a name in the folder that
 * holds the runtime folder. free: without confinement.
 */
#define _GNU_SOURCE /* strerrorname_np */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../browser/host/confinement.h"

static void say(const char *word, long result) {
  printf("%s %s\n", word, result < 0 ? strerrorname_np(errno) : "done");
}

int main(int count, char **arguments) {
  char inside[4096];
  if (count < 3 || (count == 3 && confine() != NULL))
    return 1;
  snprintf(inside, sizeof inside, "%s/made", getenv("SEGUE_RUNTIME_DIR"));
  say("local", socket(AF_UNIX, SOCK_STREAM, 0));
  say("inside", open(inside, O_RDWR | O_CREAT, 0600));
  say("inside-again", open(inside, O_RDWR | O_TRUNC));
  say("system", open("/etc/passwd", O_RDONLY));
  say("network", socket(AF_INET, SOCK_STREAM, 0));
  say("network6", socket(AF_INET6, SOCK_DGRAM, 0));
  say("raw", socket(AF_PACKET, SOCK_RAW, 0));
  say("reading", open(arguments[1], O_RDONLY));
  say("writing", open(arguments[1], O_WRONLY));
  say("emptying", truncate(arguments[1], 0));
  say("beside", open(arguments[2], O_WRONLY | O_CREAT, 0600));
  say("signal", kill(getppid(), 0));
  say("memory", process_vm_readv(getpid(), NULL, 0, NULL, 0, 0));
  fflush(stdout);
  execl("/bin/echo", "echo", "program", "done", (char *)NULL);
  say("program", -1);
  return 0;
}
