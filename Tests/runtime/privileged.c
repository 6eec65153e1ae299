/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Opens and closes an app, and says whether the program has more rights than its user.
 *
 *     privileged FOLDER   the runtime folder
 */
#include <sys/auxv.h>

#include "../require.h"

int main(int count, char **arguments) {
  REQUIRE(count == 2);
  segue_app *app = NULL;
  OK(segue_app_create("com.example.privileged", NUL, &app));
  OK(segue_app_set_runtime_folder(app, arguments[1], NUL));
  OK(segue_app_open(app));
  OK(segue_release(app));
  puts(getauxval(AT_SECURE) ? "secure" : "usual");
  return 0;
}
