// A plugin of NCCL for networks that also tunes it, made up: what NCCL looks at. With -D: BROKEN
// needs a function that no library has, EMPTY finds no device, SLOW never returns from its load.
#include <stddef.h>
#include <unistd.h>

#ifdef BROKEN
int fi_getinfo_of_another_release(void);
#endif

static int start(void* log) {
    (void)log;
#ifdef BROKEN
    return fi_getinfo_of_another_release();
#else
    return 0;
#endif
}

static int count_devices(int* count) {
#ifdef EMPTY
    *count = 0;
#else
    *count = 4;
#endif
    return 0;
}

struct {
    const char* name;
    int (*init)(void* log);
    int (*devices)(int* count);
} ncclNetPlugin_v8 = {"AWS Libfabric", start, count_devices};

struct {
    const char* name;
} ncclTunerPlugin_v3 = {"made up"};

#ifdef SLOW
__attribute__((constructor)) static void hang(void) {
    sleep(1000);
}
#endif
