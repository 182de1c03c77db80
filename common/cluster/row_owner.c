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

bool row_part_has(const struct row_part *part, uint32_t table, uint64_t key)
{
    return part->ps_count == 0 || row_owner(table, key, part->ps_count) == part->ps;
}

/* The first bucket of ps `index`: the least b with b * ps_count / ROW_BUCKETS >= index. */
static uint32_t first_bucket(uint32_t index, uint32_t ps_count)
{
    assert(index <= ps_count);
    return (index * ROW_BUCKETS + ps_count - 1) / ps_count;
}

bool row_part_meets(const struct row_part *part, const struct row_part *other)
{
    if (part->ps_count == 0 || other->ps_count == 0) { return true; }
    return first_bucket(part->ps, part->ps_count) < first_bucket(other->ps + 1, other->ps_count) &&
           first_bucket(other->ps, other->ps_count) < first_bucket(part->ps + 1, part->ps_count);
}
