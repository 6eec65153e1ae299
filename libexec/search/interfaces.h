/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The interfaces by which desktops search. */
#ifndef INTERFACES_H
#define INTERFACES_H

#include "search.h"

/** org.gnome.Shell.SearchProvider2: GNOME's overview. */
int gnome_export(struct search *search, sd_bus *bus);
/** org.kde.krunner1: KRunner, and the menus of Plasma. */
int krunner_export(struct search *search, sd_bus *bus);
/** org.freedesktop.Application: the entry in the menu of apps, which continues the frontmost offer. */
int application_export(struct search *search, sd_bus *bus);

#endif
