/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_load(struct text *text, const char *path) {
  *text = (struct text){NULL, 0};
  FILE *file = fopen(path, "r");
  if (file == NULL)
    return false;
  char *line = NULL;
  size_t capacity = 0;
  ssize_t length;
  bool good = true;
  while (good && (length = getline(&line, &capacity, file)) >= 0) {
    if (strlen(line) != (size_t)length) {
      errno = EILSEQ;
      good = false;
      break;
    }
    line[strcspn(line, "\n")] = '\0';
    good = text_insert(text, text->count, line);
  }
  good = good && !ferror(file);
  int reason = errno;
  free(line);
  fclose(file);
  if (!good)
    text_free(text);
  errno = reason;
  return good;
}

bool text_save(const struct text *text, const char *path) {
  char beside[PATH_MAX];
  if (snprintf(beside, sizeof beside, "%s~new", path) >= (int)sizeof beside) {
    errno = ENAMETOOLONG;
    return false;
  }
  FILE *file = fopen(beside, "w");
  if (file == NULL)
    return false;
  bool good = true;
  for (size_t i = 0; i < text->count; i++)
    good = good && fprintf(file, "%s\n", text->lines[i]) >= 0;
  good = fclose(file) == 0 && good;
  good = good && rename(beside, path) == 0;
  if (!good) {
    int reason = errno;
    remove(beside);
    errno = reason;
  }
  return good;
}

void text_free(struct text *text) {
  while (text->count > 0)
    text_delete(text, text->count - 1);
  free(text->lines);
  text->lines = NULL;
}

bool text_insert(struct text *text, size_t index, const char *line) {
  char *copy = strdup(line);
  char **lines = realloc(text->lines, (text->count + 1) * sizeof *lines);
  if (lines != NULL)
    text->lines = lines;
  if (copy == NULL || lines == NULL) {
    free(copy);
    return false;
  }
  memmove(lines + index + 1, lines + index, (text->count - index) * sizeof *lines);
  lines[index] = copy;
  text->count++;
  return true;
}

bool text_replace(struct text *text, size_t index, const char *line) {
  char *copy = strdup(line);
  if (copy == NULL)
    return false;
  free(text->lines[index]);
  text->lines[index] = copy;
  return true;
}

void text_delete(struct text *text, size_t index) {
  free(text->lines[index]);
  text->count--;
  memmove(text->lines + index, text->lines + index + 1, (text->count - index) * sizeof *text->lines);
}

static const char scheme[] = "file://";

char *text_url_from_path(const char *path) {
  char *absolute = realpath(path, NULL);
  char *url = absolute == NULL ? NULL : malloc(sizeof scheme + 3 * strlen(absolute));
  if (url != NULL) {
    char *end = url + sprintf(url, "%s", scheme);
    for (const char *c = absolute; *c != '\0'; c++) {
      bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                   strchr("/-._~", *c) != NULL;
      end += sprintf(end, plain ? "%c" : "%%%02X", (unsigned char)*c);
    }
  }
  free(absolute);
  return url;
}

char *text_path_from_url(const char *url) {
  size_t skip = sizeof scheme - 1;
  if (strncmp(url, scheme, skip) != 0 || url[skip] != '/')
    return NULL;
  char *path = malloc(strlen(url + skip) + 1);
  char *end = path;
  for (const char *c = url + skip; path != NULL && *c != '\0'; c++) {
    unsigned byte = (unsigned char)*c;
    if (*c == '%') {
      char digits[3] = {c[1], c[1] == '\0' ? '\0' : c[2], '\0'};
      if (strspn(digits, "0123456789ABCDEFabcdef") != 2 || (byte = (unsigned)strtoul(digits, NULL, 16)) == 0) {
        free(path);
        return NULL;
      }
      c += 2;
    }
    *end++ = (char)byte;
  }
  if (path != NULL)
    *end = '\0';
  return path;
}
