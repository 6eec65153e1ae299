/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// OpenSSL 3, which no program of ours is linked with: `openssl_load` fills a table of its functions. For each of
// OpenSSL's macros and variadic functions, tls.h or trust.h has a function that takes the table. No logic.
#pragma once
#include "functions.h"
#include "site_functions.h"
#include "tls_functions.h"
#include "trust_functions.h"
#include <dlfcn.h>

/** The functions, by their names. All are there after `openssl_load` has succeeded. */
struct openssl {
#define FIELD(name) __typeof__(name) *_Nonnull name;
  OPENSSL_COMMON_FUNCTIONS(FIELD)
  OPENSSL_TLS_FUNCTIONS(FIELD)
  OPENSSL_TRUST_FUNCTIONS(FIELD)
  OPENSSL_RECORD_FUNCTIONS(FIELD)
  OPENSSL_SITE_FUNCTIONS(FIELD)
#undef FIELD
};

/**
 * Loads libssl.so.3, and libcrypto.so.3 with it; neither is ever unloaded. Reads no configuration file, and leaves
 * nothing to do at the exit of the process. Returns NULL, or the name of the library or function that is missing.
 */
static inline const char *_Nullable openssl_load(struct openssl *_Nonnull functions) {
  void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return "libssl.so.3";
#define FIND(name)                                                                                                     \
  if (!(*(void **)&functions->name = dlsym(library, #name)))                                                           \
    return #name;
  OPENSSL_COMMON_FUNCTIONS(FIND)
  OPENSSL_TLS_FUNCTIONS(FIND)
  OPENSSL_TRUST_FUNCTIONS(FIND)
  OPENSSL_RECORD_FUNCTIONS(FIND)
  OPENSSL_SITE_FUNCTIONS(FIND)
#undef FIND
  if (functions->OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) != 1)
    return "OPENSSL_init_ssl";
  return NULL;
}
