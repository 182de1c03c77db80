/*
 * ps/table/key_index.h: from keys to cells: a hash table in parts that grow one by one.
 *
 * A slot is one byte of the key's hash and the number of a cell; twelve slots fill a cache line, so
 * that most lookups read one line of the index and then the right cell. The owner compares keys.
 * Slots of removed cells are used again; a part never shrinks.
 *
 * A small index has one part, a larger one 64, and a large one KEY_INDEX_PARTS: the memory of their
 * headers is small beside that of the cells, and no growth of a part takes long.
 *
 * Threads: the owner's.
 */
#ifndef PS_TABLE_KEY_INDEX_H
#define PS_TABLE_KEY_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    KEY_INDEX_PARTS = 4096,
    KEY_INDEX_PART_BITS = 12, /* The bits of a hash that may choose a part. */
    KEY_INDEX_TAG_SHIFT = 56,
    KEY_INDEX_SLOTS = 12,
    KEY_INDEX_NONE = 0 /* No cell has this number. */
};

struct key_index_bucket {
    uint32_t cells[KEY_INDEX_SLOTS];
    uint8_t tags[KEY_INDEX_SLOTS];
    uint32_t used;
};

struct key_index_part {
    struct key_index_bucket *buckets; /* `count` of them, a power of two; NULL: none. */
    uint32_t count, used;             /* `used`: slots with a cell, and those reserved. */
};

/* Zeroed: it is empty. */
struct key_index {
    uint64_t bytes;               /* The memory of all buckets and of `parts`. */
    uint64_t used, reserved;      /* The sum of all parts, and the reserved slots among them. */
    struct key_index_part *parts; /* [part_mask + 1]; NULL: `single` is the only one. */
    uint32_t part_mask;
    struct key_index_part single;
};

static inline uint64_t key_index_hash(uint64_t key)
{
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    return key ^ (key >> 31);
}

static inline const struct key_index_part *key_index_part_of(const struct key_index *index,
                                                             uint64_t hash)
{
    const struct key_index_part *parts = index->parts != NULL ? index->parts : &index->single;
    return &parts[hash & index->part_mask];
}

static inline uint32_t key_index_first(const struct key_index_part *part, uint64_t hash)
{
    return (uint32_t)(hash >> KEY_INDEX_PART_BITS) & (part->count - 1);
}

/* The bucket where a search begins; NULL: the part is empty. For prefetching. */
static inline struct key_index_bucket *key_index_bucket_of(const struct key_index *index,
                                                           uint64_t hash)
{
    const struct key_index_part *part = key_index_part_of(index, hash);
    return part->buckets != NULL ? &part->buckets[key_index_first(part, hash)] : NULL;
}

/* A search for a hash. */
struct key_index_search {
    const struct key_index_part *part;
    struct key_index_bucket *bucket; /* NULL: nothing is left. */
    uint32_t matches;                /* A bit for each slot of the bucket that is left. */
    uint32_t slot;                   /* The one that was returned last. */
    uint8_t tag;
};

/* A bit for each of eight bytes that is zero. */
static inline uint32_t key_index_zeros(uint64_t bytes)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const uint64_t zeros = ~(((bytes & low) + low) | bytes | low) >> 7; /* 1 in each such byte. */
    return (uint32_t)(zeros * UINT64_C(0x0102040810204080) >> 56);
}

/* A bit for each slot in use that has the tag. All are compared at once: branches on single tags
 * would be mispredicted. */
static inline uint32_t key_index_matches(const struct key_index_bucket *bucket, uint8_t tag)
{
    enum { FIRST = sizeof(uint64_t), REST = KEY_INDEX_SLOTS - FIRST };
    const uint64_t same = tag * UINT64_C(0x0101010101010101);
    uint64_t first, rest = 0;
    memcpy(&first, bucket->tags, FIRST);
    memcpy(&rest, bucket->tags + FIRST, REST);
    const uint32_t matches = key_index_zeros(first ^ same) | key_index_zeros(rest ^ same) << FIRST;
    return matches & ((UINT32_C(1) << bucket->used) - 1);
}

/* The search is not returned by value: a copy right after its fields were stored is slow. */
static inline void key_index_begin(const struct key_index *index, uint64_t hash,
                                   struct key_index_search *search)
{
    search->part = key_index_part_of(index, hash);
    search->bucket = key_index_bucket_of(index, hash);
    search->tag = (uint8_t)(hash >> KEY_INDEX_TAG_SHIFT);
    search->matches = search->bucket != NULL ? key_index_matches(search->bucket, search->tag) : 0;
}

/* Go to the next bucket, as long as the present one is full and none has a match. */
void key_index_overflow(struct key_index_search *search);

/* The next cell whose key may have the hash; KEY_INDEX_NONE: there is none. */
static inline uint32_t key_index_next(struct key_index_search *search)
{
    if (search->matches == 0) { key_index_overflow(search); }
    if (search->matches == 0) { return KEY_INDEX_NONE; }
    search->slot = (uint32_t)__builtin_ctz(search->matches);
    search->matches &= search->matches - 1;
    return search->bucket->cells[search->slot];
}

/* All cells, in no order, while none is added or removed. A zeroed place begins. */
struct key_index_place {
    uint32_t part, bucket, slot;
};
/* The next cell; KEY_INDEX_NONE: there is none. */
uint32_t key_index_each(const struct key_index *index, struct key_index_place *place);

/* The cells of the owner, for moving them. */
struct key_index_cells {
    uint64_t (*hash_of)(const void *ctx, uint32_t cell); /* The hash of the cell's key. */
    void (*fetch)(const void *ctx, uint32_t cell);       /* hash_of() will be called soon. */
    const void *ctx;
};

/* More than `more` cells will be reserved next, and none is reserved now: divide the index into as
 * many parts as it needs, within `most` more bytes. Without memory it keeps those that it has. */
void key_index_divide(struct key_index *index, uint64_t more, uint64_t most,
                      const struct key_index_cells *cells);
/* The bytes that key_index_reserve() would take. */
uint64_t key_index_growth(const struct key_index *index, uint64_t hash);
/* Reserve a slot for a hash. False: out of memory, nothing has changed. */
bool key_index_reserve(struct key_index *index, uint64_t hash, const struct key_index_cells *cells);
void key_index_cancel(struct key_index *index); /* All reservations. */
/* Add a cell; its slot was reserved. */
void key_index_add(struct key_index *index, uint64_t hash, uint32_t cell);
/* Remove a cell, which was added with this hash. */
void key_index_remove(struct key_index *index, uint64_t hash, uint32_t cell,
                      const struct key_index_cells *cells);
/* Replace the cell `old`, which was added with this hash. */
void key_index_replace(struct key_index *index, uint64_t hash, uint32_t old, uint32_t cell);

void key_index_clear(struct key_index *index); /* Frees everything. */

#endif
