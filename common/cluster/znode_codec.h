/*
 * common/cluster/znode_codec.h: structs as the JSON of znodes: the members that a table describes,
 * and "version", the version of the format, which is the same for all znodes. The table has
 * a row {.name = "version", .type = FIELD_OTHER}.
 *
 * Threads: no state.
 */
#ifndef COMMON_CLUSTER_ZNODE_CODEC_H
#define COMMON_CLUSTER_ZNODE_CODEC_H

#include "common/base/json_codec.h"
#include "common/cluster/znodes.h"

/* The record as a new JSON object, which the caller owns; NULL: out of memory. */
json_t *znode_build(const struct json_table *table, const void *record);

/* The record as a terminated text; returns its length. The table bounds the text. Aborts the
 * process when out of memory. */
size_t znode_encode(const struct json_table *table, const void *record,
                    char text[static ZNODE_JSON_MAX]);

/*
 * Read the `size` bytes of a znode into `out`, whose absent members stay. `what` ("/run",
 * "a member") begins the error message, in which bytes of the znode are printable.
 *
 *   TN_ECORRUPT  not JSON, another version, or a wrong value; `*out` is half filled
 */
MUST_CHECK enum tn_status znode_decode(const struct json_table *table, const char *what,
                                       const void *data, size_t size, void *out,
                                       struct error *error);
/* The same, for callers that need more of the JSON than the table has. `*object` belongs to the
 * caller, also after an error; NULL: the data are not JSON of this version. */
MUST_CHECK enum tn_status znode_decode_object(const struct json_table *table, const char *what,
                                              const void *data, size_t size, void *out,
                                              json_t **object, struct error *error);

#endif
