/*
 * ps/store/store_tree.h: the pages of a shard's file that are not values: LMDB's meta pages and its
 * tree of keys. All of them are known before the first value is written, so that a file is written
 * and hashed from its first byte to its last in one pass over memory:
 *
 *   2 meta pages | leaves | levels of branches, the root last | the pages of each value, in order
 *
 * Every value has pages of its own, also a small one, so a leaf has 24 bytes for each record.
 * Pure. Threads: any. Format: ps/store/store_page_format.h.
 */
#ifndef PS_STORE_STORE_TREE_H
#define PS_STORE_STORE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "ps/store/store_layout.h"

enum { STORE_LEVELS_MAX = 8 };

/* A record, by its place in the order of keys. */
struct store_record {
    uint64_t key, bytes;
    uint64_t pages; /* Number of pages of the value and its header. */
};

struct store_tree {
    const struct store_header *header; /* Outlives the tree. */
    size_t page_bytes;
    uint64_t records;
    uint32_t levels;
    uint64_t level_pages[STORE_LEVELS_MAX]; /* The leaves first, the root last. */
    uint64_t first_value;                   /* The number of pages in front of the values. */
    uint64_t pages;                         /* Number of pages of the whole file. */
};

/* Plan the file of a shard, in pages of `page_bytes`. It depends on the arguments only, so that
 * equal shards have equal files. */
void store_tree_plan(struct store_tree *tree, const struct store_header *header, size_t page_bytes);

/* Record `index` of the file: the header, the blob if there is one, the chunks of each array. */
struct store_record store_tree_record(const struct store_tree *tree, uint64_t index);

/* Fill the pages in front of the values: `tree->first_value` of them, which are zero. */
void store_tree_encode(const struct store_tree *tree, uint8_t *out);

/* The header of a value that begins at page `first`. */
void store_tree_encode_value_header(uint64_t first, uint64_t pages,
                                    uint8_t out[static STORE_PAGE_HEADER_BYTES]);

#endif
