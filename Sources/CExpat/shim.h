// What expat's header offers. No logic.
#include <expat.h>
