/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <string.h>

#include "interfaces.h"
#include "query.h"

static void continue_first(struct query *query, struct result *const *results, size_t count) {
  struct search *search = query->search;
  if (count > 0)
    search_activate(search, results[0], query->token);
  else if (search_may_show(search))
    launches_tell(&search->launches, "Nothing to continue", "Nothing was found that can be continued here.");
  sd_bus_reply_method_return(query->call, "");
}

/** Reads the token of the click from what the desktop tells. */
static int read_token(sd_bus_message *call, const char **token) {
  int result = sd_bus_message_enter_container(call, 'a', "{sv}");
  while (result >= 0 && (result = sd_bus_message_enter_container(call, 'e', "sv")) > 0) {
    const char *name;
    result = sd_bus_message_read(call, "s", &name);
    if (result >= 0 && (strcmp(name, "activation-token") == 0 || strcmp(name, "desktop-startup-id") == 0))
      result = sd_bus_message_read(call, "v", "s", token);
    else if (result >= 0)
      result = sd_bus_message_skip(call, "v");
    if (result >= 0)
      result = sd_bus_message_exit_container(call);
  }
  return result;
}

static int activate(sd_bus_message *call, void *context, sd_bus_error *error) {
  const char *token = "";
  (void)error;
  int result = read_token(call, &token);
  return result < 0 ? result
                    : query_begin(context, call, NULL, strlen(token) < TOKEN_SIZE ? token : "", continue_first);
}

static int ignore(sd_bus_message *call, void *context, sd_bus_error *error) {
  (void)context, (void)error;
  return sd_bus_reply_method_return(call, "");
}

static const sd_bus_vtable interface[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Activate", "a{sv}", "", activate, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("Open", "asa{sv}", "", ignore, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("ActivateAction", "sava{sv}", "", ignore, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

int application_export(struct search *search, sd_bus *bus) {
  return sd_bus_add_object_vtable(bus, NULL, search->path, "org.freedesktop.Application", interface, search);
}
