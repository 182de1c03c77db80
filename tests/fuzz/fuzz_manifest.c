/* Fuzz target: any text and any struct is a manifest that survives encoding and decoding, or gives
 * an error. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/cluster/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct manifest first;
static struct manifest second;

/* `text` decodes, and encodes to the same text again. */
static void check_round_trip(const struct manifest *manifest, const char *text, size_t length)
{
    struct error error = {.text = ""};
    char *again;
    size_t size;
    enum tn_status status = manifest_decode(text, length, &second, &error);
    assert(status == TN_OK);
    status = manifest_encode(&second, &again, &size, &error);
    assert(status == TN_OK && size == length && memcmp(again, text, size) == 0);
    assert(second.seed == manifest->seed && second.variables_hash == manifest->variables_hash);
    free(again);
}

static void try_text(const uint8_t *bytes, size_t size)
{
    struct error error = {.text = ""};
    char *text;
    size_t length;
    if (manifest_decode((const char *)bytes, size, &first, &error) != TN_OK) {
        assert(error.text[0] != '\0');
        return;
    }
    enum tn_status status = manifest_encode(&first, &text, &length, &error);
    assert(status == TN_OK);
    check_round_trip(&first, text, length);
    free(text);
}

/* Encoded texts end at the first zero: the bytes after it are cleared, for the comparison. */
static void clear_after_end(char *text, size_t size)
{
    size_t length = strnlen(text, size - 1);
    memset(text + length, 0, size - length);
}

/* The input as the memory of a manifest, reduced to a few contiguous shards. */
static void try_struct(const uint8_t *bytes, size_t size)
{
    struct error error = {.text = ""};
    char *text;
    size_t length;
    memset(&first, 0, sizeof first);
    memcpy(&first, bytes, size_min(size, sizeof first));
    first.shard_count %= 4;
    memset(first.shards + first.shard_count, 0,
           (MANIFEST_SHARDS_MAX - first.shard_count) * sizeof first.shards[0]);
    clear_after_end(first.optimizer, sizeof first.optimizer);
    clear_after_end(first.kernels, sizeof first.kernels);
    memcpy(first.mode, "async\0\0", sizeof first.mode);
    first.parameter_count = 0;
    for (uint32_t i = 0; i < first.shard_count; i++) {
        clear_after_end(first.shards[i].place, sizeof first.shards[i].place);
        first.shards[i].first = first.parameter_count;
        first.shards[i].count >>= 4;
        first.parameter_count += first.shards[i].count;
    }
    if (manifest_encode(&first, &text, &length, &error) != TN_OK) {
        assert(error.text[0] != '\0' && text == NULL);
        return;
    }
    check_round_trip(&first, text, length);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    try_text(bytes, size);
    try_struct(bytes, size);
    return 0;
}
