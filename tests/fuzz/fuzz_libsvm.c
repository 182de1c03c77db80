/* Fuzz target: any bytes are a file in libsvm's format or give an error. */
#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_source(&libsvm_type, bytes, size);
    return 0;
}
