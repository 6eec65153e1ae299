/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "browsers.h"

#include <stddef.h>
#include <string.h>

/** The identifiers are those of AppStream. */
static const struct browser browsers[] = {
    {"firefox", "org.mozilla.firefox", "Firefox", true},
    {"librewolf", "io.gitlab.librewolf-community", "LibreWolf", true},
    {"chromium", "org.chromium.Chromium", "Chromium", false},
    {"chrome", "com.google.Chrome", "Google Chrome", false},
    {"brave", "com.brave.Browser", "Brave", false},
    {"edge", "com.microsoft.Edge", "Microsoft Edge", false},
    {"vivaldi", "com.vivaldi.Vivaldi", "Vivaldi", false},
};

const struct browser *browser_named(const char *word) {
  for (size_t index = 0; index < sizeof browsers / sizeof *browsers; index++)
    if (strcmp(browsers[index].word, word) == 0)
      return &browsers[index];
  return NULL;
}
