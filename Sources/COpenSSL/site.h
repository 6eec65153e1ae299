/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// For asking a site over HTTPS: what Swift cannot see of OpenSSL's headers. No logic.
#pragma once
#include "openssl.h"

/** Allows TLS 1.2 and 1.3, checks the other end's certificate as that of a TLS server, and resumes nothing; 1 or 0. */
static inline int site_require_tls(const struct openssl *_Nonnull f, SSL_CTX *_Nonnull context) {
  f->SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  f->SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
  f->SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  return f->X509_VERIFY_PARAM_set_purpose(f->SSL_CTX_get0_param(context), X509_PURPOSE_SSL_SERVER) == 1 &&
         f->SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL) == 1;
}
/** Has a session ask for a host by name, and checks its certificate for that name, no partial wildcards; 1 or 0. */
static inline int site_expect_host(const struct openssl *_Nonnull f, SSL *_Nonnull session, const char *_Nonnull host) {
  f->SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return f->SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, (void *)host) == 1 &&
         f->SSL_set1_host(session, host) == 1;
}
/** Returns 1 if one certificate is for a host: the host's own, no partial wildcards. */
static inline int site_is_for_host(const struct openssl *_Nonnull f, X509 *_Nonnull certificate,
                                   const char *_Nonnull host, size_t size) {
  return f->X509_check_host(certificate, host, size, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1;
}
/** Signed content without MIME, as it stands (the flags of CMS_verify). */
static inline unsigned int site_cms_flags(void) { return CMS_BINARY; }
/** The store of trusted certificates checks for the purpose of a TLS server; 1 or 0. */
static inline int site_require_server(const struct openssl *_Nonnull f, X509_STORE *_Nonnull store) {
  return f->X509_STORE_set_purpose(store, X509_PURPOSE_SSL_SERVER) == 1;
}
/** The numbers of elements of lists of certificates, and an element. */
static inline int site_count(const struct openssl *_Nonnull f, const struct stack_st_X509 *_Nullable certificates) {
  return certificates ? f->OPENSSL_sk_num((const OPENSSL_STACK *)certificates) : 0;
}
static inline X509 *_Nullable site_certificate(const struct openssl *_Nonnull f,
                                               const struct stack_st_X509 *_Nonnull certificates, int index) {
  return (X509 *)f->OPENSSL_sk_value((const OPENSSL_STACK *)certificates, index);
}
/** Frees a list, and the certificates in it if it owns them. */
static inline void site_free(const struct openssl *_Nonnull f, struct stack_st_X509 *_Nullable certificates, int owns) {
  if (certificates && owns)
    f->OPENSSL_sk_pop_free((OPENSSL_STACK *)certificates, (OPENSSL_sk_freefunc)f->X509_free);
  else if (certificates)
    f->OPENSSL_sk_free((OPENSSL_STACK *)certificates);
}
/** The end of a session without an error that is reported: the other end has closed it. */
static inline int site_is_end(int error) { return error == SSL_ERROR_ZERO_RETURN; }
