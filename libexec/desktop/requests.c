/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "requests.h"

segue_value *activity_options(const uint8_t *id) {
  segue_writer *writer = NULL;
  segue_value *options = NULL;
  if (segue_writer_create(&writer) != SEGUE_OK)
    return NULL;
  segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
  segue_writer_put_string(writer, "activity", SEGUE_NUL_TERMINATED);
  segue_writer_put_uuid(writer, id);
  segue_writer_end(writer);
  segue_writer_finish(writer, &options);
  segue_release(writer);
  return options;
}
