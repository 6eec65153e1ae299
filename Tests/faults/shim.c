/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A preloaded library between the library under test (and libuv) and the system. The n-th system call of either one is
 * cut short, fails, or kills or stops the process. Calls of the program itself are not affected.
 *
 * A program arms it with fault_arm, or SEGUE_FAULT does for the whole process:
 *     kill:KIND:N  stop:KIND:N  at the N-th call after the first message of this kind (docs/protocol.md; 0: at once)
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

/* The addresses of the code of libsegue and libuv. Calls of both fail: the first is under test, the second must be able
 * to take it. */
static struct range { uintptr_t start, end; } library, loop;

static int find(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  struct range *range = strstr(info->dlpi_name, "libsegue.so") ? &library
                        : strstr(info->dlpi_name, "libuv.so")  ? &loop
                                                               : NULL;
  if (!range)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
      range->start = info->dlpi_addr + part->p_vaddr;
      range->end = range->start + part->p_memsz;
    }
  }
  return 0;
}

static bool within(const struct range *range, const void *caller) {
  return (uintptr_t)caller >= range->start && (uintptr_t)caller < range->end;
}

/* The armed fault. A count of zero means none. */
static atomic_long left, made;
static atomic_int variant;
static atomic_bool has_fired;
static _Atomic(const char *) fired_in;

/* The end of the process instead, and the message that it counts from. */
static int deadly_signal;
static atomic_int awaited_kind;
static atomic_int last_kind;

void fault_arm(long n, int with) {
  made = 0;
  has_fired = false;
  fired_in = NULL;
  variant = with;
  left = n;
}

long fault_calls(void) { return made; }
bool fault_fired(void) { return has_fired; }
const char *fault_where(void) { return fired_in ? fired_in : "nothing"; }

static void die(const char *name, long n) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  char line[128];
  int length = snprintf(line, sizeof line, "%.3f fault %s in %s, call %ld, after message %d\n",
                        (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6,
                        deadly_signal == SIGKILL ? "killed" : "stopped", name, n, last_kind);
  static ssize_t (*real)(int, const void *, size_t);
  real = dlsym(RTLD_NEXT, "write");
  real(1, line, (size_t)length);
  raise(deadly_signal);
}

/** Whether it is this call's turn. */
static bool is_due(const char *name, const void *caller) {
  if (!within(&library, caller) && !within(&loop, caller))
    return false;
  made++;
  if (awaited_kind > 0 || left <= 0 || --left != 0)
    return false;
  if (deadly_signal) {
    die(name, made);
    return false;
  }
  has_fired = true;
  fired_in = name;
  return true;
}

/** Looks at passing messages: a frame is kind, length (3), channel (4), body; a message is an array, number first. */
static void see(const unsigned char *bytes, ssize_t count) {
  if (!deadly_signal)
    return;
  for (ssize_t at = 0; at + 10 <= count;) {
    ssize_t length = bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    if (bytes[at] == 0 && bytes[at + 8] >> 5 == 4 && bytes[at + 9] < 24) {
      int kind = bytes[at + 9], awaited = awaited_kind;
      if (kind != 4 && kind != 5) /* ping and pong say nothing of what it is about */
        last_kind = kind;
      if (kind == awaited)
        awaited_kind = 0;
    }
    at += 8 + length;
  }
}

/** The failure of a call: one of a list that ends with 0, in turn with each variant. */
static int failure(const int *errors) {
  int count = 0;
  while (errors[count])
    count++;
  errno = errors[variant % count];
  return -1;
}
#define FAIL(...) failure((const int[]){__VA_ARGS__, 0})

#define REAL(result, name, ...)                                                                                        \
  static result (*real)(__VA_ARGS__);                                                                                  \
  if (!real)                                                                                                           \
  real = dlsym(RTLD_NEXT, #name)
#define DUE(name) is_due(#name, __builtin_return_address(0))

__attribute__((constructor)) static void begin(void) {
  dl_iterate_phdr(find, NULL);
  const char *order = getenv("SEGUE_FAULT");
  int kind = 0;
  long n = 0;
  char word[8];
  if (!order || sscanf(order, "%7[a-z]:%d:%ld", word, &kind, &n) != 3)
    return;
  deadly_signal = strcmp(word, "stop") == 0 ? SIGSTOP : SIGKILL;
  awaited_kind = kind;
  left = n;
}

static bool is_socket(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

/* Reading and writing. Counters, timers and watches give 8 bytes or nothing. An event counter says EAGAIN to a
 * writer only if it is full, and readable then, so that is no failure to simulate. */

ssize_t read(int fd, void *buffer, size_t size) {
  REAL(ssize_t, read, int, void *, size_t);
  if (DUE(read))
    return is_socket(fd) ? FAIL(EINTR, EAGAIN, ECONNRESET) : FAIL(EINTR, EAGAIN);
  return real(fd, buffer, size);
}

ssize_t write(int fd, const void *buffer, size_t size) {
  REAL(ssize_t, write, int, const void *, size_t);
  if (DUE(write))
    return FAIL(EINTR);
  return real(fd, buffer, size);
}

ssize_t recv(int fd, void *buffer, size_t size, int flags) {
  REAL(ssize_t, recv, int, void *, size_t, int);
  bool is_short = false;
  if (DUE(recv)) {
    is_short = variant % 4 == 3;
    if (!is_short)
      return FAIL(EINTR, EAGAIN, ECONNRESET);
  }
  ssize_t count = real(fd, buffer, is_short ? 1 : size, flags);
  see(buffer, count);
  return count;
}

ssize_t send(int fd, const void *buffer, size_t size, int flags) {
  REAL(ssize_t, send, int, const void *, size_t, int);
  if (DUE(send)) {
    if (variant % 6 < 4)
      return FAIL(EINTR, EAGAIN, ECONNRESET, ENOBUFS);
    size = variant % 6 == 4 ? 1 : (size + 1) / 2;
  }
  ssize_t count = real(fd, buffer, size, flags);
  see(buffer, count);
  return count;
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  REAL(ssize_t, recvmsg, int, struct msghdr *, int);
  size_t whole = message->msg_iovlen ? message->msg_iov->iov_len : 0;
  bool is_short = false;
  if (DUE(recvmsg)) {
    is_short = variant % 4 == 3 && whole > 0;
    if (!is_short)
      return FAIL(EINTR, EAGAIN, ECONNRESET);
    message->msg_iov->iov_len = 1;
  }
  ssize_t count = real(fd, message, flags);
  if (is_short)
    message->msg_iov->iov_len = whole;
  if (whole > 0)
    see(message->msg_iov->iov_base, count);
  return count;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  REAL(ssize_t, sendmsg, int, const struct msghdr *, int);
  struct msghdr some = *message;
  struct iovec part = some.msg_iovlen ? *some.msg_iov : (struct iovec){0};
  if (DUE(sendmsg)) {
    if (variant % 6 < 4)
      return FAIL(EINTR, EAGAIN, ECONNRESET, ENOBUFS);
    part.iov_len = variant % 6 == 4 ? 1 : (part.iov_len + 1) / 2;
    some.msg_iov = &part;
    some.msg_iovlen = 1;
  }
  ssize_t count = real(fd, &some, flags);
  see(part.iov_base, count);
  return count;
}

/* Sockets. */

int socket(int domain, int type, int protocol) {
  REAL(int, socket, int, int, int);
  return DUE(socket) ? FAIL(EMFILE, ENFILE, ENOBUFS) : real(domain, type, protocol);
}

int connect(int fd, const struct sockaddr *address, socklen_t size) {
  REAL(int, connect, int, const struct sockaddr *, socklen_t);
  return DUE(connect) ? FAIL(ECONNREFUSED, EAGAIN, EINTR) : real(fd, address, size);
}

int bind(int fd, const struct sockaddr *address, socklen_t size) {
  REAL(int, bind, int, const struct sockaddr *, socklen_t);
  return DUE(bind) ? FAIL(ENOSPC, EROFS) : real(fd, address, size);
}

int listen(int fd, int backlog) {
  REAL(int, listen, int, int);
  return DUE(listen) ? FAIL(EADDRINUSE) : real(fd, backlog);
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags) {
  REAL(int, accept4, int, struct sockaddr *, socklen_t *, int);
  return DUE(accept4) ? FAIL(EMFILE, EINTR, ECONNABORTED, EAGAIN, ENOMEM) : real(fd, address, size, flags);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *size) {
  REAL(int, getsockopt, int, int, int, void *, socklen_t *);
  return DUE(getsockopt) ? FAIL(ENOBUFS) : real(fd, level, name, value, size);
}

/* Descriptors. */

/* Not libuv's: it loses its epoll then (1.44), so the library asks beforehand whether there are descriptors left. */
int eventfd(unsigned count, int flags) {
  REAL(int, eventfd, unsigned, int);
  return within(&library, __builtin_return_address(0)) && DUE(eventfd) ? FAIL(EMFILE, ENFILE, ENOMEM)
                                                                       : real(count, flags);
}

int timerfd_create(int clock, int flags) {
  REAL(int, timerfd_create, int, int);
  return DUE(timerfd_create) ? FAIL(EMFILE, ENFILE, ENOMEM) : real(clock, flags);
}

int epoll_create1(int flags) {
  REAL(int, epoll_create1, int);
  return DUE(epoll_create1) ? FAIL(EMFILE, ENFILE, ENOMEM) : real(flags);
}

/* libuv asks first whether the system takes a descriptor, with no number of its own, and reports that; once it has been
 * told yes, a no would end the process. Changing and removing need no memory. */
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
  REAL(int, epoll_ctl, int, int, int, struct epoll_event *);
  const void *caller = __builtin_return_address(0);
  bool may_fail = operation == EPOLL_CTL_ADD && (within(&library, caller) || (event && event->data.fd == -1));
  return may_fail && is_due("epoll_ctl", caller) ? FAIL(ENOSPC, ENOMEM) : real(epoll, operation, fd, event);
}

int epoll_pwait(int epoll, struct epoll_event *events, int count, int timeout, const sigset_t *mask) {
  REAL(int, epoll_pwait, int, struct epoll_event *, int, int, const sigset_t *);
  return DUE(epoll_pwait) ? FAIL(EINTR) : real(epoll, events, count, timeout, mask);
}

int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout) {
  REAL(int, epoll_wait, int, struct epoll_event *, int, int);
  return DUE(epoll_wait) ? FAIL(EINTR) : real(epoll, events, count, timeout);
}

int poll(struct pollfd *descriptors, nfds_t count, int timeout) {
  REAL(int, poll, struct pollfd *, nfds_t, int);
  return DUE(poll) ? FAIL(EINTR) : real(descriptors, count, timeout);
}

int inotify_init1(int flags) {
  REAL(int, inotify_init1, int);
  return DUE(inotify_init1) ? FAIL(EMFILE, ENFILE, ENOMEM) : real(flags);
}

int inotify_add_watch(int fd, const char *path, uint32_t mask) {
  REAL(int, inotify_add_watch, int, const char *, uint32_t);
  return DUE(inotify_add_watch) ? FAIL(ENOSPC, ENOMEM) : real(fd, path, mask);
}

/* The folder. */

int openat(int folder, const char *path, int flags, ...) {
  REAL(int, openat, int, const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return DUE(openat) ? (flags & O_CREAT ? FAIL(ENOSPC, EMFILE, EINTR) : FAIL(EMFILE, EINTR))
                     : real(folder, path, flags, mode);
}

DIR *fdopendir(int fd) {
  REAL(DIR *, fdopendir, int);
  return DUE(fdopendir) ? (FAIL(ENOMEM), NULL) : real(fd);
}

int flock(int fd, int operation) {
  REAL(int, flock, int, int);
  return DUE(flock) ? FAIL(ENOLCK, EINTR) : real(fd, operation);
}

int mkdirat(int folder, const char *path, mode_t mode) {
  REAL(int, mkdirat, int, const char *, mode_t);
  return DUE(mkdirat) ? FAIL(ENOSPC, EROFS) : real(folder, path, mode);
}

int renameat(int from, const char *old, int to, const char *new) {
  REAL(int, renameat, int, const char *, int, const char *);
  return DUE(renameat) ? FAIL(ENOSPC, EIO) : real(from, old, to, new);
}

int unlinkat(int folder, const char *path, int flags) {
  REAL(int, unlinkat, int, const char *, int);
  return DUE(unlinkat) ? FAIL(EIO) : real(folder, path, flags);
}

int futimens(int fd, const struct timespec times[2]) {
  REAL(int, futimens, int, const struct timespec[2]);
  return DUE(futimens) ? FAIL(EPERM) : real(fd, times);
}

/* Threads. */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  return DUE(pthread_create) ? EAGAIN : real(thread, attributes, run, argument);
}
