/*
 * tests/shard_pages.h: all that is checked of the structure of a shard's file when it is read: what
 * store_find_values() checks at once, and the headers of values, which are checked as they pass.
 */
#ifndef TESTS_SHARD_PAGES_H
#define TESTS_SHARD_PAGES_H

#include <unistd.h>

#include "ps/store/store_pages.h"

/* `values` are those of the file after TN_OK, and to be freed in any case. */
static inline enum tn_status shard_pages_check(int fd, const char *path, uint64_t bytes,
                                               struct store_values *values, struct error *error)
{
    enum tn_status status = store_find_values(fd, path, bytes, values, error);
    for (size_t i = 0; i < values->count && status == TN_OK; i++) {
        const struct store_value *value = &values->list[i];
        uint8_t header[STORE_PAGE_HEADER_BYTES];
        if (!value->large) { continue; }
        const off_t at = (off_t)(value->at - sizeof header);
        status = pread(fd, header, sizeof header, at) == (ssize_t)sizeof header
                     ? store_check_value(values, value, header, path, error)
                     : error_set(error, TN_ECORRUPT, "%s ends before a value", path);
    }
    return status;
}

#endif
