/*
 * Fuzz target: the body of a frame with the loads of buckets of rows. The first four bytes of the
 * input are the first bucket and the number of buckets. A body is refused, or its buckets exist and
 * are written again to the same bytes; their sum with a longer time is bounded.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cluster/row_balance.h"
#include "common/cluster/row_loads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct row_loads loads;
    static uint8_t again[ROW_LOADS_BODY_MAX];
    static uint64_t sums[ROW_BUCKETS];
    if (size < HEAD_BYTES) { return 0; }
    loads.updates = 1;
    loads.first = (uint32_t)(data[0] | data[1] << 8);
    loads.count = (uint32_t)(data[2] | data[3] << 8);
    if (!row_loads_decode(data + HEAD_BYTES, size - HEAD_BYTES, &loads)) { return 0; }
    assert(loads.first + loads.count <= ROW_BUCKETS);
    row_loads_encode(loads.loads, loads.count, again);
    assert(memcmp(again, data + HEAD_BYTES, size - HEAD_BYTES) == 0);
    memset(sums, 0, sizeof sums);
    row_loads_add(&loads, UINT64_MAX, sums);
    const struct row_borders borders = row_balance(sums, PS_MAX);
    assert(row_borders_fault(&borders, PS_MAX) == NULL);
    return 0;
}
