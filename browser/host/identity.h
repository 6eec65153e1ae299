/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The names under which browsers, the extension and this host know each other. browser/package and browser/README.md
 * take them from here. */
#ifndef IDENTITY_H
#define IDENTITY_H

#include "app_id.h"

/** The name of the host in native messaging: lower case, digits, "_" and "." only (Chromium refuses others). */
#define HOST_NAME "local.segue.segue.browser"

/** The extension in Firefox (browser_specific_settings.gecko.id). */
#define FIREFOX_ID "{6f0a7d3c-52b4-4c8e-9a1f-3d0b6f2c7e58}"

/** The extension in Chromium: fixed by the public key in the manifest of the packages. */
#define CHROMIUM_ID "maklkhmbdnkfeccakmnnmlkhgkelbapg"

/** The extension from Chromium's store; empty until it is published there. */
#define CHROMIUM_STORE_ID ""

/** The type of a page that a browser shows, as Apple names it. */
#define BROWSING_TYPE "NSUserActivityTypeBrowsingWeb"

/** The team that all browsers have, so that each continues the pages of the others. */
#define BROWSER_TEAM APP_ID ".browsers"

#endif
