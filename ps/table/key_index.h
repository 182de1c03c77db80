/*
 * ps/table/key_index.h: from keys to cells: a hash table in parts that grow one by one.
 *
 * A slot is one byte of the key's hash and the number of a cell; twelve slots fill a cache line, so
 * that most lookups read one line of the index and then the right cell. The owner compares keys.
 * Slots of removed cells are used again; a part never shrinks.
 *
 * Threads: the owner's.
 */
#ifndef PS_TABLE_KEY_INDEX_H
#define PS_TABLE_KEY_INDEX_H

#include <stdbool.h>
#include <stdint.h>

enum {
    KEY_INDEX_PARTS = 4096,
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
    uint32_t count, used;
    uint32_t reserved; /* Slots that key_index_add() may take. */
};

struct key_index {
    uint64_t bytes; /* The bytes of all buckets. */
    struct key_index_part parts[KEY_INDEX_PARTS];
};

uint64_t key_index_hash(uint64_t key);

/* The bucket where a search begins; NULL: the part is empty. For prefetching. */
struct key_index_bucket *key_index_bucket_of(const struct key_index *index, uint64_t hash);

/* A search for a hash. */
struct key_index_search {
    const struct key_index_part *part;
    struct key_index_bucket *bucket; /* NULL: nothing is left. */
    uint32_t slot;                   /* The next one. */
    uint8_t tag;
};

struct key_index_search key_index_begin(const struct key_index *index, uint64_t hash);
/* The next cell whose key may have the hash; KEY_INDEX_NONE: there is none. */
uint32_t key_index_next(struct key_index_search *search);

/* All cells, in no order, while none is added or removed. A zeroed place begins. */
struct key_index_place {
    uint32_t part, bucket, slot;
};
/* The next cell; KEY_INDEX_NONE: there is none. */
uint32_t key_index_each(const struct key_index *index, struct key_index_place *place);

/* The hash of a cell's key. */
typedef uint64_t key_index_hash_of(const void *ctx, uint32_t cell);

/* The bytes that key_index_reserve() would take. */
uint64_t key_index_growth(const struct key_index *index, uint64_t hash);
/* Reserve a slot for a hash. False: out of memory, nothing has changed. */
bool key_index_reserve(struct key_index *index, uint64_t hash, key_index_hash_of *hash_of,
                       const void *ctx);
void key_index_cancel(struct key_index *index); /* All reservations. */
/* Add a cell; its slot was reserved. */
void key_index_add(struct key_index *index, uint64_t hash, uint32_t cell);
/* Remove a cell, which was added with this hash. */
void key_index_remove(struct key_index *index, uint64_t hash, uint32_t cell,
                      key_index_hash_of *hash_of, const void *ctx);
/* Replace the cell `old`, which was added with this hash. */
void key_index_replace(struct key_index *index, uint64_t hash, uint32_t old, uint32_t cell);

void key_index_clear(struct key_index *index); /* Frees everything. */

#endif
