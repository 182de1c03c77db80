/* kernels/cuda/emulated_memory.c: how much memory a process has allocated at most, for tests of
 * plans. Calls exclude each other, as those of the driver. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/emulated_private.h"

enum { PLACES = EMULATED_HOST + 1 };

static int64_t used[PLACES], most[PLACES];

void emulated_note_memory(int device, int64_t bytes)
{
    used[device] += bytes;
    if (used[device] > most[device]) { most[device] = used[device]; }
}

__attribute__((destructor)) static void write_peaks(void)
{
    const char *path = getenv("TANIST_EMULATED_GPU_PEAKS");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (file == NULL) { return; }
    char line[PLACES * 24] = "";
    size_t length = 0;
    for (int i = 0; i < PLACES; i++) {
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%" PRId64,
                                   i == 0 ? "" : " ", most[i]);
    }
    (void)fprintf(file, "%s\n", line);
    (void)fclose(file);
}
