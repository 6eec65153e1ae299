/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An app that enters a sandbox after it has opened, offers something there, and is released. Or it enters before that,
 * and opens unless the system refuses what it needs.
 *
 *     sandbox write|read host|thread this|all|before   the call that is refused, with EPERM; to this thread, or to all
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../require.h"

static void enter(int call, int of_all) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = 4, .filter = filter};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  unsigned flags = of_all ? SECCOMP_FILTER_FLAG_TSYNC : 0;
  REQUIRE(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0);
}

static int is_ready(segue_app *app) {
  segue_connection connection = SEGUE_CONNECTION_SEARCHING;
  OK(segue_app_get_connection(app, &connection, NULL, NULL, NULL));
  return connection == SEGUE_CONNECTION_READY;
}

int main(int count, char **arguments) {
  REQUIRE(count == 4);
  int by_thread = strcmp(arguments[2], "thread") == 0;
  segue_app *app = NULL;
  segue_activity *activity = NULL;
  OK(segue_app_create("com.example.sandbox", NUL, &app));
  OK(segue_app_set_delivery(app, by_thread ? SEGUE_DELIVER_THREAD : SEGUE_DELIVER_HOST));
  int call = strcmp(arguments[1], "read") == 0 ? SYS_read : SYS_write;
  if (strcmp(arguments[3], "before") == 0) {
    enter(call, 0);
    segue_status status = segue_app_open(app);
    REQUIRE(status == SEGUE_ERROR_SYSTEM || (status == SEGUE_OK && call == SYS_read));
    OK(segue_release(app));
    return 0;
  }
  OK(segue_app_open(app));
  for (int i = 0; !is_ready(app); i++) {
    REQUIRE(i < 1000);
    if (by_thread)
      poll(NULL, 0, 10); /* its thread receives; this one only looks */
    else
      OK(segue_app_dispatch(app, 10, NULL));
  }
  enter(call, strcmp(arguments[3], "all") == 0);
  OK(segue_activity_create(app, "com.example.note", NUL, &activity));
  OK(segue_activity_become_current(activity));
  OK(segue_release(activity));
  OK(segue_release(app));
  return 0;
}
