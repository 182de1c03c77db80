/* Fuzz target: any bytes are a TFRecord file or give an error; so are any bytes as one record,
 * whose checksums would stop a fuzzer before the message in it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "tests/fuzz/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void put(uint8_t *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++) { at[i] = (uint8_t)(number >> 8 * i); }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_source(&tfrecord_type, bytes, size);
    uint8_t *record = malloc(size + 16);
    if (record == NULL) { abort(); }
    put(record, size, 8);
    put(record + 8, crc32c_masked(record, 8), 4);
    if (size > 0) { memcpy(record + 12, bytes, size); }
    put(record + 12 + size, crc32c_masked(bytes, size), 4);
    fuzz_source(&tfrecord_type, record, size + 16);
    free(record);
    return 0;
}
