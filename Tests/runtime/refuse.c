/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs a program as a strict sandbox would: system calls that it names are refused, with EPERM.
 *
 *     refuse CALL[,CALL]... PROGRAM [ARGUMENT]...
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name)                                                                                                     \
  { #name, SYS_##name }
static const struct {
  const char *name;
  int number;
} calls[] = {
    CALL(accept4),       CALL(bind),           CALL(connect),         CALL(epoll_create1), CALL(epoll_ctl),
    CALL(eventfd2),      CALL(fchmod),         CALL(fchmodat),        CALL(flock),         CALL(fstatfs),
    CALL(getdents64),    CALL(getpeername),    CALL(getrandom),       CALL(getsockopt),    CALL(inotify_add_watch),
    CALL(inotify_init1), CALL(listen),         CALL(lseek),           CALL(memfd_create),  CALL(mkdir),
    CALL(pipe2),         CALL(poll),           CALL(prlimit64),       CALL(recvmsg),       CALL(rename),
    CALL(renameat),      CALL(renameat2),      CALL(sendmsg),         CALL(sendto),        CALL(socket),
    CALL(socketpair),    CALL(timerfd_create), CALL(timerfd_settime), CALL(unlinkat),      CALL(utimensat),
    CALL(uname),
};

static int number_of(const char *name) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    if (strcmp(calls[i].name, name) == 0)
      return calls[i].number;
  fprintf(stderr, "refuse: no such call: %s\n", name);
  exit(2);
}

int main(int count, char **arguments) {
  if (count < 3)
    return 2;
  struct sock_filter filter[64];
  unsigned short length = 0;
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (char *name = strtok(arguments[1], ","); name && length < 60; name = strtok(NULL, ",")) {
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number_of(name), 0, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  }
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {.len = length, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("refuse");
    return 2;
  }
  execvp(arguments[2], arguments + 2);
  perror(arguments[2]);
  return 2;
}
