/*
 * ps/store/store_pages.h: finds the values in a shard's file, and checks its structure before LMDB
 * opens it. LMDB trusts the numbers in a file: a wrong page size, page number or offset ends the
 * process by a signal. A digest that matches the manifest does not protect from that: one program
 * may have written both.
 *
 * Of a file that passes, LMDB reads only bytes inside the file, in finite time: both meta pages are
 * consistent with each other and with the size of the file, and the tree of records has been
 * walked: the kind and number of each page, the bounds of its nodes, the order of keys, the place
 * of each large value, and its depth. The values are not read, nor the headers in front of large
 * ones, which LMDB does not read either: the reader of a value checks its header. So the cost is
 * one page for about 150 chunks of 1 MiB, and no part of a file is read twice.
 *
 * Threads: no state. Blocking: on the disk.
 */
#ifndef PS_STORE_STORE_PAGES_H
#define PS_STORE_STORE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "ps/store/store_layout.h"

/* The value of a record: `bytes` from offset `at` of the file. A large one has pages of its own,
 * and a header of STORE_PAGE_HEADER_BYTES in front of it. */
struct store_value {
    uint64_t key, at, bytes;
    bool large;
};

/* In ascending order of keys. */
struct store_values {
    struct store_value *list;
    size_t count, capacity;
    size_t page_bytes; /* The size of a page of the file. */
};

/*
 * Check the `bytes` bytes of an open file, and find its values; `path` is for errors only. The
 * position of `fd` is neither used nor changed. store_values_free() must follow, also after a
 * failure. TN_ECORRUPT: the error names file, page and field; TN_EIO; TN_ENOMEM
 */
MUST_CHECK enum tn_status store_find_values(int fd, const char *path, uint64_t bytes,
                                            struct store_values *values, struct error *error);

/* Check the header in front of a large value of a file. TN_ECORRUPT: as store_find_values(). */
MUST_CHECK enum tn_status store_check_value(const struct store_values *values,
                                            const struct store_value *value,
                                            const uint8_t header[static STORE_PAGE_HEADER_BYTES],
                                            const char *path, struct error *error);

/* The value with this key; NULL: none. */
const struct store_value *store_values_find(const struct store_values *values, uint64_t key);

void store_values_free(struct store_values *values);

#endif
