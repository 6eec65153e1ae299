// The functions that accounts and certificates need, beside those of functions.h.
#pragma once

#define OPENSSL_TRUST_FUNCTIONS(F)
