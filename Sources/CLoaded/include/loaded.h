/** Called once, by the dynamic linker: the library is loaded, and no thread of the process uses it yet. */
void library_loaded(void);
