/* Fuzz target: any bytes are the header of a safetensors file, or are refused. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The first byte is the size of the values; each tensor that is found lies inside them. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct safetensors file = {.fd = -1};
    const char *name;
    json_t *entry;
    if (size == 0) { return 0; }
    const uint64_t values = bytes[0];
    if (safetensors_parse((const char *)bytes + 1, size - 1, values, &file.header, NULL) != TN_OK) {
        return 0;
    }
    json_object_foreach(file.header, name, entry)
    {
        struct safetensors_tensor tensor;
        if (!safetensors_find(&file, name, &tensor)) { continue; }
        if (tensor.offset > values || tensor.bytes > values - tensor.offset) { abort(); }
    }
    safetensors_close(&file);
    return 0;
}
