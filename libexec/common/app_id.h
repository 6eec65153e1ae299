/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The identifier of the project's programs, in reverse DNS: app id, D-Bus name, desktop id, icon, AppStream id. */
#ifndef APP_ID_H
#define APP_ID_H

/** Its domain is a placeholder. The build and the command take it from here. */
#define APP_ID "local.segue.Segue"

#endif
