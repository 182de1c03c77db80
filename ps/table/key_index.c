#include "ps/table/key_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A part grows when its buckets are three quarters full. */
enum { PART_BITS = 12, TAG_SHIFT = 56, FULL = KEY_INDEX_SLOTS * 3 / 4 };

_Static_assert(1 << PART_BITS == KEY_INDEX_PARTS, "the low bits of a hash are its part");
_Static_assert(sizeof(struct key_index_bucket) == 64, "a bucket is a cache line");

uint64_t key_index_hash(uint64_t key)
{
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    return key ^ (key >> 31);
}

static uint32_t part_of(uint64_t hash)
{
    return (uint32_t)hash & (KEY_INDEX_PARTS - 1);
}

static uint32_t first_of(const struct key_index_part *part, uint64_t hash)
{
    return (uint32_t)(hash >> PART_BITS) & (part->count - 1);
}

struct key_index_bucket *key_index_bucket_of(const struct key_index *index, uint64_t hash)
{
    const struct key_index_part *part = &index->parts[part_of(hash)];
    return part->buckets != NULL ? &part->buckets[first_of(part, hash)] : NULL;
}

struct key_index_search key_index_begin(const struct key_index *index, uint64_t hash)
{
    return (struct key_index_search){
        .part = &index->parts[part_of(hash)],
        .bucket = key_index_bucket_of(index, hash),
        .tag = (uint8_t)(hash >> TAG_SHIFT),
    };
}

static struct key_index_bucket *next_bucket(const struct key_index_part *part,
                                            struct key_index_bucket *bucket)
{
    return bucket + 1 < part->buckets + part->count ? bucket + 1 : part->buckets;
}

uint32_t key_index_next(struct key_index_search *search)
{
    while (search->bucket != NULL) {
        while (search->slot < search->bucket->used) {
            const uint32_t slot = search->slot++;
            if (search->bucket->tags[slot] == search->tag) { return search->bucket->cells[slot]; }
        }
        const bool overflows = search->bucket->used == KEY_INDEX_SLOTS;
        search->bucket = overflows ? next_bucket(search->part, search->bucket) : NULL;
        search->slot = 0;
    }
    return KEY_INDEX_NONE;
}

uint32_t key_index_each(const struct key_index *index, struct key_index_place *place)
{
    for (; place->part < KEY_INDEX_PARTS; place->part++, place->bucket = 0) {
        const struct key_index_part *part = &index->parts[place->part];
        for (; place->bucket < part->count; place->bucket++, place->slot = 0) {
            const struct key_index_bucket *bucket = &part->buckets[place->bucket];
            if (place->slot < bucket->used) { return bucket->cells[place->slot++]; }
        }
    }
    return KEY_INDEX_NONE;
}

static bool has_room(const struct key_index_part *part)
{
    return part->used + part->reserved < part->count * FULL;
}

static uint32_t grown(const struct key_index_part *part)
{
    return part->count > 0 ? 2 * part->count : 1;
}

uint64_t key_index_growth(const struct key_index *index, uint64_t hash)
{
    const struct key_index_part *part = &index->parts[part_of(hash)];
    return has_room(part) ? 0 : (uint64_t)(grown(part) - part->count) * sizeof *part->buckets;
}

static void put(const struct key_index_part *part, uint64_t hash, uint32_t cell)
{
    struct key_index_bucket *bucket = &part->buckets[first_of(part, hash)];
    while (bucket->used == KEY_INDEX_SLOTS) { bucket = next_bucket(part, bucket); }
    bucket->cells[bucket->used] = cell;
    bucket->tags[bucket->used] = (uint8_t)(hash >> TAG_SHIFT);
    bucket->used++;
}

bool key_index_reserve(struct key_index *index, uint64_t hash, key_index_hash_of *hash_of,
                       const void *ctx)
{
    struct key_index_part *part = &index->parts[part_of(hash)];
    if (!has_room(part)) {
        struct key_index_part larger = {.count = grown(part), .used = part->used};
        const size_t bytes = larger.count * sizeof *larger.buckets;
        larger.buckets = aligned_alloc(sizeof *larger.buckets, bytes);
        if (larger.buckets == NULL) { return false; }
        memset(larger.buckets, 0, bytes);
        for (uint32_t b = 0; b < part->count; b++) {
            const struct key_index_bucket *bucket = &part->buckets[b];
            for (uint32_t s = 0; s < bucket->used; s++) {
                put(&larger, hash_of(ctx, bucket->cells[s]), bucket->cells[s]);
            }
        }
        larger.reserved = part->reserved;
        index->bytes += (uint64_t)(larger.count - part->count) * sizeof *larger.buckets;
        free(part->buckets);
        *part = larger;
    }
    part->reserved++;
    return true;
}

void key_index_cancel(struct key_index *index)
{
    for (uint32_t p = 0; p < KEY_INDEX_PARTS; p++) { index->parts[p].reserved = 0; }
}

void key_index_add(struct key_index *index, uint64_t hash, uint32_t cell)
{
    struct key_index_part *part = &index->parts[part_of(hash)];
    assert(part->reserved > 0 && cell != KEY_INDEX_NONE);
    part->reserved--;
    part->used++;
    put(part, hash, cell);
}

/* The search that has just returned this cell. */
static struct key_index_search find(const struct key_index *index, uint64_t hash, uint32_t cell)
{
    struct key_index_search search = key_index_begin(index, hash);
    uint32_t found;
    assert(cell != KEY_INDEX_NONE);
    while ((found = key_index_next(&search)) != cell) { assert(found != KEY_INDEX_NONE); }
    return search;
}

void key_index_replace(struct key_index *index, uint64_t hash, uint32_t old, uint32_t cell)
{
    struct key_index_search search = find(index, hash, old);
    assert(cell != KEY_INDEX_NONE);
    search.bucket->cells[search.slot - 1] = cell;
}

static void clear_slot(struct key_index_bucket *bucket, uint32_t slot)
{
    const uint32_t last = --bucket->used;
    bucket->cells[slot] = bucket->cells[last];
    bucket->tags[slot] = bucket->tags[last];
}

/* The buckets from one to another, as a search goes. */
static uint32_t way(const struct key_index_part *part, uint32_t from, uint32_t to)
{
    return (to - from) & (part->count - 1);
}

/* A search that begins at or before `hole` has passed it to find this cell in `bucket`. */
static bool passes(const struct key_index_part *part, uint64_t hash, uint32_t hole, uint32_t bucket)
{
    return way(part, first_of(part, hash), bucket) >= way(part, hole, bucket);
}

/* A slot of `bucket` whose cell may be in `hole`; KEY_INDEX_SLOTS: none has one. */
static uint32_t find_movable(const struct key_index_part *part, uint32_t hole, uint32_t bucket,
                             key_index_hash_of *hash_of, const void *ctx)
{
    const struct key_index_bucket *at = &part->buckets[bucket];
    uint32_t slot = 0;
    while (slot < at->used && !passes(part, hash_of(ctx, at->cells[slot]), hole, bucket)) {
        slot++;
    }
    return slot < at->used ? slot : KEY_INDEX_SLOTS;
}

/* A search ends at a bucket that is not full: cells that it would no longer reach behind `hole`,
 * which was full until now, move there. */
static void fill_hole(const struct key_index_part *part, uint32_t hole, key_index_hash_of *hash_of,
                      const void *ctx)
{
    bool full = true;
    for (uint32_t at = hole; full;) {
        at = (at + 1) & (part->count - 1);
        if (at == hole) { return; }
        struct key_index_bucket *bucket = &part->buckets[at], *to = &part->buckets[hole];
        full = bucket->used == KEY_INDEX_SLOTS;
        const uint32_t slot = find_movable(part, hole, at, hash_of, ctx);
        if (slot == KEY_INDEX_SLOTS) { continue; }
        to->cells[to->used] = bucket->cells[slot];
        to->tags[to->used++] = bucket->tags[slot];
        clear_slot(bucket, slot);
        hole = at;
    }
}

void key_index_remove(struct key_index *index, uint64_t hash, uint32_t cell,
                      key_index_hash_of *hash_of, const void *ctx)
{
    struct key_index_search search = find(index, hash, cell);
    struct key_index_part *part = &index->parts[part_of(hash)];
    const bool full = search.bucket->used == KEY_INDEX_SLOTS;
    part->used--;
    clear_slot(search.bucket, search.slot - 1);
    if (full) { fill_hole(part, (uint32_t)(search.bucket - part->buckets), hash_of, ctx); }
}

void key_index_clear(struct key_index *index)
{
    for (uint32_t p = 0; p < KEY_INDEX_PARTS; p++) { free(index->parts[p].buckets); }
    memset(index, 0, sizeof *index);
}
