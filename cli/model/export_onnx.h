/*
 * cli/model/export_onnx.h: a checkpoint as an ONNX file, with the rows of its tables.
 *
 * Threads: the owner's. Blocking: on the disk.
 */
#ifndef CLI_MODEL_EXPORT_ONNX_H
#define CLI_MODEL_EXPORT_ONNX_H

#include "cli/model/saved_model.h"
#include "model/export/tensors.h"

/* Write the model of `saved`, with the metadata `facts`, which end with a key NULL. `prepared`: its
 * inputs are those of the model, not the columns of files.
 *   TN_EINVAL  the model cannot be written as ONNX; the error has the reason
 *   TN_ENOMEM */
MUST_CHECK enum tn_status export_model_onnx(struct saved_model *saved,
                                            const struct export_fact *facts, bool prepared,
                                            struct partial_file *file, struct error *error);

#endif
