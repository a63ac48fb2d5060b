/* Preloaded into srun: puts the variables of $FORGED, parted by 037, into the step's environment,
 * over what srun itself sets there. Any user can build an srun that does this. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef void (*fill_t)(char***, const void*, const void*, const void*);
typedef int (*overwrite_t)(char***, const char*, const char*);

/* libslurmfull's; a pointer more than it takes does no harm. */
void env_array_for_step(char*** env, const void* step, const void* launch, const void* rest) {
    fill_t fill = (fill_t)dlsym(RTLD_NEXT, "env_array_for_step");
    overwrite_t overwrite = (overwrite_t)dlsym(RTLD_DEFAULT, "env_array_overwrite");
    char* pairs = strdup(getenv("FORGED"));

    fill(env, step, launch, rest);
    for (char* pair = strtok(pairs, "\37"); pair; pair = strtok(NULL, "\37")) {
        char* value = strchr(pair, '=');
        *value = '\0';
        overwrite(env, pair, value + 1);
    }
    free(pairs);
}
