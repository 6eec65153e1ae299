/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Replaces two functions of Swift's embedded standard library on aarch64, whose own are weak symbols.
 *
 * A reference that a String or an Array holds has bits of its owner in the upper byte. The compiler declares that these
 * functions return their argument, and on aarch64 it goes on with the result. Those of Swift 6.3 return the reference
 * without these bits: a short string that was copied becomes a pointer to nothing. packaging/cross links this file. */
#include <stdint.h>

/* The owner's bits, and the bit of what is not counted: constants, and strings without a buffer. */
static const uintptr_t OWNED = 0xf000000000000007, UNCOUNTED = 0x8000000000000000;

void *swift_retain(void *object);
void *swift_retain_n(void *object, uint32_t count);
void *swift_bridgeObjectRetain(void *reference);
void *swift_bridgeObjectRetain_n(void *reference, uint32_t count);

/** Counts one more owner of the object of `reference`, if it is counted. Returns `reference`. For all threads. */
void *swift_bridgeObjectRetain(void *reference) {
  if (!((uintptr_t)reference & UNCOUNTED))
    swift_retain((void *)((uintptr_t)reference & ~OWNED));
  return reference;
}

/** Counts `count` more owners. */
void *swift_bridgeObjectRetain_n(void *reference, uint32_t count) {
  if (!((uintptr_t)reference & UNCOUNTED))
    swift_retain_n((void *)((uintptr_t)reference & ~OWNED), count);
  return reference;
}
