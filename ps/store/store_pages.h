/*
 * ps/store/store_pages.h: checks the structure of a shard's file before LMDB opens it. LMDB trusts
 * the numbers in a file: a wrong page size, page number or offset ends the process by a signal. A
 * digest that matches the manifest does not protect from that: one program may have written both.
 *
 * Of a file that passes, LMDB reads only bytes inside the file, in finite time: both meta pages are
 * consistent with each other and with the size of the file, and the tree of records has been
 * walked: the kind and number of each page, the bounds of its nodes, the pages of each large value,
 * and its depth. Values are not read, so the cost is one page for about 150 chunks of 1 MiB, and 16
 * bytes for each chunk.
 *
 * Threads: no state. Blocking: on the disk.
 */
#ifndef PS_STORE_STORE_PAGES_H
#define PS_STORE_STORE_PAGES_H

#include <stdint.h>

#include "common/base/error.h"

/*
 * Check the `bytes` bytes of an open file; `path` is for errors only. The position of `fd` is
 * neither used nor changed. TN_ECORRUPT: the error names file, page and field; TN_EIO; TN_ENOMEM
 */
MUST_CHECK enum tn_status store_check_pages(int fd, const char *path, uint64_t bytes,
                                            struct error *error);

#endif
