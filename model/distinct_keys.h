/*
 * model/distinct_keys.h: how many different keys of each table some examples have.
 *
 * Memory is for different keys, not for all that were added. Threads: the owner's.
 */
#ifndef MODEL_DISTINCT_KEYS_H
#define MODEL_DISTINCT_KEYS_H

#include "model/slice_rows.h"

struct distinct_keys;

/* For `tables` tables. NULL: out of memory. */
struct distinct_keys *distinct_keys_open(uint32_t tables);
void distinct_keys_close(struct distinct_keys *keys); /* NULL is allowed. */

/* Adds keys; its only error is TN_ENOMEM. Borrowed. */
const struct row_sink *distinct_keys_sink(const struct distinct_keys *keys);

/* The different keys of table `table` that were added until now. */
uint64_t distinct_keys_count(struct distinct_keys *keys, uint32_t table);

#endif
