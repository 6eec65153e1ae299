// An entry of .init_array that stands in a Swift module is emitted again in each module that imports that one.
#include "loaded.h"

__attribute__((constructor)) static void loaded(void) {
  if (fleet_library_loaded)
    fleet_library_loaded();
  library_loaded();
}
