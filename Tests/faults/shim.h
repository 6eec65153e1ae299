/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The functions of the preloaded shim for the program under test; without the shim these are NULL. */
#ifndef SHIM_H
#define SHIM_H

#include <stdbool.h>

/** The n-th call from now on fails (0: none does); the variant says how, where there are several ways. */
__attribute__((weak)) void fault_arm(long n, int variant);
/** Calls since then. */
__attribute__((weak)) long fault_calls(void);
__attribute__((weak)) bool fault_fired(void);
/** The name of the function whose call has failed. */
__attribute__((weak)) const char *fault_where(void);

#endif
