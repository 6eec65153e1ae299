/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A preloaded library between a process and the files below one folder. It records each change, so that a test can
 * build the disk as a loss of power at any moment would leave it; or lets calls fail, or kills the process at one.
 *
 *     DISK_ROOT=FOLDER   the files that are meant
 *     DISK_LOG=FILE      the record, in the order of the calls; lines of standard output are in it, too
 *     DISK_FAIL=N:ERRNO:COUNT  COUNT calls that change something fail, from the N-th on
 *     DISK_KILL=N        the process is killed (SIGKILL) at the N-th such call, before it
 *     DISK_TYPE=NUMBER   fstatfs says that the file system is of this type
 *     DISK_FULL=FILE     while this file exists, what makes files larger fails with ENOSPC
 *     DISK_HANG=FILE     while this file exists, fsync and fdatasync do not return
 *
 * A record is a letter, three numbers (file, offset, size) of eight bytes, and as many bytes as the last one says.
 * Files below the root are used by one thread at a time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char *root;
static int log_fd = -1;
static long calls, fail_at, fail_count, kill_at;
static int fail_errno;
static int is_ready;

static void get_ready(void) {
  if (is_ready)
    return;
  is_ready = 1;
  root = getenv("DISK_ROOT");
  if (getenv("DISK_LOG"))
    log_fd = NEXT(open)(getenv("DISK_LOG"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0600);
  if (getenv("DISK_FAIL"))
    sscanf(getenv("DISK_FAIL"), "%ld:%d:%ld", &fail_at, &fail_errno, &fail_count);
  if (getenv("DISK_KILL"))
    kill_at = atol(getenv("DISK_KILL"));
}

/** Writes the absolute path of a name to `path`; 1 if it is below the root. */
static int locate(int folder, const char *name, char path[PATH_MAX]) {
  get_ready();
  char link[PATH_MAX / 2], place[64];
  int fd = -1, used = 0;
  if (!root)
    return 0;
  if (sscanf(name, "/proc/self/fd/%d%n", &fd, &used) == 1)
    name += used;
  else if (name[0] != '/')
    fd = folder;
  if (fd >= 0) {
    snprintf(place, sizeof place, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(place, link, sizeof link - 1);
    if (size < 0)
      return 0;
    link[size] = 0;
    snprintf(path, PATH_MAX, "%s%s%s", link, *name && *name != '/' ? "/" : "", name);
  } else {
    snprintf(path, PATH_MAX, "%s", name);
  }
  size_t size = strlen(root);
  return strncmp(path, root, size) == 0 && (path[size] == '/' || path[size] == 0);
}

static int is_meant(int fd, struct stat *status) {
  char path[PATH_MAX];
  return fstat(fd, status) == 0 && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode)) && locate(fd, "", path);
}

static void record(char kind, uint64_t file, uint64_t offset, const void *bytes, uint64_t size) {
  if (log_fd < 0)
    return;
  struct __attribute__((packed)) {
    char kind;
    uint64_t file, offset, size;
  } head = {kind, file, offset, size};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)bytes, size}};
  if (writev(log_fd, parts, 2) != (ssize_t)(sizeof head + size))
    abort();
}

static int exists(const char *variable) {
  const char *path = getenv(variable);
  return path && access(path, F_OK) == 0;
}

/** Whether a write has to fail because the disk is full. */
static int is_full(void) {
  if (!exists("DISK_FULL"))
    return 0;
  errno = ENOSPC;
  return 1;
}

/** Counts a call that changes something. Returns 1 if it has to fail. */
static int fails(void) {
  calls++;
  if (kill_at && calls == kill_at)
    kill(getpid(), SIGKILL);
  if (!fail_at || calls < fail_at || calls >= fail_at + fail_count)
    return 0;
  errno = fail_errno;
  return 1;
}

static int open_at(int folder, const char *name, int flags, mode_t mode) {
  char path[PATH_MAX];
  int (*next)(int, const char *, int, ...) = NEXT(openat);
  if (!locate(folder, name, path))
    return next(folder, name, flags, mode);
  struct stat status;
  int is_new = (flags & O_CREAT) && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0;
  if ((is_new || (flags & O_TRUNC)) && fails())
    return -1;
  int fd = next(folder, name, flags, mode);
  if (fd >= 0 && fstat(fd, &status) == 0) {
    if (is_new)
      record('C', status.st_ino, 0, path, strlen(path));
    else if (flags & O_TRUNC)
      record('T', status.st_ino, 0, "", 0);
  }
  return fd;
}

#define OPEN(NAME)                                                                                                     \
  int NAME(const char *name, int flags, ...) {                                                                         \
    va_list more;                                                                                                      \
    va_start(more, flags);                                                                                             \
    mode_t mode = va_arg(more, mode_t);                                                                                \
    va_end(more);                                                                                                      \
    return open_at(AT_FDCWD, name, flags, mode);                                                                       \
  }
#define OPENAT(NAME)                                                                                                   \
  int NAME(int folder, const char *name, int flags, ...) {                                                             \
    va_list more;                                                                                                      \
    va_start(more, flags);                                                                                             \
    mode_t mode = va_arg(more, mode_t);                                                                                \
    va_end(more);                                                                                                      \
    return open_at(folder, name, flags, mode);                                                                         \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *bytes, size_t size) {
  struct stat status;
  get_ready();
  if (fd == 1)
    record('M', 0, 0, bytes, size);
  if (fd == 1 || !is_meant(fd, &status))
    return NEXT(write)(fd, bytes, size);
  if (fails() || is_full())
    return -1;
  off_t offset = lseek(fd, 0, SEEK_CUR);
  ssize_t result = NEXT(write)(fd, bytes, size);
  if (result > 0)
    record('W', status.st_ino, offset, bytes, result);
  return result;
}

static ssize_t write_at(int fd, const void *bytes, size_t size, off_t offset) {
  struct stat status;
  if (!is_meant(fd, &status))
    return NEXT(pwrite)(fd, bytes, size, offset);
  if (fails() || is_full())
    return -1;
  ssize_t result = NEXT(pwrite)(fd, bytes, size, offset);
  if (result > 0)
    record('W', status.st_ino, offset, bytes, result);
  return result;
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) { return write_at(fd, bytes, size, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset) { return write_at(fd, bytes, size, offset); }

static int truncate_to(int fd, off_t size) {
  struct stat status;
  int is_ours = is_meant(fd, &status);
  if (is_ours && fails())
    return -1;
  int result = NEXT(ftruncate)(fd, size);
  if (is_ours && result == 0)
    record('T', status.st_ino, size, "", 0);
  return result;
}
int ftruncate(int fd, off_t size) { return truncate_to(fd, size); }
int ftruncate64(int fd, off_t size) { return truncate_to(fd, size); }

/* The record alone decides which bytes are durable; the real disk need not be waited for. */
static int synchronise(int fd, int (*next)(int)) {
  struct stat status;
  if (!is_meant(fd, &status))
    return next(fd);
  if (fails())
    return -1;
  while (exists("DISK_HANG"))
    usleep(10000);
  record(S_ISDIR(status.st_mode) ? 'F' : 'S', status.st_ino, 0, "", 0);
  return 0;
}
int fsync(int fd) { return synchronise(fd, NEXT(fsync)); }
int fdatasync(int fd) { return synchronise(fd, NEXT(fdatasync)); }

static int make_folder(int folder, const char *name, mode_t mode) {
  char path[PATH_MAX];
  int is_ours = locate(folder, name, path);
  struct stat status;
  if (is_ours && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 && fails())
    return -1;
  int result = NEXT(mkdirat)(folder, name, mode);
  if (is_ours && result == 0 && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
    record('D', status.st_ino, 0, path, strlen(path));
  return result;
}
int mkdir(const char *name, mode_t mode) { return make_folder(AT_FDCWD, name, mode); }
int mkdirat(int folder, const char *name, mode_t mode) { return make_folder(folder, name, mode); }

static int rename_at(int from, const char *old, int to, const char *name) {
  char path[PATH_MAX], goal[2 * PATH_MAX];
  int is_ours = locate(from, old, path);
  if (is_ours && fails())
    return -1;
  int result = NEXT(renameat)(from, old, to, name);
  if (is_ours && result == 0) {
    size_t size = strlen(path) + 1;
    memcpy(goal, path, size);
    if (locate(to, name, path)) {
      memcpy(goal + size, path, strlen(path));
      record('R', 0, 0, goal, size + strlen(path));
    }
  }
  return result;
}
int renameat(int from, const char *old, int to, const char *name) { return rename_at(from, old, to, name); }
int rename(const char *old, const char *name) { return rename_at(AT_FDCWD, old, AT_FDCWD, name); }

static int unlink_at(int folder, const char *name, int flags) {
  char path[PATH_MAX];
  int is_ours = locate(folder, name, path);
  struct stat status;
  if (is_ours && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && fails())
    return -1;
  int result = NEXT(unlinkat)(folder, name, flags);
  if (is_ours && result == 0)
    record('U', 0, 0, path, strlen(path));
  return result;
}
int unlinkat(int folder, const char *name, int flags) { return unlink_at(folder, name, flags); }
int unlink(const char *name) { return unlink_at(AT_FDCWD, name, 0); }

int fstatfs(int fd, struct statfs *status) {
  int result = NEXT(fstatfs)(fd, status);
  if (result == 0 && getenv("DISK_TYPE"))
    status->f_type = strtoul(getenv("DISK_TYPE"), NULL, 0);
  return result;
}
