/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// For TLS sessions: what Swift cannot see of OpenSSL's headers. No logic.
#pragma once
#include "openssl.h"
#include <string.h>

/** Allows TLS 1.3 alone, without the records by which it resembles TLS 1.2 (RFC 8446 D.4); 1 or 0. */
static inline int tls_require_1_3(const struct openssl *_Nonnull f, SSL_CTX *_Nonnull context) {
  f->SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  return f->SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL) == 1 &&
         f->SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_3_VERSION, NULL) == 1;
}
static inline int tls_set_groups(const struct openssl *_Nonnull f, SSL_CTX *_Nonnull context,
                                 const char *_Nonnull groups) {
  return f->SSL_CTX_ctrl(context, SSL_CTRL_SET_GROUPS_LIST, 0, (void *)groups) == 1;
}
/** Neither offers nor keeps sessions that could be resumed; 1 or 0. */
static inline int tls_refuse_resumption(const struct openssl *_Nonnull f, SSL_CTX *_Nonnull context) {
  f->SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
  f->SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  return f->SSL_CTX_set_num_tickets(context, 0) == 1;
}
/** Bytes of padding for a record of `size` bytes, its type included: it then has 1 KiB, or a multiple of 4 KiB. So its
 * length tells no title, type or name in it. Records of the handshake carry none. */
static inline size_t tls_padding(SSL *_Nullable session, int type, size_t size, void *_Nullable unused) {
  (void)session;
  (void)unused;
  if (type == SSL3_RT_HANDSHAKE)
    return 0;
  return size <= 1024 ? 1024 - size : (4096 - size % 4096) % 4096;
}
static inline void tls_pad_records(const struct openssl *_Nonnull f, SSL_CTX *_Nonnull context) {
  f->SSL_CTX_set_record_padding_callback(context, tls_padding);
}
/** Has both ends show a certificate, and checks it strictly; 1 or 0. */
static inline int tls_require_certificates(const struct openssl *_Nonnull f, SSL_CTX *_Nonnull context) {
  f->SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  return f->X509_VERIFY_PARAM_set_flags(f->SSL_CTX_get0_param(context), X509_V_FLAG_X509_STRICT) == 1;
}
/** Has each end show its certificate alone. By itself OpenSSL looks for the chain with each handshake, for which it
 * verifies signatures, and sends the root, which the other end has. */
static inline void tls_show_certificate_alone(const struct openssl *_Nonnull f, SSL_CTX *_Nonnull context) {
  f->SSL_CTX_ctrl(context, SSL_CTRL_MODE, SSL_MODE_NO_AUTO_CHAIN, NULL);
}
/** Checks certificates against revocations of the whole chain; 1 or 0. */
static inline int tls_check_revocations(const struct openssl *_Nonnull f, SSL_CTX *_Nonnull context) {
  unsigned long flags = X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL;
  return f->X509_VERIFY_PARAM_set_flags(f->SSL_CTX_get0_param(context), flags) == 1;
}
/** Chooses the one protocol of `wanted`, a name with its length before it, or ends the handshake. */
static inline int tls_choose_protocol(SSL *_Nonnull session, const unsigned char *_Nonnull *_Nonnull chosen,
                                      unsigned char *_Nonnull size, const unsigned char *_Nonnull offered,
                                      unsigned int count, void *_Nonnull wanted) {
  const unsigned char *name = (const unsigned char *)wanted;
  (void)session;
  for (unsigned int at = 0; at < count; at += offered[at] + 1u) {
    if (offered[at] == name[0] && at + 1u + name[0] <= count && memcmp(offered + at + 1, name + 1, name[0]) == 0) {
      *chosen = offered + at + 1;
      *size = name[0];
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}
/** Sets the one application protocol of both roles; `name` outlives the context, with its length before it. 1 or 0. */
static inline int tls_set_protocol(const struct openssl *_Nonnull f, SSL_CTX *_Nonnull context,
                                   const unsigned char *_Nonnull name) {
  f->SSL_CTX_set_alpn_select_cb(context, tls_choose_protocol, (void *)name);
  return f->SSL_CTX_set_alpn_protos(context, name, name[0] + 1u) == 0;
}
/** Arrivals of a session. They wrap around. */
struct tls_arrivals {
  /** Messages of the handshake. */
  unsigned int messages;
  /** Records, those without content included. */
  unsigned int records;
};
static inline void tls_message(int is_sent, int version, int type, const void *_Nullable bytes, size_t size,
                               SSL *_Nullable session, void *_Nonnull arrivals) {
  (void)version;
  (void)bytes;
  (void)size;
  (void)session;
  if (is_sent)
    return;
  if (type == SSL3_RT_HANDSHAKE)
    ((struct tls_arrivals *)arrivals)->messages++;
  else if (type == SSL3_RT_HEADER)
    ((struct tls_arrivals *)arrivals)->records++;
}
/** Counts the messages and records that arrive, also after the handshake; `arrivals` outlives the session. SSL_read
 * then returns after each record that holds no content, except that it skips up to 32 empty records of the application.
 */
static inline void tls_count_arrivals(const struct openssl *_Nonnull f, SSL *_Nonnull session,
                                      struct tls_arrivals *_Nonnull arrivals) {
  f->SSL_set_msg_callback(session, tls_message);
  f->SSL_ctrl(session, SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, arrivals);
  f->SSL_ctrl(session, SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, NULL);
}
/** Copies the only URI of a certificate's subjectAltName; its length, or -1 without exactly one that fits. */
static inline int tls_subject_uri(const struct openssl *_Nonnull f, const X509 *_Nonnull certificate,
                                  char *_Nonnull uri, int capacity) {
  GENERAL_NAMES *names = (GENERAL_NAMES *)f->X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  int size = -1;
  if (!names)
    return -1;
  if (f->OPENSSL_sk_num((const OPENSSL_STACK *)names) == 1) {
    const GENERAL_NAME *name = (const GENERAL_NAME *)f->OPENSSL_sk_value((const OPENSSL_STACK *)names, 0);
    if (name->type == GEN_URI && f->ASN1_STRING_length(name->d.uniformResourceIdentifier) <= capacity) {
      size = f->ASN1_STRING_length(name->d.uniformResourceIdentifier);
      memcpy(uri, f->ASN1_STRING_get0_data(name->d.uniformResourceIdentifier), (size_t)size);
    }
  }
  f->GENERAL_NAMES_free(names);
  return size;
}
/** Hashes a certificate's subjectPublicKeyInfo with SHA-256; 1 or 0. */
static inline int tls_public_key_hash(const struct openssl *_Nonnull f, const X509 *_Nonnull certificate,
                                      unsigned char *_Nonnull hash) {
  unsigned char *encoding = NULL;
  int size = f->i2d_X509_PUBKEY(f->X509_get_X509_PUBKEY(certificate), &encoding);
  int done = size > 0 && f->EVP_Digest(encoding, (size_t)size, hash, NULL, f->EVP_sha256(), NULL) == 1;
  f->CRYPTO_free(encoding, "", 0);
  return done;
}
/** Creates a context of HMAC-SHA256 under a key, or NULL. */
static inline EVP_MAC_CTX *_Nullable tls_hmac_new(const struct openssl *_Nonnull f, const unsigned char *_Nonnull key,
                                                  size_t size) {
  EVP_MAC *algorithm = f->EVP_MAC_fetch(NULL, "HMAC", NULL);
  EVP_MAC_CTX *context = algorithm ? f->EVP_MAC_CTX_new(algorithm) : NULL;
  OSSL_PARAM parameters[] = {f->OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
                             f->OSSL_PARAM_construct_end()};
  f->EVP_MAC_free(algorithm);
  if (context && f->EVP_MAC_init(context, key, size, parameters) != 1) {
    f->EVP_MAC_CTX_free(context);
    return NULL;
  }
  return context;
}
/** Computes the 32 bytes of a message's HMAC under the context's key; 1 or 0. */
static inline int tls_hmac(const struct openssl *_Nonnull f, EVP_MAC_CTX *_Nonnull context,
                           const unsigned char *_Nonnull message, size_t size, unsigned char *_Nonnull code) {
  size_t written = 0;
  return f->EVP_MAC_init(context, NULL, 0, NULL) == 1 && f->EVP_MAC_update(context, message, size) == 1 &&
         f->EVP_MAC_final(context, code, &written, 32) == 1 && written == 32;
}

/** Erases a secret, also where the compiler knows that it is not read again. */
static inline void openssl_erase(void *_Nonnull bytes, size_t size) { explicit_bzero(bytes, size); }
