/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* TLS as the agents speak it, in the simplest way: OpenSSL on blocking sockets. Certificates are those of a device: a
 * folder with "key", "certificate", "root" and "revocations" in DER. */
#ifndef TLS_H
#define TLS_H

#include "bench.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <unistd.h>

/** The request of a client: a number of bytes, or with 0 a message of BENCH_MESSAGE_SIZE back. */
struct wish {
  uint64_t bytes;
};

static inline void tls_fail(const char *what) {
  const char *why = ERR_reason_error_string(ERR_get_error());
  bench_fail(what, why ? why : "failed");
}

#define TLS_CALL(call)                                                                                                 \
  do {                                                                                                                 \
    if ((call) <= 0)                                                                                                   \
      tls_fail(#call);                                                                                                 \
  } while (0)

/** The whole of a file; the caller frees it. */
static inline unsigned char *tls_file(const char *folder, const char *name, long *size) {
  char path[512];
  unsigned char *bytes = malloc(8192);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  if (!file)
    bench_fail(path, "cannot be read");
  *size = (long)fread(bytes, 1, 8192, file);
  fclose(file);
  return bytes;
}

/** TLS 1.3 with certificates on both sides, checked up to the root with its revocations; no session is resumed. All
 * that an agent sets is set here, too. */
static inline SSL_CTX *tls_context(const char *folder) {
  SSL_CTX *context = SSL_CTX_new(TLS_method());
  long size;
  const unsigned char *at = tls_file(folder, "root", &size);
  X509 *root = d2i_X509(NULL, &at, size);
  at = tls_file(folder, "revocations", &size);
  X509_CRL *revocations = d2i_X509_CRL(NULL, &at, size);
  if (!root || !revocations)
    tls_fail("root, revocations");
  TLS_CALL(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION));
  TLS_CALL(SSL_CTX_set1_groups_list(context, "X25519:P-256"));
  TLS_CALL(SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"));
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  TLS_CALL(SSL_CTX_set_num_tickets(context, 0));
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  X509_STORE *store = SSL_CTX_get_cert_store(context);
  TLS_CALL(X509_STORE_add_cert(store, root));
  TLS_CALL(X509_STORE_add_crl(store, revocations));
  unsigned long flags = X509_V_FLAG_X509_STRICT | X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL;
  TLS_CALL(X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), flags));
  unsigned char *bytes = tls_file(folder, "certificate", &size);
  TLS_CALL(SSL_CTX_use_certificate_ASN1(context, (int)size, bytes));
  at = tls_file(folder, "key", &size);
  TLS_CALL(SSL_CTX_use_PrivateKey(context, d2i_AutoPrivateKey(NULL, &at, size)));
  return context;
}

static inline SSL *tls_on(SSL_CTX *context, int fd, bool dials) {
  int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  SSL *session = SSL_new(context);
  TLS_CALL(SSL_set_fd(session, fd));
  TLS_CALL(dials ? SSL_connect(session) : SSL_accept(session));
  return session;
}

static inline struct sockaddr_in tls_address(const char *address, const char *port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)bench_count(port))};
  if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
    bench_fail(address, "is no IPv4 address");
  return to;
}

static inline SSL *tls_dial(SSL_CTX *context, const char *address, const char *port) {
  struct sockaddr_in to = tls_address(address, port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
    bench_fail("connect", strerror(errno));
  return tls_on(context, fd, true);
}

static inline int tls_listen(const char *port) {
  struct sockaddr_in at = tls_address("0.0.0.0", port);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 8) != 0)
    bench_fail("listen", strerror(errno));
  puts("ready");
  fflush(stdout);
  return fd;
}

static inline SSL *tls_answer(SSL_CTX *context, int listener) {
  int fd = accept(listener, NULL, NULL);
  if (fd < 0)
    bench_fail("accept", strerror(errno));
  return tls_on(context, fd, false);
}

static inline void tls_end(SSL *session) {
  int fd = SSL_get_fd(session);
  SSL_free(session);
  close(fd);
}

static inline bool tls_read_all(SSL *session, void *bytes, size_t size) {
  for (size_t have = 0; have < size;) {
    int got = SSL_read(session, (char *)bytes + have, (int)(size - have));
    if (got <= 0)
      return false;
    have += (size_t)got;
  }
  return true;
}

/** Returns microseconds of a round trip of BENCH_MESSAGE_SIZE. */
static inline double tls_round_trip(SSL *session) {
  struct {
    struct wish wish;
    char message[BENCH_MESSAGE_SIZE];
  } out = {0};
  double start = bench_now_us();
  TLS_CALL(SSL_write(session, &out, sizeof out));
  if (!tls_read_all(session, out.message, sizeof out.message))
    tls_fail("round trip over TLS");
  return bench_now_us() - start;
}

#endif
