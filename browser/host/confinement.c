/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#define _GNU_SOURCE 1 /* O_PATH */
#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "refused_calls.h"

#ifndef LINUX_ARCHITECTURE
#error "refused_calls.h: name the architecture of this processor (linux/audit.h)"
#endif

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/** The runtime folder: sockets, locks, and the folders that hold them. */
#define WRITING                                                                                                        \
  (READING | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |          \
   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK)
/** All rights of the first version of Landlock. */
#define EVERYTHING ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
/** Rights of later versions, which the headers of Debian 12 lack. */
#define REFER (1ull << 13)
#define TRUNCATE (1ull << 14)
/** Abstract sockets, and processes for signals. */
#define SCOPES (1ull << 0 | 1ull << 1)

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/** Refuses a call with an error. */
#define REFUSE(call, error)                                                                                            \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))

/** Adds to linux_refuse_calls what the host alone has no use for: other programs, and sockets of other machines. */
static bool filter_calls(void) {
  struct sock_filter program[] = {
      LOAD(arch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LINUX_ARCHITECTURE, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      LOAD(nr),
      REFUSE(__NR_execve, EPERM),
      REFUSE(__NR_execveat, EPERM),
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

/** The runtime folder that is allowed, or -1. */
static int runtime_folder = -1;

/** Allows what is beneath a folder, and returns it open; one that does not exist needs no rule, and is -1. */
static int allow(int rules, const char *path, uint64_t rights) {
  struct landlock_path_beneath_attr beneath = {rights, open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (beneath.parent_fd >= 0)
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
  return beneath.parent_fd;
}

/**
 * Makes a folder if it is not there: the library cannot, once the folder that it is in is closed. As the library, it
 * makes none in a folder of another user, unless that is for all, as /tmp is.
 */
static void make_folder(const char *path) {
  char parent[PATH_MAX];
  struct stat status;
  if (path[0] != '/' || snprintf(parent, sizeof parent, "%s", path) >= (int)sizeof parent)
    return;
  if (stat(dirname(parent), &status) == 0 && (status.st_uid == geteuid() || (status.st_mode & 01002) == 01002))
    mkdir(path, 0700);
}

/** Tells whether a folder is one that this user alone may enter. */
static bool is_private(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 0777) == 0700;
}

/** Writes the path of the folder that the library takes (segue.h, "SEGUE_RUNTIME_DIR"). */
static void name_runtime_folder(char *path, size_t size) {
  const char *named = getenv("SEGUE_RUNTIME_DIR"), *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
  unsigned user = (unsigned)geteuid();
  if (named && named[0] != '\0') {
    snprintf(path, size, "%s", named);
    return;
  }
  if (runtime && runtime[0] != '\0') {
    snprintf(path, size, "%s/segue", runtime);
    return;
  }
  snprintf(path, size, "/run/user/%u", user);
  if (is_private(path))
    snprintf(path, size, "/run/user/%u/segue", user);
  else
    snprintf(path, size, "%s/segue-%u", temporary && temporary[0] != '\0' ? temporary : "/tmp", user);
}

static bool confine_files(void) {
  int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 0)
    return errno == ENOSYS || errno == EOPNOTSUPP;
  /* The structure of <linux/landlock.h>, whose later members Debian 12 lacks. */
  struct {
    uint64_t rights, network, scopes;
  } handled = {EVERYTHING | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0), 0, version >= 6 ? SCOPES : 0};
  size_t size = version >= 6 ? sizeof handled : sizeof handled.rights;
  int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0);
  if (rules < 0)
    return false;
  static const char *const system[] = {"/usr", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys/fs/cgroup"};
  for (size_t index = 0; index < sizeof system / sizeof *system; index++)
    close(allow(rules, system[index], READING));
  char path[PATH_MAX];
  name_runtime_folder(path, sizeof path);
  make_folder(path);
  runtime_folder = allow(rules, path, WRITING | (version >= 3 ? TRUNCATE : 0));
  bool is_confined = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  close(rules);
  return is_confined;
}

const char *confine(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return "prctl(PR_SET_NO_NEW_PRIVS)";
  if (!confine_files())
    return "landlock_restrict_self";
  if (linux_refuse_calls() != 0 || !filter_calls())
    return "prctl(PR_SET_SECCOMP)";
  return NULL;
}

bool confine_is_over(void) {
  struct stat status;
  return runtime_folder >= 0 && fstat(runtime_folder, &status) == 0 && status.st_nlink == 0;
}
