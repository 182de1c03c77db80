/*
 * model/export/onnx_columns.h: feature columns as the first nodes of an ONNX graph, so that its
 * inputs are the columns of files. Private to model/export/.
 *
 * Numbers are scaled, and missing ones replaced, in doubles, as in data/columns/; buckets are
 * counted edges; vocabularies are LabelEncoder of ai.onnx.ml. Hashes have no operator: the input is
 * then the number that the hash gives, and the metadata describe it. A column of a table is a key,
 * and zero among the inputs. Threads: the owner's.
 */
#ifndef MODEL_EXPORT_ONNX_COLUMNS_H
#define MODEL_EXPORT_ONNX_COLUMNS_H

#include "model/export/onnx_builder.h"

/* The name of the value that the model reads: float32 [batch, inputs]. `columns`: the text of
 * DIR/columns.json. NULL: its columns cannot be expressed, or the builder has an error. */
const char *onnx_columns_write(struct to_onnx_builder *builder, const char *columns);
/* The same of the keys of tables: int64 [batch, keys]. */
const char *onnx_columns_write_keys(struct to_onnx_builder *builder, const char *columns);

#endif
