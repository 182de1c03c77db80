/* Fuzz target: any bytes are a tar shard or give an error. Headers get the right checksums, which
 * would stop a fuzzer before the rest of them. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { BLOCK = 512, CHECKSUM = 148 };

static void seal(uint8_t *header)
{
    unsigned sum = 0;
    memset(header + CHECKSUM, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++) { sum += header[i]; }
    if (sum == 8 * ' ') {
        memset(header + CHECKSUM, 0, 8); /* The end of an archive. */
        return;
    }
    char text[16];
    snprintf(text, sizeof text, "%06o", sum);
    memcpy(header + CHECKSUM, text, 7);
    header[CHECKSUM + 7] = ' ';
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_source(&tar_type, bytes, size);
    if (size == 0) { return 0; }
    uint8_t *sealed = malloc(size);
    if (sealed == NULL) { abort(); }
    memcpy(sealed, bytes, size);
    for (size_t at = 0; at + BLOCK <= size; at += BLOCK) { seal(sealed + at); }
    fuzz_source(&tar_type, sealed, size);
    free(sealed);
    return 0;
}
