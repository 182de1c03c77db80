#include "common/cluster/row_owner.h"

#include <assert.h>

#include "common/base/random.h"

/* The random stream that hashes keys into buckets; that of table t is so much further. */
#define STREAM_BUCKETS UINT64_C(0x6275636b00000000)

uint32_t row_bucket(uint32_t table, uint64_t key)
{
    return (uint32_t)(random_at(0, STREAM_BUCKETS + table, key) % ROW_BUCKETS);
}

uint32_t row_owner(uint32_t table, uint64_t key, uint32_t ps_count)
{
    assert(ps_count >= 1 && ps_count <= ROW_BUCKETS);
    return row_bucket(table, key) * ps_count / ROW_BUCKETS;
}
