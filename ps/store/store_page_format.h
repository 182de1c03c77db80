/*
 * ps/store/store_page_format.h: the pages of an LMDB 0.9 file (MDB_DATA_VERSION 1), whose numbers
 * are in the byte order of the host: for store_tree.c, which writes them, and store_pages.c, which
 * checks them. Offsets are in bytes.
 */
#ifndef PS_STORE_STORE_PAGE_FORMAT_H
#define PS_STORE_STORE_PAGE_FORMAT_H

#include <stdint.h>

enum {
    META_PAGES = 2,
    META_BYTES = 152,
    META_MAGIC = 16, /* Offsets in a meta page. */
    META_VERSION = 20,
    META_MAP_BYTES = 32,
    META_PAGE_BYTES = 40,
    META_FREE_TREE = 40, /* The table of free pages, whose first field is the size of pages. */
    META_TREE = 88,      /* The table of records. */
    META_LAST_PAGE = 136,
    META_TRANSACTION = 144,
    TREE_FLAGS = 4, /* Offsets in the description of a table. */
    TREE_DEPTH = 6,
    TREE_BRANCH_PAGES = 8,
    TREE_LEAF_PAGES = 16,
    TREE_OVERFLOW_PAGES = 24,
    TREE_ENTRIES = 32,
    TREE_ROOT = 40,
    PAGE_FLAGS = 10, /* Offsets in a page. */
    PAGE_LOWER = 12,
    PAGE_UPPER = 14,
    PAGE_RUN = 12,
    PAGE_HEADER_BYTES = 16,
    NODE_LOW = 0, /* Offsets in a node: a size in a leaf, the number of a page in a branch. */
    NODE_MIDDLE = 2,
    NODE_FLAGS = 4,
    NODE_KEY_BYTES = 6,
    NODE_HEADER_BYTES = 8,
    KIND_BRANCH = 1,
    KIND_LEAF = 2,
    KIND_OVERFLOW = 4,
    KIND_META = 8,
    NODE_IS_LARGE = 1, /* The value has pages of its own; the node holds the number of the first. */
    KEY_BYTES = 8,
    KEYS_ARE_NUMBERS = 8, /* Flag of the table of free pages. */
    DEPTH_MAX = 32,       /* LMDB's cursors have no more levels. */
    PAGE_BYTES_MIN = 4096,
    PAGE_BYTES_MAX = 32768,
};

#define FILE_MAGIC   0xbeefc0deU
#define FILE_VERSION 1U
#define NO_PAGE      UINT64_MAX /* The root of an empty table. */

#endif
