/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Asks the agent for the inbox, on a thread to which the system refuses a call, as a sandbox does that is set up after
 * the app has opened, or a system that is short of memory.
 *
 *     refused CALL ERROR    "OK", or "STATUS: MESSAGE"; none: no call is refused
 *
 * Says "asking PID" before.
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

#include "../require.h"

#define CALL(name)                                                                                                     \
  { #name, SYS_##name }
static const struct {
  const char *name;
  int number;
} calls[] = {CALL(connect), CALL(getsockopt), CALL(openat), CALL(poll), CALL(recvmsg), CALL(sendto), CALL(socket)};

/** The call gives this error to this thread from now on. */
static void refuse(const char *name, unsigned error) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (strcmp(calls[i].name, name) != 0)
      continue;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i].number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = 4, .filter = filter};
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    return;
  }
  REQUIRE(strcmp(name, "none") == 0);
}

int main(int count, char **arguments) {
  segue_app *app = NULL;
  segue_value *answer = NULL;
  char message[SEGUE_MESSAGE_SIZE];
  REQUIRE(count == 3);
  OK(segue_app_create("com.example.refused", NUL, &app));
  OK(segue_app_open(app));
  printf("asking %d\n", (int)getpid());
  fflush(stdout);
  refuse(arguments[1], (unsigned)atoi(arguments[2]));
  segue_status status = segue_app_ask_agent(app, "inbox", NUL, NULL, 0, &answer);
  if (status == SEGUE_OK) {
    puts("OK");
  } else {
    segue_last_error(message, sizeof message);
    printf("%s: %s\n", segue_status_name(status), message);
  }
  OK(segue_release(answer));
  OK(segue_release(app));
  return 0;
}
