/*
 * model/onnx/import.h: models of type "onnx": the graph of the file `model.path`.
 *
 * The one input of the file becomes the field "inputs", with the shape of the file; its first
 * dimension is the batch. Initializers of floats become variables with these initial values, named
 * as in the file: "/" at the start is dropped, inside it becomes ".", other characters that names
 * cannot have "_". `model.freeze` lists those that are not trained.
 */
#ifndef MODEL_ONNX_IMPORT_H
#define MODEL_ONNX_IMPORT_H

#include "common/base/error.h"
#include "common/job/job.h"
#include "tanist/graph.h"

/*
 * Append the graph of the file, and return its output. A softmax or sigmoid at the end that is part
 * of the job's loss is left out.
 *
 *   TN_EINVAL  the error names the file, the node or field, and the remedy. Errors of the graph are
 *              among them.
 *   others as onnx_file_open()
 */
MUST_CHECK enum tn_status onnx_build(const struct job *job, struct tn_graph *graph, tn_tensor *out,
                                     struct error *error);

struct onnx_file;

/* Import a decoded file; its name is not part of errors. */
MUST_CHECK enum tn_status onnx_import(const struct onnx_file *file, const struct job *job,
                                      struct tn_graph *graph, tn_tensor *out, struct error *error);

#endif
