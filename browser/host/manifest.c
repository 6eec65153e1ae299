/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "manifest.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "identity.h"

#define ORIGIN(id) "chrome-extension://" id "/"

/** Prints a text as JSON. A path has no bytes that need more than this. */
static void print_text(const char *text) {
  putchar('"');
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\')
      putchar('\\');
    putchar(*text);
  }
  putchar('"');
}

bool manifest_print(const char *browser) {
  char path[PATH_MAX];
  bool is_firefox = strcmp(browser, "firefox") == 0;
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if ((!is_firefox && strcmp(browser, "chromium") != 0) || length <= 0)
    return false;
  path[length] = '\0';
  for (const char *byte = path; *byte != '\0'; byte++)
    if ((unsigned char)*byte < 0x20)
      return false;
  printf("{\n  \"name\": \"%s\",\n  \"description\": \"Segue: pages continue in other browsers and apps\",\n",
         HOST_NAME);
  printf("  \"path\": ");
  print_text(path);
  printf(",\n  \"type\": \"stdio\",\n");
  if (is_firefox) {
    printf("  \"allowed_extensions\": [\"%s\"]\n}\n", FIREFOX_ID);
  } else {
    printf("  \"allowed_origins\": [\"%s\"", ORIGIN(CHROMIUM_ID));
    if (CHROMIUM_STORE_ID[0] != '\0')
      printf(", \"%s\"", ORIGIN(CHROMIUM_STORE_ID));
    printf("]\n}\n");
  }
  return fflush(stdout) == 0;
}

bool manifest_allows(int count, char *const *arguments, bool *is_firefox) {
  /* Firefox: the path of the manifest, then the add-on. */
  *is_firefox = count >= 3 && strcmp(arguments[2], FIREFOX_ID) == 0;
  if (*is_firefox || count < 2)
    return *is_firefox;
  /* Chromium: the origin of the extension, then, on some systems, a window. */
  return strcmp(arguments[1], ORIGIN(CHROMIUM_ID)) == 0 ||
         (CHROMIUM_STORE_ID[0] != '\0' && strcmp(arguments[1], ORIGIN(CHROMIUM_STORE_ID)) == 0);
}
