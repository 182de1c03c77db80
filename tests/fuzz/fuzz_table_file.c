/*
 * Fuzz target: any bytes are a file with rows of a table, or are refused; as they are, and with
 * digests that fit, so that the fields behind them are read, too. Rows that are accepted are those
 * of the table afterwards.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ps/table/table_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { HEADER_DIGEST = 112, HEADER_BYTES = HEADER_DIGEST + DIGEST_BYTES };

/* Rows of the second one expire; the third one has counts of keys (A18). */
static const struct row_table_spec specs[] = {
    {.name = "t", .width = 2, .seed = 1},
    {.name = "t", .width = 2, .seed = 1, .expire_after = UINT32_MAX},
    {.name = "t", .width = 1, .seed = 1, .expire_after = UINT32_MAX, .counts = true},
};

static void put_digest(uint8_t *bytes, size_t from, size_t to)
{
    digest_encode(digest_of(bytes + from, to - from), bytes + to);
}

/* The digests of the header and of one chunk. */
static void repair(uint8_t *bytes, size_t size)
{
    if (size < HEADER_BYTES) { return; }
    put_digest(bytes, 0, HEADER_DIGEST);
    if (size >= HEADER_BYTES + DIGEST_BYTES) {
        put_digest(bytes, HEADER_BYTES, size - DIGEST_BYTES);
    }
}

static void decode(const struct row_table_spec *spec, const uint8_t *bytes, size_t size)
{
    struct row_table *table;
    struct table_file_info info = {0}, again;
    assert(table_file_extent(bytes, size) <= size);
    if (row_table_open(spec, &table, NULL) != TN_OK) { return; }
    const enum tn_status checked = table_file_check(bytes, size, "x", table, &info, NULL);
    const enum tn_status loaded = table_file_decode(bytes, size, "x", table, &again, NULL);
    assert(checked == loaded);
    if (loaded == TN_OK) {
        assert(row_table_stats(table).rows == info.rows);
        assert(info.counts == spec->counts);
    }
    row_table_close(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = calloc(1, size + 1); /* Aligned. */
    if (copy == NULL) { return 0; }
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        if (size > 0) { memcpy(copy, bytes, size); }
        decode(&specs[s], copy, size);
        repair(copy, size);
        decode(&specs[s], copy, size);
    }
    free(copy);
    return 0;
}
