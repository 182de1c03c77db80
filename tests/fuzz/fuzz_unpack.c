/* Fuzz target: any bytes that begin as a compressed file are unpacked or give an error. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "data/source/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { UNPACKED_MAX = 1 << 24 };

static enum tn_status put(void *ctx, const uint8_t *bytes, size_t size, struct error *error)
{
    size_t *sum = ctx;
    assert(size >= 1);
    *sum += size + (bytes[0] & 0U) + (bytes[size - 1] & 0U);
    return *sum > UNPACKED_MAX ? error_set(error, TN_ENOSPC, "enough") : TN_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    size_t sum = 0;
    struct error error = {.text = ""};
    const struct unpack_sink sink = {.put = put, .ctx = &sum};
    if (!unpack_is_packed(bytes, size)) { return 0; }
    if (unpack_bytes(bytes, size, &sink, &error) != TN_OK) { assert(error.text[0] != '\0'); }
    return 0;
}
