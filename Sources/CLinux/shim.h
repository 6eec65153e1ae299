// What the system's C headers offer, and for what Swift cannot see of them (variadic functions, macros) a name that
// it can. No logic.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/** Of glibc; its header shows it to GNU sources only. */
extern char *secure_getenv(const char *name);

static inline int linux_errno(void) { return errno; }
static inline void linux_set_errno(int number) { errno = number; }
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
/** 0 and the peer's user, or -1. */
static inline int linux_peer_user(int socket, uid_t *user) {
  struct linux_credentials peer;
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return -1;
  *user = peer.user;
  return 0;
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
/** A stream socket that does not block and is closed by exec, or -1. */
static inline int linux_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }
static inline int linux_accept(int socket) { return accept4(socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }
static inline uint32_t linux_epollin(void) { return EPOLLIN; }
static inline uint32_t linux_epollout(void) { return EPOLLOUT; }
static inline int linux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static inline int linux_timerfd(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }
static inline int linux_inotify(void) { return inotify_init1(IN_CLOEXEC | IN_NONBLOCK); }
