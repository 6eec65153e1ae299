/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// For accounts and certificates: what Swift cannot see of OpenSSL's headers. No logic.
#pragma once
#include "openssl.h"

/** The form of a text in a name: UTF-8 (a macro with a cast). */
static inline int trust_utf8(void) { return MBSTRING_UTF8; }
/** The checks of a verification besides the signatures: revocation of the whole chain, and the form strictly. */
static inline unsigned long trust_verification(void) {
  return X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL | X509_V_FLAG_X509_STRICT;
}
