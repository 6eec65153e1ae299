/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "folders.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool folder_find(const char *variable, const char *usual, const char *name, char *path) {
  const char *base = getenv(variable), *home = getenv("HOME");
  int length = base && base[0] == '/'   ? snprintf(path, PATH_MAX, "%s/%s", base, name)
               : home && home[0] == '/' ? snprintf(path, PATH_MAX, "%s/%s/%s", home, usual, name)
                                        : -1;
  return length > 0 && length < PATH_MAX;
}

bool folder_make(char *path) {
  for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}
