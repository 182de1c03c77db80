/* Fuzz target: any bytes are a .npy file, a .npz file, both or neither; what opens can be read. */
#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_source(&source_npy, bytes, size);
    fuzz_source(&source_npz, bytes, size);
    return 0;
}
