/* Fuzz target: any bytes are a .npy file, a .npz file, both or neither; what opens can be read. */
#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_source(&npy_type, bytes, size);
    fuzz_source(&npz_type, bytes, size);
    return 0;
}
