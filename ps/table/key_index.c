#include "ps/table/key_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A part grows when its buckets are three quarters full. */
enum { FULL = KEY_INDEX_SLOTS * 3 / 4 };

/* Buckets whose cells are fetched before they are moved. */
enum { FETCHED_AHEAD = 4 };

/* The numbers of parts. A part begins with some cells for each bucket. */
static const uint32_t part_counts[] = {KEY_INDEX_PARTS, KEY_INDEX_PARTS / 64};

_Static_assert(1 << KEY_INDEX_PART_BITS == KEY_INDEX_PARTS, "low bits of a hash are its part");
_Static_assert(sizeof(struct key_index_bucket) == 64, "a bucket is a cache line");
_Static_assert(sizeof(struct key_index_part) == 16, "four parts fill a cache line");

static struct key_index_part *part_at(struct key_index *index, uint64_t hash)
{
    return (index->parts != NULL ? index->parts : &index->single) + (hash & index->part_mask);
}

static struct key_index_bucket *next_bucket(const struct key_index_part *part,
                                            struct key_index_bucket *bucket)
{
    return bucket + 1 < part->buckets + part->count ? bucket + 1 : part->buckets;
}

void key_index_overflow(struct key_index_search *search)
{
    while (search->bucket != NULL && search->matches == 0) {
        const bool overflows = search->bucket->used == KEY_INDEX_SLOTS;
        search->bucket = overflows ? next_bucket(search->part, search->bucket) : NULL;
        if (overflows) { search->matches = key_index_matches(search->bucket, search->tag); }
    }
}

uint32_t key_index_each(const struct key_index *index, struct key_index_place *place)
{
    for (; place->part <= index->part_mask; place->part++, place->bucket = 0) {
        const struct key_index_part *part = key_index_part_of(index, place->part);
        for (; place->bucket < part->count; place->bucket++, place->slot = 0) {
            const struct key_index_bucket *bucket = &part->buckets[place->bucket];
            if (place->slot < bucket->used) { return bucket->cells[place->slot++]; }
        }
    }
    return KEY_INDEX_NONE;
}

/* ------------------------------------------------------------------------ growing */

static bool has_room(const struct key_index_part *part)
{
    return part->used < part->count * FULL;
}

static uint32_t grown(const struct key_index_part *part)
{
    return part->count > 0 ? 2 * part->count : 1;
}

uint64_t key_index_growth(const struct key_index *index, uint64_t hash)
{
    const struct key_index_part *part = key_index_part_of(index, hash);
    return has_room(part) ? 0 : (uint64_t)(grown(part) - part->count) * sizeof *part->buckets;
}

static void put(const struct key_index_part *part, uint64_t hash, uint32_t cell)
{
    struct key_index_bucket *bucket = &part->buckets[key_index_first(part, hash)];
    while (bucket->used == KEY_INDEX_SLOTS) { bucket = next_bucket(part, bucket); }
    bucket->cells[bucket->used] = cell;
    bucket->tags[bucket->used] = (uint8_t)(hash >> KEY_INDEX_TAG_SHIFT);
    bucket->used++;
}

static void fetch(const struct key_index_part *part, uint32_t b,
                  const struct key_index_cells *cells)
{
    if (b >= part->count) { return; }
    const struct key_index_bucket *bucket = &part->buckets[b];
    for (uint32_t s = 0; s < bucket->used; s++) { cells->fetch(cells->ctx, bucket->cells[s]); }
}

/* The hashes of the cells of bucket `b`. Those of a later bucket are fetched from memory meanwhile:
 * a part of a large table has most of its cells in no cache. */
static void hash_bucket(const struct key_index_part *part, uint32_t b,
                        const struct key_index_cells *cells,
                        uint64_t hashes[static KEY_INDEX_SLOTS])
{
    const struct key_index_bucket *bucket = &part->buckets[b];
    if (b == 0) {
        for (uint32_t first = 0; first < FETCHED_AHEAD; first++) { fetch(part, first, cells); }
    }
    fetch(part, b + FETCHED_AHEAD, cells);
    for (uint32_t s = 0; s < bucket->used; s++) {
        hashes[s] = cells->hash_of(cells->ctx, bucket->cells[s]);
    }
}

/* False: out of memory, nothing has changed. */
static bool grow(struct key_index *index, struct key_index_part *part,
                 const struct key_index_cells *cells)
{
    struct key_index_part larger = {.count = grown(part), .used = part->used};
    const size_t bytes = larger.count * sizeof *larger.buckets;
    uint64_t hashes[KEY_INDEX_SLOTS];
    larger.buckets = aligned_alloc(sizeof *larger.buckets, bytes);
    if (larger.buckets == NULL) { return false; }
    memset(larger.buckets, 0, bytes);
    for (uint32_t b = 0; b < part->count; b++) {
        const struct key_index_bucket *bucket = &part->buckets[b];
        hash_bucket(part, b, cells, hashes);
        for (uint32_t s = 0; s < bucket->used; s++) { put(&larger, hashes[s], bucket->cells[s]); }
    }
    index->bytes += (uint64_t)(larger.count - part->count) * sizeof *larger.buckets;
    free(part->buckets);
    *part = larger;
    return true;
}

bool key_index_reserve(struct key_index *index, uint64_t hash, const struct key_index_cells *cells)
{
    struct key_index_part *part = part_at(index, hash);
    if (!has_room(part) && !grow(index, part, cells)) { return false; }
    part->used++;
    index->used++;
    index->reserved++;
    return true;
}

/* Slots in use that were not reserved only. */
static uint32_t count_used(const struct key_index_part *part)
{
    uint32_t used = 0;
    for (uint32_t b = 0; b < part->count; b++) { used += part->buckets[b].used; }
    return used;
}

void key_index_cancel(struct key_index *index)
{
    for (uint32_t p = 0; p <= index->part_mask; p++) {
        struct key_index_part *part = part_at(index, p);
        part->used = count_used(part);
    }
    index->used -= index->reserved;
    index->reserved = 0;
}

void key_index_add(struct key_index *index, uint64_t hash, uint32_t cell)
{
    assert(index->reserved > 0 && cell != KEY_INDEX_NONE);
    index->reserved--;
    put(key_index_part_of(index, hash), hash, cell);
}

/* Add all cells of `from`. False: out of memory. */
static bool add_all(struct key_index *to, const struct key_index *from,
                    const struct key_index_cells *cells)
{
    uint64_t hashes[KEY_INDEX_SLOTS];
    for (uint32_t p = 0; p <= from->part_mask; p++) {
        const struct key_index_part *part = key_index_part_of(from, p);
        for (uint32_t b = 0; b < part->count; b++) {
            const struct key_index_bucket *bucket = &part->buckets[b];
            hash_bucket(part, b, cells, hashes);
            for (uint32_t s = 0; s < bucket->used; s++) {
                if (!key_index_reserve(to, hashes[s], cells)) { return false; }
                key_index_add(to, hashes[s], bucket->cells[s]);
            }
        }
    }
    return true;
}

/* The parts that an index of this many cells needs: each has as many as a bucket. */
static uint32_t parts_for(uint64_t cells)
{
    for (size_t i = 0; i < sizeof part_counts / sizeof *part_counts; i++) {
        if (cells > (uint64_t)part_counts[i] * FULL) { return part_counts[i]; }
    }
    return 1;
}

void key_index_divide(struct key_index *index, uint64_t more, uint64_t most,
                      const struct key_index_cells *cells)
{
    assert(index->reserved == 0);
    const uint32_t count = parts_for(index->used + more);
    if (count <= index->part_mask + 1) { return; }
    struct key_index divided = {.part_mask = count - 1, .bytes = count * sizeof *divided.parts};
    /* The parts take at most as much again as the index has now. */
    if (divided.bytes + 2 * index->bytes > most) { return; }
    divided.parts = calloc(count, sizeof *divided.parts);
    if (divided.parts == NULL) { return; }
    if (!add_all(&divided, index, cells)) {
        key_index_clear(&divided);
        return;
    }
    key_index_clear(index);
    *index = divided;
}

/* ------------------------------------------------------------------------ changing */

/* Go on to this cell, which the index has. */
static void find(const struct key_index *index, uint64_t hash, uint32_t cell,
                 struct key_index_search *search)
{
    uint32_t found;
    assert(cell != KEY_INDEX_NONE);
    key_index_begin(index, hash, search);
    while ((found = key_index_next(search)) != cell) { assert(found != KEY_INDEX_NONE); }
}

void key_index_replace(struct key_index *index, uint64_t hash, uint32_t old, uint32_t cell)
{
    struct key_index_search search;
    assert(cell != KEY_INDEX_NONE);
    find(index, hash, old, &search);
    search.bucket->cells[search.slot] = cell;
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
    return way(part, key_index_first(part, hash), bucket) >= way(part, hole, bucket);
}

/* A slot of `bucket` whose cell may be in `hole`; KEY_INDEX_SLOTS: none has one. */
static uint32_t find_movable(const struct key_index_part *part, uint32_t hole, uint32_t bucket,
                             const struct key_index_cells *cells)
{
    const struct key_index_bucket *at = &part->buckets[bucket];
    uint32_t slot = 0;
    while (slot < at->used &&
           !passes(part, cells->hash_of(cells->ctx, at->cells[slot]), hole, bucket)) {
        slot++;
    }
    return slot < at->used ? slot : KEY_INDEX_SLOTS;
}

/* A search ends at a bucket that is not full: cells that it would no longer reach behind `hole`,
 * which was full until now, move there. */
static void fill_hole(const struct key_index_part *part, uint32_t hole,
                      const struct key_index_cells *cells)
{
    bool full = true;
    for (uint32_t at = hole; full;) {
        at = (at + 1) & (part->count - 1);
        if (at == hole) { return; }
        struct key_index_bucket *bucket = &part->buckets[at], *to = &part->buckets[hole];
        full = bucket->used == KEY_INDEX_SLOTS;
        const uint32_t slot = find_movable(part, hole, at, cells);
        if (slot == KEY_INDEX_SLOTS) { continue; }
        to->cells[to->used] = bucket->cells[slot];
        to->tags[to->used++] = bucket->tags[slot];
        clear_slot(bucket, slot);
        hole = at;
    }
}

void key_index_remove(struct key_index *index, uint64_t hash, uint32_t cell,
                      const struct key_index_cells *cells)
{
    struct key_index_search search;
    find(index, hash, cell, &search);
    struct key_index_part *part = part_at(index, hash);
    const bool full = search.bucket->used == KEY_INDEX_SLOTS;
    part->used--;
    index->used--;
    clear_slot(search.bucket, search.slot);
    if (full) { fill_hole(part, (uint32_t)(search.bucket - part->buckets), cells); }
}

void key_index_clear(struct key_index *index)
{
    for (uint32_t p = 0; p <= index->part_mask; p++) {
        struct key_index_part *part = part_at(index, p);
        free(part->buckets);
        part->buckets = NULL;
    }
    free(index->parts);
    memset(index, 0, sizeof *index);
}
