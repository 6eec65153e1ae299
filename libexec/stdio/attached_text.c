/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "attached_text.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "public_types.h"

uint64_t attached_text_size(segue_activity *activity) {
  char *type = NULL;
  int64_t bytes = 0;
  segue_value *attachments = NULL;
  segue_activity_get_type(activity, &type, NULL);
  if (type && strcmp(type, "SegueActivityTypeEditingText") == 0 &&
      segue_activity_get_attachments(activity, &attachments) == SEGUE_OK)
    segue_dictionary_get_int64(attachments, TEXT_KEY, SEGUE_NUL_TERMINATED, &bytes);
  segue_release(attachments);
  segue_free(type);
  return bytes > 0 ? (uint64_t)bytes : 0;
}

bool attached_text_fetch(struct attached_text *text, segue_activity *activity, segue_fetched_function done,
                         void *context, segue_destroy destroy, struct problem *problem) {
  text->file = memfd_create("segue-text", MFD_CLOEXEC);
  if (text->file < 0) {
    destroy(context);
    return problem_status(problem, SEGUE_ERROR_SYSTEM, "", "there is no memory for an attachment");
  }
  if (segue_activity_fetch_attachment_to_fd(activity, TEXT_KEY, SEGUE_NUL_TERMINATED, text->file, NULL, done, context,
                                            destroy, &text->transfer) == SEGUE_OK)
    return true;
  problem_library(problem, "");
  close(text->file);
  return false;
}

segue_value *attached_text_read(const struct attached_text *text) {
  struct stat status;
  segue_writer *writer = NULL;
  segue_value *read = NULL;
  if (fstat(text->file, &status) != 0 || status.st_size <= 0)
    return NULL;
  void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, text->file, 0);
  if (bytes == MAP_FAILED)
    return NULL;
  if (segue_writer_create(&writer) == SEGUE_OK) {
    segue_writer_put_string(writer, bytes, (size_t)status.st_size);
    segue_writer_finish(writer, &read);
  }
  segue_release(writer);
  munmap(bytes, (size_t)status.st_size);
  return read;
}

void attached_text_end(struct attached_text *text) {
  segue_release(text->transfer);
  close(text->file);
  text->transfer = NULL;
}

void attached_text_stop(struct attached_text *text) {
  if (!text->transfer)
    return;
  segue_transfer_cancel(text->transfer);
  attached_text_end(text);
}
