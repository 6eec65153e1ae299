/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Called once, by the dynamic linker: the library is loaded, and no thread of the process uses it yet. */
void library_loaded(void);
/** Called once, before that. Only the library for tests has one that does something. */
__attribute__((visibility("hidden"))) void fleet_library_loaded(void);
