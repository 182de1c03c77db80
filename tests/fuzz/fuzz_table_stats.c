/*
 * Fuzz target: the body of a frame with the statistics of tables. The first byte of the input is
 * the number of tables. A body is refused, or its records are valid and are written again to the
 * same numbers.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/cluster/table_stats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct table_stats tables[ROW_TABLES_MAX];
    if (size < 1) { return 0; }
    const uint32_t count = data[0];
    if (!table_stats_decode(data + 1, size - 1, count, tables)) { return 0; }
    for (uint32_t t = 0; t < count; t++) {
        uint8_t again[TABLE_STATS_BYTES];
        const uint8_t *record = data + 1 + (size_t)t * TABLE_STATS_BYTES;
        const size_t name = strlen(tables[t].name);
        assert(name > 0 && name < VARIABLE_NAME_MAX);
        assert(tables[t].hot <= tables[t].lookups);
        table_stats_encode(&tables[t], again);
        assert(memcmp(again, record, name + 1) == 0);
        assert(memcmp(again + VARIABLE_NAME_MAX, record + VARIABLE_NAME_MAX,
                      TABLE_STATS_BYTES - VARIABLE_NAME_MAX) == 0);
    }
    return 0;
}
