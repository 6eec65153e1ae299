/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// Accounts and certificates for tests, good and bad ones. Linked with OpenSSL, which the product loads.
#pragma once
#include <stddef.h>

/** DER. Freed with `certificates_free`. */
struct certificates_bytes {
  unsigned char *_Nullable start;
  size_t count;
};

/** The flaw of a certificate. */
enum certificates_flaw {
  certificates_good = 0,
  certificates_expired,
  certificates_early,      // valid from tomorrow on
  certificates_misnamed,   // its name says another device
  certificates_of_account, // its name says another account
  certificates_unnamed,
  certificates_no_client, // may serve, and not dial
  certificates_no_server, // may dial, and not serve
  certificates_may_sign,  // is a CA
};

typedef struct certificates_account certificates_account;

/** Creates an account; all have the same name. Never freed. */
certificates_account *_Nonnull certificates_create(void);
struct certificates_bytes certificates_root(certificates_account *_Nonnull account);
/** Issues a certificate for a new key. */
struct certificates_bytes certificates_issue(certificates_account *_Nonnull account, long serial,
                                             enum certificates_flaw flaw, struct certificates_bytes *_Nonnull key);
/** Signs the list of one revoked serial, 0 for none, which begins that many seconds from now. */
struct certificates_bytes certificates_revoke(certificates_account *_Nonnull account, long number, long serial,
                                              long begin);
void certificates_free(struct certificates_bytes bytes);

// Conduct that a device must refuse. The arguments are OpenSSL's SSL_CTX and SSL.

/** Shows another certificate. */
void certificates_use(void *_Nonnull context, struct certificates_bytes certificate, struct certificates_bytes key);
/** Speaks TLS 1.2, and nothing newer. */
void certificates_speak_1_2(void *_Nonnull context);
/** Offers no application protocol. */
void certificates_say_no_protocol(void *_Nonnull context);
int certificates_is_resumable(void *_Nonnull session);
/** Sends a KeyUpdate, which may ask for another one, or a ticket of a server; 1 or 0. */
int certificates_update_key(void *_Nonnull session, int asks);
int certificates_send_ticket(void *_Nonnull session);
/** Notes the secret of the session that a client of this context begins last. */
void certificates_note_secret(void *_Nonnull context);
/** Returns the next records of that session's client, which has sent `sent`: `count` empty ones, and one with the byte
 * 7. In all at most 255. */
struct certificates_bytes certificates_empty_records(void *_Nonnull session, int sent, int count);
/** Leaves an error in the thread's queue, as a call for another session may. */
void certificates_leave_error(void);
