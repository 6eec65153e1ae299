/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// The declarations of the system's C headers. Those that Swift cannot see (variadic functions, macros) have a name here
// that it can see. No logic.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/** Declared here because glibc's header shows it to GNU sources only. */
extern char *secure_getenv(const char *name);
extern long syscall(long number, ...);

static inline int linux_cancel_disable(void) { return PTHREAD_CANCEL_DISABLE; }
/** Returns the number of a file system's type (statfs(2)); 0 if the system does not tell. */
static inline uint32_t linux_file_system(int fd) {
  struct statfs status;
  return fstatfs(fd, &status) == 0 ? (uint32_t)status.f_type : 0;
}
/** Opens a file beneath a folder (openat2); a descriptor, or -1. RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH */
static inline int linux_open_beneath(int folder, const char *path, int flags) {
  struct {
    uint64_t flags, mode, resolve;
  } how = {(uint64_t)flags, 0, 0x02 | 0x08};
  return (int)syscall(437 /* openat2 */, folder, path, &how, sizeof how);
}
static inline int linux_errno(void) { return errno; }
static inline void linux_set_errno(int number) { errno = number; }
/** Like write. A sandbox that refuses that call, as one that is set up after the library has opened its descriptors
 * may, may allow the other one that writes. */
static inline ssize_t linux_write(int fd, const void *bytes, size_t size) {
  ssize_t written = write(fd, bytes, size);
  if (written >= 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS))
    return written;
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
  return writev(fd, &part, 1);
}
/** Like read, in the same way. */
static inline ssize_t linux_read(int fd, void *bytes, size_t size) {
  ssize_t count = read(fd, bytes, size);
  if (count >= 0 || (errno != EPERM && errno != EACCES && errno != ENOSYS))
    return count;
  struct iovec part = {.iov_base = bytes, .iov_len = size};
  return readv(fd, &part, 1);
}
static inline int linux_openat(int folder, const char *path, int flags, mode_t mode) {
  return openat(folder, path, flags, mode);
}
static inline int linux_epoll_ctl(int epoll, int operation, int fd, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  return epoll_ctl(epoll, operation, fd, &event);
}
// These two are declared for _GNU_SOURCE only, which a module must not define: others read the same headers without it.
extern int accept4(int socket, struct sockaddr *address, socklen_t *size, int flags);
struct linux_credentials {
  pid_t process;
  uid_t user;
  gid_t group;
};
/** Gets the peer's user; 0 or -1. */
static inline int linux_peer_user(int socket, uid_t *user) {
  struct linux_credentials peer;
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return -1;
  *user = peer.user;
  return 0;
}
/** Returns the number of descriptors that this process may open. */
static inline int linux_descriptors(struct rlimit *limit) { return getrlimit(RLIMIT_NOFILE, limit); }
static inline int linux_set_descriptors(const struct rlimit *limit) { return setrlimit(RLIMIT_NOFILE, limit); }
/** Locks a record, which is the whole file, for this process (fcntl(2)); 0 or -1. */
static inline int linux_lock_record(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_SETLK, &lock);
}
/** Returns the other process that has locked the record; 0 if none has, or it is not visible here. */
static inline pid_t linux_record_holder(int fd) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0 ? lock.l_pid : 0;
}
/** Returns the two numbers of a device, as /proc/locks has them. */
static inline unsigned linux_major(dev_t device) { return gnu_dev_major(device); }
static inline unsigned linux_minor(dev_t device) { return gnu_dev_minor(device); }
/** Returns a descriptor of a process, close-on-exec, or -1. */
static inline int linux_pidfd_open(pid_t process) { return (int)syscall(434 /* pidfd_open */, process, 0); }
/** Sends a signal to the process of a descriptor; 0 or -1. */
static inline int linux_pidfd_signal(int process, int signal) {
  return (int)syscall(424 /* pidfd_send_signal */, process, signal, NULL, 0);
}
static inline void linux_ignore_pipe_signal(void) { signal(SIGPIPE, SIG_IGN); }
/** Returns the peer's process; 0 if it is not visible here. */
static inline pid_t linux_peer_process(int socket) {
  struct linux_credentials peer;
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.process : 0;
}
/** Opens a folder, or a name that may be a link (isName), only as a path: no file system is asked; or -1. */
static inline int linux_open_path(int folder, const char *path, int isName) {
  return openat(folder, path, 010000000 /* O_PATH */ | O_CLOEXEC | (isName ? O_NOFOLLOW : O_DIRECTORY));
}
/** Returns a descriptor of the peer's process, close-on-exec, also if its number is another's by now; or -1. */
static inline int linux_peer_pidfd(int socket) {
  int process = -1;
  socklen_t size = sizeof process;
  return getsockopt(socket, SOL_SOCKET, 77 /* SO_PEERPIDFD */, &process, &size) == 0 ? process : -1;
}
/** The most descriptors that come with one read: SCM_MAX_FD, and a descriptor of the sender's process (SCM_PIDFD). */
enum { linux_most_descriptors = 253 + 1 };
/**
 * Like recv; also takes all descriptors that come with the bytes, close-on-exec: there is room for
 * linux_most_descriptors. What has no room the system closes in the calling thread, which can take for ever. Tells
 * whether it had to, because the process cannot open more.
 */
static inline ssize_t linux_receive(int socket, void *bytes, size_t size, int flags, int *descriptors, int *count,
                                    int *are_lost) {
  /* Others that have the socket may have switched on other control messages, which come first. */
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(linux_most_descriptors * sizeof(int)) + 5120];
  } control;
  struct iovec part = {.iov_base = bytes, .iov_len = size};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  *count = 0;
  *are_lost = 0;
  ssize_t result = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (result < 0)
    return result;
  for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || (head->cmsg_type != SCM_RIGHTS && head->cmsg_type != 4 /* SCM_PIDFD */))
      continue;
    size_t came = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < came && *count < linux_most_descriptors; index++)
      memcpy(descriptors + (*count)++, CMSG_DATA(head) + index * sizeof(int), sizeof(int));
  }
  *are_lost = (message.msg_flags & MSG_CTRUNC) != 0;
  return result;
}
/** Reads without taking anything; tells whether a descriptor would come, which stays where it is. */
static inline ssize_t linux_peek(int socket, void *bytes, size_t size, int flags, int *has_descriptors) {
  struct iovec part = {.iov_base = bytes, .iov_len = size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  ssize_t result = recvmsg(socket, &message, (flags & ~MSG_WAITALL) | MSG_PEEK);
  *has_descriptors = result >= 0 && (message.msg_flags & MSG_CTRUNC) != 0;
  return result;
}
/** Leaves urgent bytes in their place: the system drops others in a read, and closes what came with them. */
static inline int linux_keep_in_line(int socket) {
  if (socket < 0)
    return socket;
  int value = 1;
  setsockopt(socket, SOL_SOCKET, SO_OOBINLINE, &value, sizeof value);
  return socket;
}
/** Whether bytes of it are unread, or the system does not tell. */
static inline int linux_has_unread(int socket) {
  int count = 0;
  return ioctl(socket, FIONREAD, &count) != 0 || count != 0;
}
/** Has a close of a socket wait for nothing. */
static inline void linux_stop_lingering(int fd) {
  struct linger none = {0, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}
/** Writes what a pipe or a socket takes at once, though its descriptor may wait: others may have it, too. A system or a
 * sandbox that does not allow that takes PIPE_BUF bytes of a pipe that poll(2) calls writable. */
static inline ssize_t linux_write_now(int fd, const void *bytes, size_t size) {
  ssize_t count = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0 || (errno != ENOTSOCK && errno != EPERM && errno != EACCES && errno != ENOSYS))
    return count;
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
  /* pwritev2 with RWF_NOWAIT, at the place of the descriptor. */
  count = syscall(SYS_pwritev2, fd, &part, 1UL, -1L, 0L, 8);
  if (count >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL && errno != ESPIPE && errno != EPERM &&
                     errno != EACCES))
    return count;
  return linux_write(fd, bytes, size < 4096 ? size : 4096);
}
/** Opens a pipe again, such that writes do not wait and the other descriptors of it stay as they are. A descriptor; or
 * -1: it is no pipe, nobody reads it, or there is no /proc. */
static inline int linux_reopen_pipe(int fd) {
  struct stat status, reopened;
  char path[40];
  if (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode))
    return -1;
  /* A thread may have descriptors of its own (`unshare`). */
  snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);
  int opened = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (opened >= 0 &&
      (fstat(opened, &reopened) != 0 || reopened.st_dev != status.st_dev || reopened.st_ino != status.st_ino)) {
    close(opened);
    return -1;
  }
  return opened;
}
/** Whether each write to it is a message of its own. */
static inline int linux_keeps_messages(int fd) {
  int type = SOCK_STREAM;
  socklen_t size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type != SOCK_STREAM;
}

/** Like send, without SIGPIPE and without waiting; a non-negative descriptor goes with the first byte. */
static inline ssize_t linux_send(int socket, const void *bytes, size_t size, int descriptor) {
  if (descriptor < 0)
    return send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.head.cmsg_level = SOL_SOCKET;
  control.head.cmsg_type = SCM_RIGHTS;
  control.head.cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(&control.head), &descriptor, sizeof(int));
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
/** Returns 1 for a Unix socket. */
static inline int linux_is_local_socket(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}
/** Returns 1 for a connected stream socket. */
static inline int linux_is_stream(int socket) {
  int type = 0;
  socklen_t size = sizeof type;
  struct sockaddr_storage peer;
  socklen_t peer_size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
         getpeername(socket, (struct sockaddr *)&peer, &peer_size) == 0;
}
/** Makes it non-blocking and close-on-exec; 0 or -1. */
static inline int linux_prepare(int fd) {
  linux_keep_in_line(fd);
  int flags = fcntl(fd, F_GETFL);
  return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : 0;
}
/** Lets its calls wait; 0 or -1. */
static inline int linux_set_blocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -1 : 0;
}
/** Creates two connected stream sockets, close-on-exec; 0 or -1. */
static inline int linux_socket_pair(int *ends) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return -1;
  linux_keep_in_line(ends[0]);
  linux_keep_in_line(ends[1]);
  return 0;
}
/** Lets blocking reads and writes of a socket fail with EAGAIN after `seconds`; 0 or -1. */
static inline int linux_limit_blocking(int socket, int seconds) {
  struct timeval limit = {.tv_sec = seconds};
  return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
                 setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0
             ? -1
             : 0;
}
/** POLLRDHUP, which the header shows to GNU sources only. */
static inline int linux_pollrdhup(void) { return 0x2000; }
static inline void linux_shutdown(int socket, int reading, int writing) {
  shutdown(socket, reading ? writing ? SHUT_RDWR : SHUT_RD : SHUT_WR);
}
static inline struct sockaddr_un linux_unix_address(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  return address;
}
static inline int linux_bind(int socket, const char *path) {
  struct sockaddr_un address = linux_unix_address(path);
  return bind(socket, (struct sockaddr *)&address, sizeof address);
}
static inline int linux_connect(int socket, const char *path) {
  struct sockaddr_un address = linux_unix_address(path);
  return connect(socket, (struct sockaddr *)&address, sizeof address);
}
/** Creates a stream socket, non-blocking and close-on-exec, or returns -1. */
static inline int linux_socket(void) {
  return linux_keep_in_line(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}
static inline int linux_accept(int socket) {
  return linux_keep_in_line(accept4(socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
}
// For attachments; the first three are declared for _GNU_SOURCE only, as above.
extern int pipe2(int *ends, int flags);
extern int memfd_create(const char *name, unsigned int flags);
extern int fallocate(int fd, int mode, off_t offset, off_t length);
extern int sync_file_range(int fd, off_t offset, off_t length, unsigned int flags);
/** A descriptor that only names a file. */
static inline int linux_o_path(void) { return 010000000; }
static inline int linux_memory_file(void) { return memfd_create("segue", 3 /* MFD_CLOEXEC | MFD_ALLOW_SEALING */); }
/** Seals it against writing, also after it is reopened; 0 or -1. */
static inline int linux_seal(int fd) {
  return fcntl(fd, 1033 /* F_ADD_SEALS */, 15 /* F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE */);
}
/** Whether it is a file in memory. */
static inline int linux_is_in_memory(int fd) { return fcntl(fd, 1034 /* F_GET_SEALS */) >= 0; }
/** Whether it is sealed against writing, whatever its times. */
static inline int linux_is_sealed(int fd) {
  int seals = fcntl(fd, 1034);
  return seals >= 0 && (seals & 14) == 14;
}
extern ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t length,
                               unsigned int flags);
/** Sets how long a read of a socket waits, in ms; 0 or -1. */
static inline int linux_set_receive_time(int socket, int ms) {
  struct timeval time = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
  return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}
/** A file without a name. */
static inline int linux_o_tmpfile(void) { return 020000000 | O_DIRECTORY; }
/** Reserves space for that many bytes, without growing the file; 0 or -1. */
static inline int linux_allocate(int fd, off_t length) { return fallocate(fd, 1 /* FALLOC_FL_KEEP_SIZE */, 0, length); }
/** Does not wait for the write-back. */
static inline void linux_start_writing(int fd, off_t offset, off_t length) {
  sync_file_range(fd, offset, length, 2 /* SYNC_FILE_RANGE_WRITE */);
}
/** Gives a name to a file without one; 0 or -1. */
static inline int linux_name_file(int fd, int folder, const char *name) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
}
/** The parts of <openssl/evp.h> that attachments need, if it can be loaded. */
struct linux_sha256 {
  void *(*_Nonnull create)(void);
  void (*_Nonnull destroy)(void *);
  const void *(*_Nonnull algorithm)(void);
  int (*_Nonnull begin)(void *, const void *algorithm, void *engine);
  int (*_Nonnull update)(void *, const void *bytes, size_t size);
  int (*_Nonnull finish)(void *, unsigned char *digest, unsigned int *size);
};
/**
 * Loads libcrypto.so.3, which is never unloaded. Returns NULL, or the name of the library or function that is missing.
 */
static inline const char *_Nullable linux_load_sha256(struct linux_sha256 *_Nonnull functions) {
  void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return "libcrypto.so.3";
#define FIND(field, name)                                                                                              \
  if (!(*(void **)&functions->field = dlsym(library, name)))                                                           \
    return name;
  FIND(create, "EVP_MD_CTX_new")
  FIND(destroy, "EVP_MD_CTX_free")
  FIND(algorithm, "EVP_sha256")
  FIND(begin, "EVP_DigestInit_ex")
  FIND(update, "EVP_DigestUpdate")
  FIND(finish, "EVP_DigestFinal_ex")
#undef FIND
  return NULL;
}
/** Blocks the signals of writes (SIGPIPE, SIGXFSZ) in this thread. */
static inline void linux_block_write_signals(sigset_t *former, sigset_t *pending) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  sigaddset(&set, SIGXFSZ);
  sigpending(pending);
  pthread_sigmask(SIG_BLOCK, &set, former);
}
/** Consumes those that have arrived since, and restores the former mask. */
static inline void linux_unblock_write_signals(const sigset_t *former, const sigset_t *pending) {
  sigset_t set;
  sigemptyset(&set);
  if (!sigismember(pending, SIGPIPE))
    sigaddset(&set, SIGPIPE);
  if (!sigismember(pending, SIGXFSZ))
    sigaddset(&set, SIGXFSZ);
  struct timespec none = {0, 0};
  while (sigtimedwait(&set, NULL, &none) > 0 || errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, former, NULL);
}
/** Returns 1 if that much contiguous memory is available. */
static inline int linux_can_allocate(size_t size) {
  void *volatile memory = malloc(size);
  int is_there = memory != NULL;
  free(memory);
  return is_there;
}
/** Makes and closes the parts of an event loop; 0, or -1 if the system refuses one: libuv would abort the process. */
static inline int linux_probe_loop(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    return -1;
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  int result = write(ends[1], "", 1) != 1 || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) != 0 ||
                       epoll_wait(epoll, &event, 1, 0) < 0
                   ? -1
                   : 0;
  int number = errno;
  if (epoll >= 0)
    close(epoll);
  close(ends[0]);
  close(ends[1]);
  errno = number;
  return result;
}
static inline int linux_msg_waitall(void) { return MSG_WAITALL; }
/** Whether it is open for reading or writing, and not only as a path (O_PATH). */
static inline int linux_is_open(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & linux_o_path()) == 0;
}
/** Returns a descriptor, close-on-exec, or -1. */
static inline int linux_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }
static inline int linux_is_readable(int fd) { return (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY; }
static inline int linux_is_writable(int fd) { return (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY; }
static inline int linux_is_file(const struct stat *status) { return S_ISREG(status->st_mode); }
static inline int linux_is_folder(const struct stat *status) { return S_ISDIR(status->st_mode); }
static inline uint32_t linux_epollin(void) { return EPOLLIN; }
static inline uint32_t linux_epollout(void) { return EPOLLOUT; }
static inline int linux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static inline int linux_timerfd(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); }
static inline int linux_inotify(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }
/** Removes a folder of this process with all that is in it. */
static inline void linux_remove_tree(char *path) {
  char *paths[] = {path, NULL};
  FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
  for (FTSENT *entry; tree && (entry = fts_read(tree));) {
    if (entry->fts_info != FTS_D)
      remove(entry->fts_accpath);
  }
  if (tree)
    fts_close(tree);
}
/** Opens a folder that nobody else has locked, and locks it; a descriptor, or -1. */
static inline int linux_lock_folder(const char *path) {
  struct stat opened, named;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  // Somebody may have removed it meanwhile.
  if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &opened) != 0 || lstat(path, &named) != 0 ||
                  opened.st_ino != named.st_ino)) {
    close(fd);
    return -1;
  }
  return fd;
}
/** Makes a folder from a template (mkdtemp), and locks it; a descriptor, or -1. */
static inline int linux_make_locked_folder(char *template) {
  size_t end = strlen(template) - 6;
  for (int turn = 0; turn < 8; turn++) {
    if (!mkdtemp(template))
      return -1;
    int fd = linux_lock_folder(template);
    if (fd >= 0)
      return fd;
    // One who sweeps has taken it for one that was left.
    memcpy(template + end, "XXXXXX", 6);
  }
  return -1;
}
/** Removes the folders of this user with a prefix that nobody has locked. */
static inline void linux_sweep_folders(const char *parent, const char *prefix) {
  DIR *all = opendir(parent);
  char path[4096];
  for (struct dirent *entry; all && (entry = readdir(all));) {
    struct stat status;
    if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) >= (int)sizeof path || lstat(path, &status) != 0 ||
        status.st_uid != geteuid())
      continue;
    int fd = linux_lock_folder(path);
    if (fd >= 0) {
      linux_remove_tree(path);
      close(fd);
    }
  }
  if (all)
    closedir(all);
}
