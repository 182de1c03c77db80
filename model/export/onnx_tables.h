/*
 * model/export/onnx_tables.h: the rows of tables as initializers of an ONNX graph, and lookups as
 * binary searches in their keys. Private to model/export/.
 *
 * A key without a row gets zeros: its initial values are a function of the seed and the key that
 * operators of ONNX cannot compute; zero is their mean. Threads: the owner's.
 */
#ifndef MODEL_EXPORT_ONNX_TABLES_H
#define MODEL_EXPORT_ONNX_TABLES_H

#include "common/cluster/variables.h"
#include "model/export/onnx.h"
#include "model/export/onnx_builder.h"

/* Append the initializers NAME/keys, int64 [rows], and NAME/values, float32 [rows, width]; without
 * rows, those of one row of zeros for the key -1, TN_KEY_NONE. Returns NAME; NULL: the builder has
 * the error TN_EINVAL, because the table hashes its keys. */
const char *onnx_table_write(struct to_onnx_builder *builder, const struct row_table_shape *shape,
                             const struct onnx_rows *rows);

/* Append the nodes of a lookup in the table of this name, which has `rows`, for the columns of
 * `keys` that `node` reads. Returns its rows: float32 [batch, keys, width]. */
const char *onnx_lookup_write(struct to_onnx_builder *builder, const struct node *node,
                              const char *table, uint64_t rows, const char *keys);

#endif
