/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#define _GNU_SOURCE 1 /* O_PATH */
#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "confinement.c: name the architecture of this processor (linux/audit.h)"
#endif

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/** The runtime folder: sockets, locks, and the folders that hold them. */
#define WRITING                                                                                                        \
  (READING | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |          \
   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK)
/** All rights of the first version of Landlock. */
#define EVERYTHING ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/** Refuses a call with an error. */
#define REFUSE(call, error)                                                                                            \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

static bool filter_calls(void) {
  struct sock_filter program[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
#if defined(__x86_64__)
    /* Numbers from here on are those of x32. */
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
#endif
    REFUSE(__NR_execve, EPERM),
    REFUSE(__NR_execveat, EPERM),
    REFUSE(__NR_io_uring_setup, ENOSYS),
    REFUSE(__NR_ptrace, EPERM),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {(unsigned short)(sizeof program / sizeof *program), program};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/** Allows what is beneath a folder; one that does not exist needs no rule. */
static void allow(int rules, const char *path, uint64_t rights) {
  struct landlock_path_beneath_attr beneath = {rights, -1};
  struct stat kind;
  beneath.parent_fd = open(path, O_PATH | O_CLOEXEC);
  if (beneath.parent_fd < 0)
    return;
  if (fstat(beneath.parent_fd, &kind) == 0 && S_ISDIR(kind.st_mode))
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
  close(beneath.parent_fd);
}

/** Allows a folder and its parent, in which it is made again when it is gone. */
static void allow_runtime(int rules, const char *path) {
  char parent[PATH_MAX];
  size_t length = path ? strlen(path) : 0;
  if (length == 0 || path[0] != '/' || length >= sizeof parent)
    return;
  memcpy(parent, path, length + 1);
  while (length > 1 && parent[length - 1] == '/')
    parent[--length] = '\0';
  allow(rules, parent, WRITING);
  char *last = strrchr(parent, '/');
  if (last == parent)
    return;
  *last = '\0';
  allow(rules, parent, WRITING);
}

static bool confine_files(void) {
  struct landlock_ruleset_attr all = {.handled_access_fs = EVERYTHING};
  int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all.handled_access_fs, 0);
  if (rules < 0)
    return errno == ENOSYS || errno == EOPNOTSUPP;
  static const char *const system[] = {"/usr", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys/fs/cgroup"};
  for (size_t index = 0; index < sizeof system / sizeof *system; index++)
    allow(rules, system[index], READING);
  char run[64];
  snprintf(run, sizeof run, "/run/user/%u", (unsigned)getuid());
  const char *named = getenv("SEGUE_RUNTIME_DIR"), *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
  if (named && named[0] != '\0')
    allow_runtime(rules, named);
  else if (runtime && runtime[0] == '/')
    allow(rules, runtime, WRITING);
  else
    allow(rules, run, WRITING);
  allow(rules, temporary && temporary[0] == '/' ? temporary : "/tmp", WRITING);
  bool is_confined = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  close(rules);
  return is_confined;
}

const char *confine(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return "prctl(PR_SET_NO_NEW_PRIVS)";
  if (!confine_files())
    return "landlock_restrict_self";
  if (!filter_calls())
    return "prctl(PR_SET_SECCOMP)";
  return NULL;
}
