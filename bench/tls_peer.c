/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The reference for two agents: OpenSSL between two machines, with the certificates of the agents. */
#include "tls.h"
#include <poll.h>

enum { CHUNK = 64 * 1024 };
static char chunk[CHUNK];

/** Serves one request; false at the end. */
static bool serve(SSL *session) {
  struct wish wish;
  if (!tls_read_all(session, &wish, sizeof wish))
    return false;
  if (wish.bytes == 0) {
    char message[BENCH_MESSAGE_SIZE];
    if (!tls_read_all(session, message, sizeof message))
      return false;
    TLS_CALL(SSL_write(session, message, sizeof message));
  }
  for (uint64_t left = wish.bytes; left > 0;) {
    int size = left < CHUNK ? (int)left : CHUNK;
    TLS_CALL(SSL_write(session, chunk, size));
    left -= (uint64_t)size;
  }
  return true;
}

static void be_server(SSL_CTX *context, const char *port) {
  for (int listener = tls_listen(port);;) {
    SSL *session = tls_answer(context, listener);
    while (serve(session))
      continue;
    tls_end(session);
  }
}

/** A new connection with one round trip for each line of standard input; prints when the answer was there, by the
 * clock. */
static void dial_when_told(SSL_CTX *context, const char *address, const char *port) {
  char line[16];
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    SSL *session = tls_dial(context, address, port);
    tls_round_trip(session);
    bench_print("answered", bench_now_us());
    tls_end(session);
  }
}

static void measure_throughput(SSL_CTX *context, const char *address, const char *port, uint64_t bytes) {
  SSL *session = tls_dial(context, address, port);
  tls_round_trip(session);
  struct wish wish = {bytes};
  double start = bench_now_us();
  TLS_CALL(SSL_write(session, &wish, sizeof wish));
  for (uint64_t left = bytes; left > 0;) {
    int got = SSL_read(session, chunk, left < CHUNK ? (int)left : CHUNK);
    TLS_CALL(got);
    left -= (uint64_t)got;
  }
  bench_print("bytes_per_us", (double)bytes / (bench_now_us() - start));
  tls_end(session);
}

/** Forwards bytes between a connected socket and a TLS connection, both ways, until one ends. */
static void pump(int plain, SSL *session) {
  for (;;) {
    struct pollfd ends[] = {{plain, POLLIN, 0}, {SSL_get_fd(session), POLLIN, 0}};
    if (poll(ends, 2, -1) < 0)
      bench_fail("pump", strerror(errno));
    if (ends[0].revents) {
      ssize_t got = read(plain, chunk, CHUNK);
      if (got <= 0)
        return;
      TLS_CALL(SSL_write(session, chunk, (int)got));
    }
    while (ends[1].revents || SSL_pending(session) > 0) {
      int got = SSL_read(session, chunk, CHUNK);
      if (got <= 0)
        return;
      for (int gone = 0; gone < got;) {
        ssize_t put = write(plain, chunk + gone, (size_t)(got - gone));
        if (put <= 0)
          return;
        gone += (int)put;
      }
      ends[1].revents = 0;
    }
  }
}

/* tls_peer FOLDER server PORT
 * tls_peer FOLDER told ADDRESS PORT                 tls_peer FOLDER throughput ADDRESS PORT MIB
 * tls_peer FOLDER pump DESCRIPTOR PORT              tls_peer FOLDER pump DESCRIPTOR PORT ADDRESS */
int main(int count, char **arguments) {
  if (count < 4)
    bench_fail("usage", "tls_peer FOLDER server|told|throughput|pump ...");
  SSL_CTX *context = tls_context(arguments[1]);
  const char *what = arguments[2];
  if (strcmp(what, "server") == 0)
    be_server(context, arguments[3]);
  else if (strcmp(what, "told") == 0 && count == 5)
    dial_when_told(context, arguments[3], arguments[4]);
  else if (strcmp(what, "throughput") == 0 && count == 6)
    measure_throughput(context, arguments[3], arguments[4], (uint64_t)bench_count(arguments[5]) << 20);
  else if (strcmp(what, "pump") == 0 && count == 5)
    pump((int)bench_count(arguments[3]), tls_answer(context, tls_listen(arguments[4])));
  else if (strcmp(what, "pump") == 0 && count == 6)
    pump((int)bench_count(arguments[3]), tls_dial(context, arguments[5], arguments[4]));
  else
    bench_fail(what, "no such use");
  return 0;
}
