/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// An entry of .init_array that stands in a Swift module is emitted again in each module that imports that one.
#include "loaded.h"

// The library for tests replaces this one.
__attribute__((weak)) void fleet_library_loaded(void) {}

__attribute__((constructor)) static void loaded(void) {
  fleet_library_loaded();
  library_loaded();
}
