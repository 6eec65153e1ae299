/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// The declarations of expat's header. No program of ours is linked with expat: `expat_load` fills a table of its
// functions. No logic.
#pragma once
#include <dlfcn.h>
#include <expat.h>

#define EXPAT_FUNCTIONS(DO)                                                                                            \
  DO(XML_ParserCreate)                                                                                                 \
  DO(XML_ParserFree)                                                                                                   \
  DO(XML_Parse)                                                                                                        \
  DO(XML_StopParser)                                                                                                   \
  DO(XML_GetCurrentLineNumber)                                                                                         \
  DO(XML_GetErrorCode)                                                                                                 \
  DO(XML_ErrorString)                                                                                                  \
  DO(XML_SetElementHandler)                                                                                            \
  DO(XML_SetCharacterDataHandler)                                                                                      \
  DO(XML_SetStartDoctypeDeclHandler)                                                                                   \
  DO(XML_SetEntityDeclHandler)                                                                                         \
  DO(XML_SetSkippedEntityHandler)                                                                                      \
  DO(XML_SetUserData)

/** The functions, by their names. All are there after `expat_load` has succeeded. */
struct expat {
#define FIELD(name) __typeof__(name) *_Nonnull name;
  EXPAT_FUNCTIONS(FIELD)
#undef FIELD
};

/** Loads libexpat.so.1, which is never unloaded. Returns NULL, or the name of what is missing: library or function. */
static inline const char *_Nullable expat_load(struct expat *_Nonnull functions) {
  void *library = dlopen("libexpat.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return "libexpat.so.1";
#define FIND(name)                                                                                                     \
  if (!(*(void **)&functions->name = dlsym(library, #name)))                                                           \
    return #name;
  EXPAT_FUNCTIONS(FIND)
#undef FIND
  return NULL;
}
