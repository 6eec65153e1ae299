/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// The system's interfaces for the agent: processes, confinement, and what systemd passes. No logic, as in shim.h.
#include <malloc.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

extern char **environ;
extern int execvpe(const char *file, char *const arguments[], char *const environment[]);

/** Swift does not show fork: only a process with one thread may call this. */
static inline pid_t linux_fork(void) { return fork(); }
static inline char **linux_environment(void) { return environ; }
/** Closes all descriptors from this one on when a program is executed; 0 or -1. */
static inline int linux_close_on_exec_from(unsigned int first) {
  return (int)syscall(436 /* close_range */, first, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
}
/** Creates a pipe, close-on-exec; 0 or -1. */
static inline int linux_pipe(int *ends) { return pipe2(ends, O_CLOEXEC); }
/** Creates two connected sockets that keep messages apart, close-on-exec; 0 or -1. */
static inline int linux_message_pair(int *ends) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends); }
static inline ssize_t linux_receive_message(int socket, void *bytes, size_t size, int waits) {
  return recv(socket, bytes, size, MSG_TRUNC | (waits ? 0 : MSG_DONTWAIT));
}
/** The same, waiting; the first descriptor that comes with the message is in `passed`, close-on-exec, otherwise -1. */
static inline ssize_t linux_receive_passed(int socket, void *bytes, size_t size, int *passed) {
  int descriptors[linux_most_descriptors], count, are_lost;
  ssize_t result = linux_receive(socket, bytes, size, MSG_TRUNC, descriptors, &count, &are_lost);
  *passed = count > 0 ? descriptors[0] : -1;
  for (int index = 1; index < count; index++)
    close(descriptors[index]);
  return result;
}
/** The same without waiting. */
static inline ssize_t linux_receive_report(int socket, void *bytes, size_t size, int *passed) {
  int descriptors[linux_most_descriptors], count, are_lost;
  ssize_t result = linux_receive(socket, bytes, size, MSG_TRUNC | MSG_DONTWAIT, descriptors, &count, &are_lost);
  *passed = count > 0 ? descriptors[0] : -1;
  for (int index = 1; index < count; index++)
    close(descriptors[index]);
  return result;
}
/** Has blocks of `bytes` bytes and more given back to the system as soon as they are freed. */
static inline void linux_give_back_blocks(int size) { mallopt(M_MMAP_THRESHOLD, size); }
/** Keeps up to `bytes` freed bytes at the end of each of malloc's heaps; by default 128 KiB. */
static inline void linux_keep_blocks(int bytes) { mallopt(M_TRIM_THRESHOLD, bytes); }
/** Gives all memory that was freed back to the system. */
static inline void linux_trim_memory(void) { malloc_trim(0); }
/** Sets the default action of all signals, and blocks none. */
static inline void linux_reset_signals(void) {
  sigset_t none;
  for (int number = 1; number < NSIG; number++)
    signal(number, SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}
/** Has the system forget children that end. */
static inline void linux_ignore_children(void) { signal(SIGCHLD, SIG_IGN); }
/** Points the standard descriptors to /dev/null: a program gets no files or terminals through them; 0 or -1. */
static inline int linux_redirect_to_null(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
    return -1;
  /* dup2 keeps the flags of two equal numbers: one of the three was closed, and is to stay open now. */
  return null > 2 ? 0 : fcntl(null, F_SETFD, 0);
}
/** Makes a descriptor standard output, and /dev/null the other two; 0 or -1. */
static inline int linux_redirect_output(int output) {
  int copy = fcntl(output, F_DUPFD_CLOEXEC, 3);
  return copy < 0 || linux_redirect_to_null() != 0 || dup2(copy, 1) < 0 ? -1 : 0;
}
/** Neither this process nor its children get more rights by executing a program; 0 or -1. */
static inline int linux_refuse_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

/** Makes a call by its number, without arguments: for tests of what is refused. */
static inline long linux_call(long number) { return syscall(number, 0, 0, 0, 0, 0, 0); }

/** <linux/landlock.h>, of the newest kernel that has rights which the agent gives up. */
enum {
  linux_landlock_execute = 1 << 0,
  linux_landlock_write_file = 1 << 1,
  linux_landlock_read_file = 1 << 2,
  linux_landlock_read_all = 3 << 2, /* file, folder */
  linux_landlock_remove_folder = 1 << 4,
  linux_landlock_remove_file = 1 << 5,
  linux_landlock_make_all = 127 << 6, /* character device, folder, file, socket, FIFO, block device, symbolic link */
  linux_landlock_refer = 1 << 13,     /* from version 2 on */
  linux_landlock_truncate = 1 << 14   /* from version 3 on */
};
/** Returns the kernel's version of Landlock, or -1. */
static inline int linux_landlock_version(void) { return (int)syscall(444, NULL, 0, 1); }
/** Out of reach of the confined process, from version 6 on: abstract sockets, and processes for its signals. */
enum { linux_landlock_scopes = 1 << 0 | 1 << 1 };
/** Returns a descriptor of a set of rules that handles these rights and scopes, close-on-exec, or -1. */
static inline int linux_landlock_rules(uint64_t rights, uint64_t scopes) {
  struct {
    uint64_t rights;
    uint64_t network;
    uint64_t scopes;
  } attributes = {rights, 0, scopes};
  // Kernels without scopes know a shorter structure.
  return (int)syscall(444, &attributes, scopes ? sizeof attributes : sizeof rights, 0);
}
/** Allows rights beneath a folder, or for a file; 0 or -1. */
static inline int linux_landlock_allow(int rules, uint64_t rights, int beneath) {
  struct {
    uint64_t rights;
    int32_t beneath;
  } __attribute__((packed)) rule = {rights, beneath};
  return (int)syscall(445, rules, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0);
}
/** Confines this thread, and those that it starts; 0 or -1. */
static inline int linux_landlock_confine(int rules) { return (int)syscall(446, rules, 0); }

/** Returns 1 for a stream socket of this machine that listens. */
static inline int linux_is_listening(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  return linux_is_local_socket(fd) && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value == 1;
}
/** Returns a datagram socket connected to that name, a path, or abstract if it begins with @; close-on-exec, or -1. */
static inline int linux_notify_socket(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(name);
  if (length == 0 || length >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(address.sun_path, name, length);
  if (name[0] == '@')
    address.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -1;
  size_t size = offsetof(struct sockaddr_un, sun_path) + length + (name[0] == '@' ? 0 : 1);
  if (connect(fd, (struct sockaddr *)&address, (socklen_t)size) == 0)
    return fd;
  int number = errno;
  close(fd);
  errno = number;
  return -1;
}
/** Sends a message of a socket that keeps them apart, without SIGPIPE. */
static inline ssize_t linux_send_message(int socket, const void *bytes, size_t size, int waits) {
  return send(socket, bytes, size, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
}
/** Keeps this process's memory out of core dumps, and from being traced by processes without rights; 0 or -1. Programs
 * that it executes are as before. */
static inline int linux_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
/** Returns pages of zeros for these bytes, apart from all others and left out of core dumps; NULL without memory. */
static inline void *linux_map_secret(size_t size) {
  void *start = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return NULL;
  madvise(start, size ? size : 1, MADV_DONTDUMP);
  return start;
}
/** Keeps these pages from being swapped out, until they are unmapped; 0 or -1. */
static inline int linux_lock_secret(const void *start, size_t size) { return mlock(start, size ? size : 1); }
static inline void linux_unmap_secret(void *start, size_t size) { munmap(start, size ? size : 1); }
/** The name that process lists show, at most 15 bytes. */
static inline int linux_name_process(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }
/** Moves a descriptor to 3, and closes all others above standard error; returns the new one. */
static inline int linux_keep_only(int fd) {
  if (fd != 3)
    dup2(fd, 3);
  syscall(436 /* close_range */, 4, ~0u, 0);
  return 3;
}
