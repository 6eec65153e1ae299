/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// The system's interfaces for links between devices: TCP, multicast, and news of the network. No logic, as in shim.h.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/types.h>

/** The address of a socket: IPv6, or IPv4 as ::ffff:a.b.c.d. */
struct linux_address {
  uint8_t bytes[16];
  uint16_t port;
  /** The interface of a link-local address; otherwise 0. */
  uint32_t scope;
};
static inline int linux_is_v4(const struct linux_address *address) {
  static const uint8_t prefix[12] = {[10] = 0xFF, [11] = 0xFF};
  return memcmp(address->bytes, prefix, sizeof prefix) == 0;
}
static inline socklen_t linux_to_system(const struct linux_address *address, struct sockaddr_storage *storage) {
  memset(storage, 0, sizeof *storage);
  if (linux_is_v4(address)) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address->port);
    memcpy(&v4->sin_addr, address->bytes + 12, 4);
    return sizeof *v4;
  }
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(address->port);
  v6->sin6_scope_id = address->scope;
  memcpy(&v6->sin6_addr, address->bytes, 16);
  return sizeof *v6;
}
static inline struct linux_address linux_from_system(const struct sockaddr *system) {
  struct linux_address address = {{0}, 0, 0};
  if (system->sa_family == AF_INET) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)system;
    address.bytes[10] = address.bytes[11] = 0xFF;
    memcpy(address.bytes + 12, &v4->sin_addr, 4);
    address.port = ntohs(v4->sin_port);
  } else if (system->sa_family == AF_INET6) {
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)system;
    memcpy(address.bytes, &v6->sin6_addr, 16);
    address.port = ntohs(v6->sin6_port);
    address.scope = v6->sin6_scope_id;
  }
  return address;
}
/** Reads an address in digits, without a port; 1 or 0. */
static inline int linux_numeric_address(const char *text, struct linux_address *address) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found = NULL;
  if (getaddrinfo(text, NULL, &hints, &found) != 0 || !found)
    return 0;
  *address = linux_from_system(found->ai_addr);
  freeaddrinfo(found);
  return 1;
}
/** Looks a name up; the number of addresses that were found and had room, 0 for none. Blocks. */
static inline int linux_look_up(const char *name, struct linux_address *addresses, int capacity) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
  int count = 0;
  if (getaddrinfo(name, NULL, &hints, &found) != 0)
    return 0;
  for (struct addrinfo *each = found; each && count < capacity; each = each->ai_next)
    if (each->ai_family == AF_INET || each->ai_family == AF_INET6)
      addresses[count++] = linux_from_system(each->ai_addr);
  freeaddrinfo(found);
  return count;
}
/** Writes an address in digits, without its port. */
static inline void linux_address_text(const struct linux_address *address, char *text, socklen_t size) {
  struct sockaddr_storage storage;
  socklen_t length = linux_to_system(address, &storage);
  if (getnameinfo((struct sockaddr *)&storage, length, text, size, NULL, 0, NI_NUMERICHOST) != 0)
    *text = 0;
}

static inline void linux_set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}
/** Sends small pieces at once, and gives up a connection on which nothing is acknowledged for `ms` milliseconds. */
static inline void linux_tune_connection(int socket, int ms) {
  linux_set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  linux_set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
}
/** Has the other end's system acknowledge now and then that it is there, while nothing is sent: every `seconds`. */
static inline void linux_probe_connection(int socket, int seconds) {
  linux_set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  linux_set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  linux_set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
}
/** Listens on all addresses, of IPv4 alone if there is no IPv6; a descriptor and its port, or -1. */
static inline int linux_listen(uint16_t *port) {
  for (int family = AF_INET6;; family = AF_INET) {
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
      struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(*port)};
      struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(*port)};
      struct sockaddr_storage own;
      socklen_t size = sizeof own;
      linux_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
      linux_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
      if ((family == AF_INET6 ? bind(fd, (struct sockaddr *)&v6, sizeof v6)
                              : bind(fd, (struct sockaddr *)&v4, sizeof v4)) == 0 &&
          listen(fd, 4096) == 0 && getsockname(fd, (struct sockaddr *)&own, &size) == 0) {
        *port = linux_from_system((struct sockaddr *)&own).port;
        return fd;
      }
      int number = errno;
      close(fd);
      errno = number;
    }
    if (family == AF_INET)
      return -1;
  }
}
/** Accepts a connection, non-blocking and close-on-exec; a descriptor, or -1. */
static inline int linux_accept_from(int socket, struct linux_address *address) {
  struct sockaddr_storage storage;
  socklen_t size = sizeof storage;
  int fd = accept4(socket, (struct sockaddr *)&storage, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0)
    *address = linux_from_system((struct sockaddr *)&storage);
  return fd;
}
/** Begins to connect; a descriptor that is writable once that has ended, or -1. */
static inline int linux_dial(const struct linux_address *address) {
  struct sockaddr_storage storage;
  socklen_t size = linux_to_system(address, &storage);
  int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&storage, size) != 0 && errno != EINPROGRESS) {
    int number = errno;
    close(fd);
    errno = number;
    return -1;
  }
  return fd;
}
/** Returns the bytes that have arrived, and are not read yet. */
static inline int linux_unread(int socket) {
  int count = 0;
  return ioctl(socket, FIONREAD, &count) == 0 ? count : 0;
}
/** Returns why connecting failed, 0 if it did not. */
static inline int linux_socket_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/** An address of an interface that runs. */
struct linux_interface {
  uint32_t index;
  uint32_t can_multicast;
  uint32_t is_point_to_point;
  struct linux_address address;
};
/** Says whether a socket can have this address as its own: an IPv6 address cannot in its first second, while
 * the system looks whether another machine has it (RFC 4862, 5.4). */
static inline int linux_can_bind(const struct sockaddr *own) {
  if (own->sa_family != AF_INET6)
    return 1;
  struct sockaddr_in6 address = *(const struct sockaddr_in6 *)own;
  address.sin6_port = 0;
  int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  int can = fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno != EADDRNOTAVAIL;
  if (fd >= 0)
    close(fd);
  return can;
}
/** Lists addresses of interfaces that run and can be used, but not of this machine's own; their number, or -1. */
static inline int linux_interfaces(struct linux_interface *list, int capacity) {
  struct ifaddrs *all;
  int count = 0;
  if (getifaddrs(&all) != 0)
    return -1;
  for (struct ifaddrs *one = all; one && count < capacity; one = one->ifa_next) {
    if (!one->ifa_addr || (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6) ||
        (one->ifa_flags & (IFF_UP | IFF_RUNNING | IFF_LOOPBACK)) != (IFF_UP | IFF_RUNNING) ||
        !linux_can_bind(one->ifa_addr))
      continue;
    struct linux_interface found = {if_nametoindex(one->ifa_name), (one->ifa_flags & IFF_MULTICAST) != 0,
                                    (one->ifa_flags & IFF_POINTOPOINT) != 0, linux_from_system(one->ifa_addr)};
    list[count++] = found;
  }
  freeifaddrs(all);
  return count;
}
/** A socket that is readable after links or addresses have changed; a descriptor, or -1. */
static inline int linux_network_events(void) {
  struct sockaddr_nl address = {.nl_family = AF_NETLINK,
                                .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
    int number = errno;
    close(fd);
    errno = number;
    return -1;
  }
  return fd;
}
/** Reads and drops all that a socket has. */
static inline void linux_drain(int socket) {
  char bytes[8192];
  while (recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) > 0 || errno == EINTR || errno == ENOBUFS) {
  }
}

/** A datagram socket for a multicast group's port, which others may use, too; a descriptor, or -1. */
static inline int linux_multicast_socket(const struct linux_address *group) {
  struct sockaddr_storage storage;
  socklen_t size = linux_to_system(group, &storage);
  int v4 = storage.ss_family == AF_INET;
  int fd = socket(storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return -1;
  linux_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (v4) {
    linux_set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, 1);
    linux_set_option(fd, IPPROTO_IP, 49 /* IP_MULTICAST_ALL */, 0);
  } else {
    linux_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    linux_set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 1);
    linux_set_option(fd, IPPROTO_IPV6, 29 /* IPV6_MULTICAST_ALL */, 0);
    // A link-local address would bind it to one interface. So each datagram has to say where it was sent.
    linux_set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    ((struct sockaddr_in6 *)&storage)->sin6_addr = in6addr_any;
  }
  if (bind(fd, (struct sockaddr *)&storage, size) == 0)
    return fd;
  int number = errno;
  close(fd);
  errno = number;
  return -1;
}
/** Hears a group on an interface; 0 or -1. */
static inline int linux_join(int socket, const struct linux_address *group, uint32_t index) {
  if (linux_is_v4(group)) {
    struct ip_mreqn request = {.imr_ifindex = (int)index};
    memcpy(&request.imr_multiaddr, group->bytes + 12, 4);
    return setsockopt(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
  }
  struct ipv6_mreq request = {.ipv6mr_interface = index};
  memcpy(&request.ipv6mr_multiaddr, group->bytes, 16);
  return setsockopt(socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request);
}
/** Sends a datagram to a group on an interface; 0 or -1. */
static inline int linux_send_to_group(int socket, const struct linux_address *group, uint32_t index, const void *bytes,
                                      size_t size) {
  struct linux_address target = *group;
  struct sockaddr_storage storage;
  if (linux_is_v4(group)) {
    struct ip_mreqn request = {.imr_ifindex = (int)index};
    if (setsockopt(socket, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request) != 0)
      return -1;
  } else {
    target.scope = index;
  }
  socklen_t length = linux_to_system(&target, &storage);
  return sendto(socket, bytes, size, MSG_DONTWAIT, (struct sockaddr *)&storage, length) < 0 ? -1 : 0;
}
/** Receives a datagram and who sent it; its length, 0 for one that was not sent to the group, or -1. */
static inline ssize_t linux_receive_from(int socket, const struct linux_address *group, void *bytes, size_t size,
                                         struct linux_address *address) {
  struct sockaddr_storage storage;
  // An in6_pktinfo (RFC 3542): an address, and the number of an interface.
  union {
    struct cmsghdr head;
    char space[CMSG_SPACE(20)];
  } control;
  struct iovec piece = {bytes, size};
  struct msghdr message = {.msg_name = &storage,
                           .msg_namelen = sizeof storage,
                           .msg_iov = &piece,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
  ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT | MSG_TRUNC);
  if (count < 0)
    return -1;
  *address = linux_from_system((struct sockaddr *)&storage);
  if (linux_is_v4(group))
    return count; // The socket is bound to the group.
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  int says = head && head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_PKTINFO;
  return says && memcmp(CMSG_DATA(head), group->bytes, 16) == 0 ? count : 0;
}
