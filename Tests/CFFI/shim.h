/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// libffi as Swift can use it: its types are variables and macros, which Swift cannot take as they are.
#include <ffi.h>

static inline ffi_type *cffi_void(void) { return &ffi_type_void; }
static inline ffi_type *cffi_uint8(void) { return &ffi_type_uint8; }
static inline ffi_type *cffi_sint32(void) { return &ffi_type_sint32; }
static inline ffi_type *cffi_uint32(void) { return &ffi_type_uint32; }
static inline ffi_type *cffi_sint64(void) { return &ffi_type_sint64; }
static inline ffi_type *cffi_uint64(void) { return &ffi_type_uint64; }
static inline ffi_type *cffi_double(void) { return &ffi_type_double; }
static inline ffi_type *cffi_pointer(void) { return &ffi_type_pointer; }

static inline ffi_status cffi_prepare(ffi_cif *cif, unsigned int count, ffi_type *returns, ffi_type **arguments) {
  return ffi_prep_cif(cif, FFI_DEFAULT_ABI, count, returns, arguments);
}
static inline void cffi_call(ffi_cif *cif, void *function, void *result, void **arguments) {
  ffi_call(cif, FFI_FN(function), result, arguments);
}
