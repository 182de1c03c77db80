/*
 * The main() of a fuzz target in builds without libFuzzer: feeds every file of the folders named on
 * the command line to the target, and then 20,000 inputs of a fixed seed. A folder without files is
 * an error: a corpus that was moved must not pass unnoticed.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/random.h"

enum { INPUT_MAX = 1 << 16, RANDOM_INPUTS = 20000, RANDOM_MAX = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Feeds a copy of exactly `size` bytes, so that ASan finds a read of one too many. */
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) { abort(); }
    for (size_t i = 0; i < size; i++) { copy[i] = data[i]; }
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static bool feed_file(const char *folder, const char *name)
{
    static uint8_t data[INPUT_MAX];
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) { return false; }
    FILE *file = fopen(path, "rb");
    if (file == NULL) { return false; }
    feed(data, fread(data, 1, sizeof data, file));
    fclose(file);
    return true;
}

/* The number of files that were fed; 0 also when the folder cannot be read. */
static unsigned feed_folder(const char *path)
{
    unsigned files = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) { return 0; }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] != '.' && feed_file(path, entry->d_name)) { files++; }
    }
    closedir(folder);
    return files;
}

int main(int argc, char **argv)
{
    unsigned files = 0;
    for (int i = 1; i < argc; i++) {
        unsigned fed = feed_folder(argv[i]);
        if (fed == 0) {
            fprintf(stderr, "no corpus in %s\n", argv[i]);
            return 1;
        }
        files += fed;
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
