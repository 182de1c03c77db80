/*
 * common/cluster/row_borders.h: the borders of common/cluster/row_owner.h as JSON: a list of
 * buckets, which ascend. Job, /spec, /change and manifests have it; those of equal ranges leave it
 * out.
 *
 * Threads: no state.
 */
#ifndef COMMON_CLUSTER_ROW_BORDERS_H
#define COMMON_CLUSTER_ROW_BORDERS_H

#include "common/base/json_codec.h"
#include "common/cluster/row_owner.h"

/* For members of type struct row_borders. Borders of another number of ps are read as well. */
extern const struct json_converter row_borders_converter;

/* Remove `key` from `object`, which may be NULL, if the ranges are equal. */
void row_borders_leave_out(const struct row_borders *borders, json_t *object, const char *key);

#endif
