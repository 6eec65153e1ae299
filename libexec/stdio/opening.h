/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The request `open`: it describes the app, and opens it. */
#ifndef OPENING_H
#define OPENING_H

#include "session.h"

/** Opens the app. Without success everything is as before. */
bool opening_open(struct session *session, const segue_value *parameters, struct problem *problem);
/** Answers `open`. id  borrowed */
void opening_answer(struct session *session, const segue_value *id);

#endif
