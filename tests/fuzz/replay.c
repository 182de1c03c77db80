/*
 * Stands in for libFuzzer's main() in builds without it: feeds every file of the folders named on
 * the command line to the target, and then 20,000 inputs of a fixed seed. Absent folders are fine.
 */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/random.h"

enum { INPUT_MAX = 1 << 16, RANDOM_INPUTS = 20000, RANDOM_MAX = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy of exactly `size` bytes, so that reading one too many is seen by ASan. */
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) { abort(); }
    for (size_t i = 0; i < size; i++) { copy[i] = data[i]; }
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void feed_file(const char *folder, const char *name)
{
    static uint8_t data[INPUT_MAX];
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) { return; }
    FILE *file = fopen(path, "rb");
    if (file == NULL) { return; }
    feed(data, fread(data, 1, sizeof data, file));
    fclose(file);
}

int main(int argc, char **argv)
{
    unsigned files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (folder == NULL) { continue; }
        for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
            if (entry->d_name[0] == '.') { continue; }
            feed_file(argv[i], entry->d_name);
            files++;
        }
        closedir(folder);
    }
    struct random random = {.state = 1};
    uint8_t data[RANDOM_MAX];
    for (unsigned i = 0; i < RANDOM_INPUTS; i++) {
        size_t size = (size_t)random_below(&random, RANDOM_MAX + 1);
        for (size_t at = 0; at < size; at++) { data[at] = (uint8_t)random_next(&random); }
        feed(data, size);
    }
    printf("%u files and %d random inputs\n", files, RANDOM_INPUTS);
    return 0;
}
