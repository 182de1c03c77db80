/*
 * model/export/onnx.h: a model as it is evaluated, as an ONNX file with its parameters.
 *
 * The file has opset 17. Its inputs are the fields that the outputs depend on, with the batch as a
 * free dimension; its outputs are those of the model by their names, and the probabilities of
 * logits. Threads: the caller's. Blocking: on the disk.
 */
#ifndef MODEL_EXPORT_ONNX_H
#define MODEL_EXPORT_ONNX_H

#include "common/base/partial_file.h"
#include "common/cluster/variables.h"
#include "model/export/tensors.h"
#include "tanist/graph.h"

/* The function that makes the output "probabilities" of the output "logits". */
enum onnx_head { ONNX_NO_HEAD, ONNX_SOFTMAX, ONNX_SIGMOID };

/* The rows of a table that exist, in ascending order of their keys. */
struct onnx_rows {
    const int64_t *keys; /* [count] */
    const float *values; /* [count][width] */
    uint64_t count;
};

struct onnx_export {
    const struct tn_graph *graph;
    const struct variable_table *table;
    const float *values;          /* In the order of the table. */
    const struct onnx_rows *rows; /* By row table of `table`; NULL: it has none. */
    enum onnx_head head;
    const char *name;                /* The name of the model. */
    const struct export_fact *facts; /* Ends with a key NULL. */
    /* DIR/columns.json: the inputs are columns; NULL: as the model has them. */
    const char *columns;
};

/* TN_EINVAL: an operation has no counterpart in ONNX: the error names it and its scope; there is no
 * output; or the file would have 2 GiB. TN_ENOMEM. Failures to write stay in `file`. */
MUST_CHECK enum tn_status export_onnx(const struct onnx_export *given, struct partial_file *file,
                                      struct error *error);

#endif
