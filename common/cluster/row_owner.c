#include "common/cluster/row_owner.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* The random stream that hashes keys into buckets; that of table t has the number t above this. */
#define STREAM_BUCKETS UINT64_C(0x6275636b00000000)

struct row_hash row_hash_of(uint32_t table)
{
    return (struct row_hash){.stream = random_stream_of(0, STREAM_BUCKETS + table)};
}

uint32_t row_bucket(uint32_t table, uint64_t key)
{
    return row_hash_bucket(row_hash_of(table), key);
}

const char *row_borders_fault(const struct row_borders *borders, uint32_t ps_count)
{
    uint32_t before = 0;
    assert(borders->count <= ROW_BORDERS_MAX);
    if (borders->count == 0) { return NULL; }
    if (borders->count + 1 != ps_count) { return "it has not one border less than there are ps"; }
    for (uint32_t i = 0; i < borders->count; i++) {
        if (borders->buckets[i] <= before) { return "its borders do not ascend from 1"; }
        before = borders->buckets[i];
    }
    return before < ROW_BUCKETS ? NULL : "a border is not below 4096";
}

bool row_borders_equal(const struct row_borders *a, const struct row_borders *b)
{
    assert(a->count <= ROW_BORDERS_MAX && b->count <= ROW_BORDERS_MAX);
    return a->count == b->count &&
           memcmp(a->buckets, b->buckets, a->count * sizeof a->buckets[0]) == 0;
}

/* The first bucket of ps `ps`; of an equal range the least b with b * ps_count / ROW_BUCKETS >=
 * ps. */
static uint32_t first_bucket(const struct row_borders *borders, uint32_t ps_count, uint32_t ps)
{
    if (ps == 0 || ps == ps_count) { return ps == 0 ? 0 : ROW_BUCKETS; }
    return borders->count > 0 ? borders->buckets[ps - 1]
                              : (ps * ROW_BUCKETS + ps_count - 1) / ps_count;
}

struct row_part row_part_of(const struct row_borders *borders, uint32_t ps_count, uint32_t ps)
{
    assert(ps < ps_count && ps_count <= PS_MAX);
    assert(borders->count == 0 || borders->count + 1 == ps_count);
    return (struct row_part){
        .ps = ps,
        .ps_count = ps_count,
        .first = first_bucket(borders, ps_count, ps),
        .end = first_bucket(borders, ps_count, ps + 1),
    };
}

bool row_part_has(const struct row_part *part, uint32_t table, uint64_t key)
{
    assert(part->ps_count == 0 || (part->first < part->end && part->end <= ROW_BUCKETS));
    return row_part_has_bucket(part, row_bucket(table, key));
}

bool row_part_meets(const struct row_part *part, const struct row_part *other)
{
    if (part->ps_count == 0 || other->ps_count == 0) { return true; }
    return part->first < other->end && other->first < part->end;
}

bool row_part_equal(const struct row_part *part, const struct row_part *other)
{
    return part->ps == other->ps && part->ps_count == other->ps_count &&
           part->first == other->first && part->end == other->end;
}
