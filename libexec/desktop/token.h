/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The token by which a launched program may come to the front: XDG_ACTIVATION_TOKEN, DESKTOP_STARTUP_ID. */
#ifndef TOKEN_H
#define TOKEN_H

/** Bytes of a token, NUL included; a longer one is not passed on. */
#define TOKEN_SIZE 256

/** Puts both variables into the environment, empty. Call it before there is another thread. */
void token_prepare(void);
/**
 * Writes the token in place, so that no other thread sees the environment change. Of all threads one alone may call
 * this, and make the calls that read it: the library does so inside segue_app_launch and segue_app_ask_agent.
 *   token  empty: none, which the library passes on as an absent one
 */
void token_set(const char *token);

#endif
