/** Called once, by the dynamic linker: the library is loaded, and no thread of the process uses it yet. */
void library_loaded(void);
/** In the library for tests: called before that. libsegue.so.0 has no such function. */
__attribute__((weak, visibility("hidden"))) void fleet_library_loaded(void);
