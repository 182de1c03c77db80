/* Fuzz target: any text is a manifest that encodes to itself, or an error in words; any struct is
 * one that decodes to itself, or an error in words. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cluster/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct manifest first;
static struct manifest second;

/* What is encoded is decoded, and encodes to the same text again: nothing was lost. */
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

/* Texts end at their first zero in what is encoded; so must ours, to compare. */
static void tidy_text(char *text, size_t size)
{
    size_t length = strnlen(text, size - 1);
    memset(text + length, 0, size - length);
}

/* The input as the memory of a manifest, cut to a few shards that follow each other. */
static void try_struct(const uint8_t *bytes, size_t size)
{
    struct error error = {.text = ""};
    char *text;
    size_t length;
    memset(&first, 0, sizeof first);
    memcpy(&first, bytes, size < sizeof first ? size : sizeof first);
    first.shard_count %= 4;
    memset(first.shards + first.shard_count, 0,
           (MANIFEST_SHARDS_MAX - first.shard_count) * sizeof first.shards[0]);
    tidy_text(first.optimizer, sizeof first.optimizer);
    tidy_text(first.kernels, sizeof first.kernels);
    memcpy(first.mode, "async\0\0", sizeof first.mode);
    first.parameter_count = 0;
    for (uint32_t i = 0; i < first.shard_count; i++) {
        tidy_text(first.shards[i].place, sizeof first.shards[i].place);
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
