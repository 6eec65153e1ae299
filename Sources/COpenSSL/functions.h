/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// The functions of OpenSSL 3.0 that are called, each in the list of who calls it. A function that several need is in
// the first list. The compiler takes their types from OpenSSL's own headers.
#pragma once
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <string.h>

#define OPENSSL_COMMON_FUNCTIONS(F)                                                                                    \
  F(OPENSSL_init_ssl)                                                                                                  \
  F(CRYPTO_clear_free)                                                                                                 \
  F(CRYPTO_free)                                                                                                       \
  F(CRYPTO_memcmp)                                                                                                     \
  F(CRYPTO_secure_malloc_init)                                                                                         \
  F(ERR_clear_error)                                                                                                   \
  F(ERR_error_string_n)                                                                                                \
  F(ERR_get_error)                                                                                                     \
  F(ERR_peek_last_error)                                                                                               \
  F(ERR_reason_error_string)                                                                                           \
  F(EVP_Digest)                                                                                                        \
  F(EVP_MAC_CTX_free)                                                                                                  \
  F(EVP_MAC_CTX_new)                                                                                                   \
  F(EVP_MAC_fetch)                                                                                                     \
  F(EVP_MAC_final)                                                                                                     \
  F(EVP_MAC_free)                                                                                                      \
  F(EVP_MAC_init)                                                                                                      \
  F(EVP_MAC_update)                                                                                                    \
  F(EVP_PKEY_free)                                                                                                     \
  F(EVP_sha256)                                                                                                        \
  F(OPENSSL_sk_free)                                                                                                   \
  F(OPENSSL_sk_new_null)                                                                                               \
  F(OPENSSL_sk_num)                                                                                                    \
  F(OPENSSL_sk_pop_free)                                                                                               \
  F(OPENSSL_sk_push)                                                                                                   \
  F(OPENSSL_sk_value)                                                                                                  \
  F(OSSL_PARAM_construct_end)                                                                                          \
  F(OSSL_PARAM_construct_octet_string)                                                                                 \
  F(OSSL_PARAM_construct_utf8_string)                                                                                  \
  F(X509_CRL_free)                                                                                                     \
  F(X509_free)                                                                                                         \
  F(X509_get_X509_PUBKEY)                                                                                              \
  F(X509_get_ext_d2i)                                                                                                  \
  F(GENERAL_NAMES_free)                                                                                                \
  F(ASN1_STRING_get0_data)                                                                                             \
  F(ASN1_STRING_length)                                                                                                \
  F(d2i_X509)                                                                                                          \
  F(d2i_X509_CRL)                                                                                                      \
  F(i2d_X509_PUBKEY)
