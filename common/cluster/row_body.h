/*
 * common/cluster/row_body.h: bodies of frames that name rows of tables: those of LOOKUP have keys,
 * those of PUSH_ROWS keys and gradients. A body consists of sections, numbers little-endian,
 * without gaps:
 *
 *   table u32 | count u32 | count times: key u64, and in PUSH_ROWS float32 [width]
 *
 * Tables ascend, and in each the keys. The rows of a push may be in several bodies, which ascend
 * together. The body of the answer to a LOOKUP has the rows of its keys in their order, and nothing
 * else.
 *
 * Pure: no I/O, no allocation. Threads: any.
 */
#ifndef COMMON_CLUSTER_ROW_BODY_H
#define COMMON_CLUSTER_ROW_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cluster/row_owner.h"
#include "common/cluster/variables.h"

/* ---------------------------------------------------------------------------- writing */

/* A body that is being written to `data`, of which `size` of `room` bytes are used. */
struct row_body {
    uint8_t *data;
    size_t size, room;
    size_t section; /* The offset of the last section, if size > 0. */
};

/* Append a row. `values` has `width` floats; width 0: keys alone. Rows come in the order above.
 * False: it has no room; nothing has changed. A body with at least 8 + 8 + 4 width bytes has room
 * for a row. */
bool row_body_add(struct row_body *body, uint32_t table, uint64_t key, const float *values,
                  uint32_t width);

/* ---------------------------------------------------------------------------- reading */

/* The conditions that a body meets. */
struct row_body_rules {
    const struct variable_table *variables;
    bool gradients;       /* PUSH_ROWS. */
    struct row_part part; /* The ps that has all rows. */
    uint64_t examples;    /* PUSH_ROWS: of the slices of the push, which bound its rows. */
};

/* The rows of earlier bodies of the same push; zeroed: there are none. */
struct row_body_order {
    bool begun;
    uint32_t table;
    uint64_t key, rows; /* The last key, and the number of rows of this table. */
};

/* Why a body is not valid, or NULL: then `order` continues behind it, and `*floats` is set to the
 * number of values of all its rows. */
const char *row_body_fault(const struct row_body_rules *rules, const void *body, size_t size,
                           struct row_body_order *order, uint64_t *floats);

/* The number of values of all rows of a valid body. */
uint64_t row_body_floats(const struct row_body_rules *rules, const void *body, size_t size);

/* A valid body, row by row. */
struct row_body_reader {
    const uint8_t *at, *end;
    const struct variable_table *variables;
    bool gradients;
    uint32_t table, left; /* The present section, and the rows of it that follow. */
};

struct row_body_row {
    uint32_t table;
    uint64_t key;
    const uint8_t *values; /* The bytes of its floats, not aligned; LOOKUP: NULL. */
};

struct row_body_reader row_body_read(const struct row_body_rules *rules, const void *body,
                                     size_t size);
/* False: no row is left. */
bool row_body_next(struct row_body_reader *reader, struct row_body_row *row);

#endif
