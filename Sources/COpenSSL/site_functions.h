/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// The functions that asking a site needs, beside those of the other lists.
#pragma once
#include <openssl/cms.h>

#define OPENSSL_SITE_FUNCTIONS(F)                                                                                      \
  F(CMS_ContentInfo_free)                                                                                              \
  F(CMS_get0_signers)                                                                                                  \
  F(CMS_get1_certs)                                                                                                    \
  F(CMS_verify)                                                                                                        \
  F(SSL_CTX_load_verify_file)                                                                                          \
  F(SSL_CTX_set_default_verify_paths)                                                                                  \
  F(SSL_connect)                                                                                                       \
  F(SSL_set1_host)                                                                                                     \
  F(SSL_set_fd)                                                                                                        \
  F(SSL_set_hostflags)                                                                                                 \
  F(TLS_client_method)                                                                                                 \
  F(X509_STORE_set_purpose)                                                                                            \
  F(X509_check_host)                                                                                                   \
  F(d2i_CMS_ContentInfo)
