/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Functions of the public interface that an older libsegue.so.0 does not have: their address is NULL there. */
#ifndef NEWER_H
#define NEWER_H

#include <segue.h>
#include <stdbool.h>
#include <stddef.h>

#pragma weak segue_activity_set_public
segue_status segue_activity_set_public(segue_activity *activity, bool is_public);
#pragma weak segue_app_set_label
segue_status segue_app_set_label(segue_app *app, const char *label, size_t length);

#endif
