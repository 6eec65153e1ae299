/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "certificates.h"
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct certificates_account {
  EVP_PKEY *key;
  X509 *root;
};

static void require(int condition) {
  if (!condition)
    abort();
}

static void extend(X509 *certificate, X509 *issuer, int kind, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
  require(extension != NULL);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

static void identifier(X509 *certificate, char *text) {
  unsigned char *encoding = NULL, hash[SHA256_DIGEST_LENGTH];
  int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoding);
  SHA256(encoding, (size_t)size, hash);
  OPENSSL_free(encoding);
  for (int i = 0; i < 16; i++)
    sprintf(text + 2 * i, "%02x", hash[i]);
}

static X509 *begin(EVP_PKEY *key, long serial, long from, long to, const char *name) {
  X509 *certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from);
  X509_gmtime_adj(X509_getm_notAfter(certificate), to);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, (const unsigned char *)name, -1,
                             -1, 0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

static void finish(X509 *certificate, X509 *issuer, EVP_PKEY *key) {
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  extend(certificate, issuer, NID_subject_key_identifier, "hash");
  extend(certificate, issuer, NID_authority_key_identifier, "keyid:always");
  require(X509_sign(certificate, key, NULL));
}

static struct certificates_bytes encoded(X509 *certificate) {
  struct certificates_bytes bytes = {NULL, 0};
  bytes.count = (size_t)i2d_X509(certificate, &bytes.start);
  return bytes;
}

certificates_account *certificates_create(void) {
  certificates_account *account = malloc(sizeof *account);
  account->key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  account->root = begin(account->key, 1, -300, 3650L * 86400, "account");
  extend(account->root, account->root, NID_basic_constraints, "critical,CA:TRUE");
  extend(account->root, account->root, NID_key_usage, "critical,keyCertSign,cRLSign");
  finish(account->root, account->root, account->key);
  return account;
}

struct certificates_bytes certificates_root(certificates_account *account) {
  return encoded(account->root);
}

struct certificates_bytes certificates_issue(certificates_account *account, long serial, enum certificates_flaw flaw,
                                             struct certificates_bytes *key) {
  EVP_PKEY *own = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  long day = 86400, from = flaw == certificates_early ? day : -30 * day,
       to = flaw == certificates_expired ? -day : 365 * day;
  X509 *certificate = begin(own, serial, from, to, "device");
  char account_text[33], device_text[33], uri[100];
  identifier(account->root, account_text);
  identifier(certificate, device_text);
  if (flaw == certificates_of_account)
    account_text[5] = account_text[5] == '0' ? '1' : '0';
  if (flaw == certificates_misnamed)
    device_text[31] = device_text[31] == '0' ? '1' : '0';
  sprintf(uri, "URI:segue:acct/%s/dev/%s", account_text, device_text);
  if (flaw != certificates_unnamed)
    extend(certificate, account->root, NID_subject_alt_name, uri);
  extend(certificate, account->root, NID_basic_constraints,
         flaw == certificates_may_sign ? "critical,CA:TRUE" : "critical,CA:FALSE");
  extend(certificate, account->root, NID_key_usage,
         flaw == certificates_may_sign ? "critical,digitalSignature,keyCertSign" : "critical,digitalSignature");
  extend(certificate, account->root, NID_ext_key_usage,
         flaw == certificates_no_client   ? "serverAuth"
         : flaw == certificates_no_server ? "clientAuth"
                                          : "clientAuth,serverAuth");
  finish(certificate, account->root, account->key);
  *key = (struct certificates_bytes){NULL, 0};
  PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(own);
  key->count = (size_t)i2d_PKCS8_PRIV_KEY_INFO(info, &key->start);
  struct certificates_bytes bytes = encoded(certificate);
  PKCS8_PRIV_KEY_INFO_free(info);
  X509_free(certificate);
  EVP_PKEY_free(own);
  return bytes;
}

struct certificates_bytes certificates_revoke(certificates_account *account, long number, long serial, long begin) {
  X509_CRL *list = X509_CRL_new();
  X509_CRL_set_version(list, X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list, X509_get_subject_name(account->root));
  ASN1_TIME *time = X509_gmtime_adj(NULL, begin);
  X509_CRL_set1_lastUpdate(list, time);
  ASN1_INTEGER *integer = ASN1_INTEGER_new();
  ASN1_INTEGER_set(integer, number);
  X509_CRL_add1_ext_i2d(list, NID_crl_number, integer, 0, 0);
  X509V3_CTX context;
  X509V3_set_ctx(&context, account->root, NULL, NULL, list, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, NID_authority_key_identifier, "keyid:always");
  X509_CRL_add_ext(list, extension, -1);
  X509_EXTENSION_free(extension);
  if (serial) {
    X509_REVOKED *revoked = X509_REVOKED_new();
    ASN1_INTEGER_set(integer, serial);
    X509_REVOKED_set_serialNumber(revoked, integer);
    X509_REVOKED_set_revocationDate(revoked, time);
    X509_CRL_add0_revoked(list, revoked);
  }
  X509_CRL_sort(list);
  require(X509_CRL_sign(list, account->key, NULL));
  struct certificates_bytes bytes = {NULL, 0};
  bytes.count = (size_t)i2d_X509_CRL(list, &bytes.start);
  ASN1_INTEGER_free(integer);
  ASN1_TIME_free(time);
  X509_CRL_free(list);
  return bytes;
}

void certificates_free(struct certificates_bytes bytes) { OPENSSL_free(bytes.start); }

void certificates_use(void *context, struct certificates_bytes certificate, struct certificates_bytes key) {
  const unsigned char *at = certificate.start;
  X509 *decoded = d2i_X509(NULL, &at, (long)certificate.count);
  at = key.start;
  EVP_PKEY *own = d2i_AutoPrivateKey(NULL, &at, (long)key.count);
  require(SSL_CTX_use_certificate(context, decoded) == 1 && SSL_CTX_use_PrivateKey(context, own) == 1);
  X509_free(decoded);
  EVP_PKEY_free(own);
}

void certificates_speak_1_2(void *context) {
  require(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
  require(SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION) == 1);
}

void certificates_say_no_protocol(void *context) { SSL_CTX_set_alpn_protos(context, NULL, 0); }

int certificates_is_resumable(void *session) { return SSL_SESSION_is_resumable(SSL_get0_session(session)); }

int certificates_update_key(void *session, int asks) {
  int type = asks ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED;
  return SSL_key_update(session, type) == 1 && SSL_do_handshake(session) == 1;
}

int certificates_send_ticket(void *session) {
  return SSL_new_session_ticket(session) == 1 && SSL_do_handshake(session) == 1;
}

void certificates_leave_error(void) { ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR); }

static unsigned char secret[EVP_MAX_MD_SIZE];
static size_t secret_size;

static void note_secret(const SSL *session, const char *line) {
  (void)session;
  if (strncmp(line, "CLIENT_TRAFFIC_SECRET_0 ", 24) != 0)
    return;
  secret_size = 0;
  for (const char *digits = strrchr(line, ' ') + 1; sscanf(digits, "%2hhx", &secret[secret_size]) == 1; digits += 2)
    secret_size++;
}

void certificates_note_secret(void *context) { SSL_CTX_set_keylog_callback(context, note_secret); }

/** HKDF-Expand-Label (RFC 8446, section 7.1) of the secret, without a context. */
static void expand(const EVP_MD *digest, const char *label, unsigned char *bytes, size_t size) {
  unsigned char info[32] = {0, (unsigned char)size, (unsigned char)(6 + strlen(label))};
  memcpy(info + 3, "tls13 ", 6);
  memcpy(info + 9, label, strlen(label));
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, NULL);
  require(EVP_PKEY_derive_init(context) == 1);
  require(EVP_PKEY_CTX_set_hkdf_mode(context, EVP_PKEY_HKDEF_MODE_EXPAND_ONLY) == 1);
  require(EVP_PKEY_CTX_set_hkdf_md(context, digest) == 1);
  require(EVP_PKEY_CTX_set1_hkdf_key(context, secret, (int)secret_size) == 1);
  require(EVP_PKEY_CTX_add1_hkdf_info(context, info, (int)(10 + strlen(label))) == 1);
  require(EVP_PKEY_derive(context, bytes, &size) == 1);
  EVP_PKEY_CTX_free(context);
}

struct certificates_bytes certificates_empty_records(void *session, int sent, int count) {
  enum { header = 5, tag = 16, largest = header + 2 + tag };
  unsigned id = SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(session));
  const EVP_CIPHER *cipher = id == 0x1301   ? EVP_aes_128_gcm()
                             : id == 0x1302 ? EVP_aes_256_gcm()
                                            : EVP_chacha20_poly1305();
  const EVP_MD *digest = id == 0x1302 ? EVP_sha384() : EVP_sha256();
  unsigned char key[32], first[12];
  expand(digest, "key", key, (size_t)EVP_CIPHER_get_key_length(cipher));
  expand(digest, "iv", first, sizeof first);
  struct certificates_bytes records = {OPENSSL_malloc((size_t)(count + 1) * largest), 0};
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  for (int number = 0; number <= count; number++) {
    unsigned char nonce[12], *record = records.start + records.count, content[2] = {7, SSL3_RT_APPLICATION_DATA};
    int size = number < count ? 1 : 2, written;
    memcpy(nonce, first, sizeof nonce);
    nonce[11] ^= (unsigned char)(sent + number);
    record[0] = SSL3_RT_APPLICATION_DATA;
    record[1] = record[2] = 3;
    record[3] = 0;
    record[4] = (unsigned char)(size + tag);
    require(EVP_EncryptInit_ex(context, cipher, NULL, key, nonce) == 1);
    require(EVP_EncryptUpdate(context, NULL, &written, record, header) == 1);
    require(EVP_EncryptUpdate(context, record + header, &written, content + 2 - size, size) == 1);
    require(EVP_EncryptFinal_ex(context, record + header + size, &written) == 1);
    require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tag, record + header + size) == 1);
    records.count += (size_t)(header + size + tag);
  }
  EVP_CIPHER_CTX_free(context);
  return records;
}
