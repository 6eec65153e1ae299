/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures the time to load a library with everything that it needs. Linked to libc only; bench/run starts a new
 * process for every sample. */
#include "bench.h"
#include <dlfcn.h>

/* load LIBRARY: prints microseconds */
int main(int count, char **arguments) {
  if (count != 2)
    bench_fail("usage", "load LIBRARY");
  double start = bench_now_us();
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  double end = bench_now_us();
  if (library == NULL)
    bench_fail("dlopen", dlerror());
  uint32_t (*version)(void);
  *(void **)&version = dlsym(library, "segue_version");
  if (version == NULL || version() != SEGUE_VERSION)
    bench_fail("segue_version", "not the library of this header");
  bench_print("load_us", end - start);
  return 0;
}
