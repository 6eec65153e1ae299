/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The user's folders, as the XDG Base Directory Specification has them. */
#ifndef FOLDERS_H
#define FOLDERS_H

#include <stdbool.h>

/**
 * Makes the path of a folder or file.
 *   variable  such as "XDG_CONFIG_HOME"
 *   usual     below the home folder, if the variable is not set
 *   name      below both
 *   path      out: PATH_MAX bytes
 * Returns false if there is none, or it is too long.
 */
bool folder_find(const char *variable, const char *usual, const char *name, char *path);
/** Makes a folder, and those above it that are not there, for the user alone. path  is as before afterwards */
bool folder_make(char *path);

#endif
