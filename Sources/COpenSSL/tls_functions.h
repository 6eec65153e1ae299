/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// The functions that TLS sessions need, beside those of functions.h.
#pragma once

#define OPENSSL_TLS_FUNCTIONS(F)                                                                                       \
  F(BIO_clear_flags)                                                                                                   \
  F(BIO_ctrl)                                                                                                          \
  F(BIO_ctrl_pending)                                                                                                  \
  F(BIO_get_data)                                                                                                      \
  F(BIO_get_new_index)                                                                                                 \
  F(BIO_meth_new)                                                                                                      \
  F(BIO_meth_set_ctrl)                                                                                                 \
  F(BIO_meth_set_read)                                                                                                 \
  F(BIO_meth_set_write)                                                                                                \
  F(BIO_new)                                                                                                           \
  F(BIO_read)                                                                                                          \
  F(BIO_s_mem)                                                                                                         \
  F(BIO_set_data)                                                                                                      \
  F(BIO_set_flags)                                                                                                     \
  F(SSL_CIPHER_find)                                                                                                   \
  F(SSL_CTX_check_private_key)                                                                                         \
  F(SSL_CTX_clear_options)                                                                                             \
  F(SSL_CTX_ctrl)                                                                                                      \
  F(SSL_CTX_free)                                                                                                      \
  F(SSL_CTX_get0_param)                                                                                                \
  F(SSL_CTX_get_cert_store)                                                                                            \
  F(SSL_CTX_get_ex_data)                                                                                               \
  F(SSL_CTX_new)                                                                                                       \
  F(SSL_CTX_set_alpn_protos)                                                                                           \
  F(SSL_CTX_set_alpn_select_cb)                                                                                        \
  F(SSL_CTX_set_ciphersuites)                                                                                          \
  F(SSL_CTX_set_ex_data)                                                                                               \
  F(SSL_CTX_set_num_tickets)                                                                                           \
  F(SSL_CTX_set_options)                                                                                               \
  F(SSL_CTX_set_psk_find_session_callback)                                                                             \
  F(SSL_CTX_set_psk_use_session_callback)                                                                              \
  F(SSL_CTX_set_verify)                                                                                                \
  F(SSL_CTX_use_PrivateKey)                                                                                            \
  F(SSL_CTX_use_certificate)                                                                                           \
  F(SSL_SESSION_free)                                                                                                  \
  F(SSL_SESSION_new)                                                                                                   \
  F(SSL_SESSION_set1_master_key)                                                                                       \
  F(SSL_SESSION_set_cipher)                                                                                            \
  F(SSL_SESSION_set_protocol_version)                                                                                  \
  F(SSL_ctrl)                                                                                                          \
  F(SSL_do_handshake)                                                                                                  \
  F(SSL_export_keying_material)                                                                                        \
  F(SSL_free)                                                                                                          \
  F(SSL_get0_alpn_selected)                                                                                            \
  F(SSL_get1_peer_certificate)                                                                                         \
  F(SSL_get_SSL_CTX)                                                                                                   \
  F(SSL_get_error)                                                                                                     \
  F(SSL_get_verify_result)                                                                                             \
  F(SSL_new)                                                                                                           \
  F(SSL_read)                                                                                                          \
  F(SSL_session_reused)                                                                                                \
  F(SSL_set_accept_state)                                                                                              \
  F(SSL_set_bio)                                                                                                       \
  F(SSL_set_connect_state)                                                                                             \
  F(SSL_set_msg_callback)                                                                                              \
  F(SSL_shutdown)                                                                                                      \
  F(SSL_version)                                                                                                       \
  F(SSL_write)                                                                                                         \
  F(TLS_method)                                                                                                        \
  F(X509_CRL_get0_by_cert)                                                                                             \
  F(X509_STORE_CTX_set_error)                                                                                          \
  F(X509_STORE_add_cert)                                                                                               \
  F(X509_STORE_add_crl)                                                                                                \
  F(X509_STORE_set_check_crl)                                                                                          \
  F(X509_VERIFY_PARAM_set_flags)                                                                                       \
  F(X509_cmp_current_time)                                                                                             \
  F(X509_verify_cert_error_string)

// The functions for the records of TLS.
#define OPENSSL_RECORD_FUNCTIONS(F) F(SSL_CTX_set_record_padding_callback)
