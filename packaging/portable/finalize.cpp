// What GCC's crtbeginS.o does, which zig does not link: runs the plugin's static destructors when
// Slurm closes it. At the end of the process, when glibc would run them, its code is gone.
extern "C" {
extern void* __dso_handle __attribute__((visibility("hidden")));
void __cxa_finalize(void* library);

__attribute__((destructor)) static void finalize() {
    __cxa_finalize(&__dso_handle);
}
}
