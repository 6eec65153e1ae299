/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A preloaded library: callbacks for which a program waits run together with those of the next 200 ms. */
#include <dlfcn.h>
#include <segue.h>
#include <unistd.h>

segue_status segue_app_dispatch(segue_app *app, int32_t wait_ms, size_t *delivered) {
  segue_status (*next)(segue_app *, int32_t, size_t *) =
      (segue_status(*)(segue_app *, int32_t, size_t *))dlsym(RTLD_NEXT, "segue_app_dispatch");
  segue_status status = next(app, wait_ms, delivered);
  if (wait_ms <= 0 || status != SEGUE_OK)
    return status;
  usleep(200000);
  return next(app, 0, delivered);
}
