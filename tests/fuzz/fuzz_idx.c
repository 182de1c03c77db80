/* Fuzz target: any bytes are an IDX array or give an error; memory is bounded by the input. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "data/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct idx idx;
    struct error error = {0};
    if (idx_parse(bytes, size, &idx, &error) == TN_OK) {
        size_t product = 1, sum = 0;
        for (uint32_t i = 0; i < idx.rank; i++) { product *= idx.dimensions[i]; }
        assert(product == idx.size);
        for (size_t i = 0; i < idx.size; i++) { sum += idx.data[i]; } /* All can be read. */
        assert(sum <= 255 * idx.size);
    } else {
        assert(idx.data == NULL);
        assert(error.text[0] != '\0');
    }
    idx_free(&idx);
    return 0;
}
