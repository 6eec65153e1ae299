/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Handles, memory and contexts that all threads share. Each handle in a pool is one count, which whoever takes it out
 * has to release; those that are looked at only may be released by another thread at any time, which is intended. */
#include "abuse.h"

enum { TYPES = 64, PLACES = 32, APPS = 8, STALE = 8, MEMORY = 64, CONTEXTS = 1 << 20 };

static atomic_ullong pools[TYPES][PLACES];
static atomic_ullong stale[TYPES][STALE];
static atomic_ullong memory[MEMORY];
enum { CONTEXT_UNUSED, CONTEXT_LIVE, CONTEXT_DESTROYED };
static atomic_uchar contexts[CONTEXTS];
static atomic_size_t context_count;

int handle_type(const char *name) {
  for (int type = 0; type < handle_count; type++)
    if (strcmp(handle_types[type], name) == 0)
      return type;
  fail("no such handle", name);
}

/** Few apps: each that is open has its own connection, and perhaps a thread. */
static int places(int type) { return strcmp(handle_types[type], "segue_app") == 0 ? APPS : PLACES; }

static atomic_ullong *place(int type) { return &pools[type][draw((uint32_t)places(type))]; }

uint64_t pool_look(int type) {
  for (int tries = 0; tries < 4; tries++) {
    uint64_t handle = *place(type);
    if (handle)
      return handle;
  }
  return 0;
}

uint64_t pool_take(int type) { return atomic_exchange(place(type), 0); }

uint64_t pool_stale(int type) { return stale[type][draw(STALE)]; }

void release_handle(int type, uint64_t handle) {
  segue_status status = segue_release((const void *)(uintptr_t)handle);
  if (status == SEGUE_ERROR_BUSY) /* another thread is in a call with it */
    pool_put(type, handle);
  else
    stale[type][draw(STALE)] = handle;
}

void pool_put(int type, uint64_t handle) {
  if (type >= TYPES)
    fail("more types than there is room for", handle_types[type]);
  handle = atomic_exchange(place(type), handle);
  if (handle)
    release_handle(type, handle);
}

bool pool_empty(void) {
  bool found = false;
  for (int type = 0; type < handle_count; type++)
    for (int i = 0; i < PLACES; i++) {
      uint64_t handle = atomic_exchange(&pools[type][i], 0);
      if (handle) {
        found = true;
        release_handle(type, handle);
      }
    }
  for (uint64_t left; (left = memory_take()) != 0; found = true)
    segue_free((void *)(uintptr_t)left);
  return found;
}

void memory_put(uint64_t given) {
  given = atomic_exchange(&memory[draw(MEMORY)], given);
  segue_free((void *)(uintptr_t)given);
}

uint64_t memory_take(void) {
  for (int i = 0; i < MEMORY; i++) {
    uint64_t given = atomic_exchange(&memory[i], 0);
    if (given)
      return given;
  }
  return 0;
}

size_t context_make(void) {
  size_t context = atomic_fetch_add(&context_count, 1) + 1;
  if (context >= CONTEXTS)
    fail("more contexts than there is room for", "");
  contexts[context] = CONTEXT_LIVE;
  return context;
}

bool context_is_destroyed(size_t context) { return contexts[context] == CONTEXT_DESTROYED; }

size_t contexts_left(void) {
  size_t left = 0;
  for (size_t context = 1; context <= context_count; context++)
    left += contexts[context] == CONTEXT_LIVE;
  return left;
}

void abuse_destroy(void *pointer) {
  size_t context = (size_t)(uintptr_t)pointer;
  if (context >= CONTEXTS)
    fail("destroy: not a context", "");
  if (context && atomic_exchange(&contexts[context], CONTEXT_DESTROYED) != CONTEXT_LIVE)
    fail("destroy: for the second time", "");
}
