/*
 * model/export/onnx_operators.h: the operations of graphs as operators of ONNX. Private to
 * model/export/.
 */
#ifndef MODEL_EXPORT_ONNX_OPERATORS_H
#define MODEL_EXPORT_ONNX_OPERATORS_H

#include "model/export/onnx_builder.h"

/* Append the nodes of one operation, whose inputs have the names `in`. Returns the name of its
 * output 0; NULL: this use of the operation has no counterpart. */
typedef const char *to_onnx_write(struct to_onnx_builder *builder, const struct node *node,
                                  const char *const *in);

struct to_onnx_operator {
    const struct op_type *op;
    to_onnx_write *write; /* NULL: `name`, with the inputs as they are and no attributes. */
    const char *name;
};

/* Families, each ended by NULL. */
extern const struct to_onnx_operator to_onnx_elementwise[], to_onnx_arrange[], to_onnx_images[],
    to_onnx_tables[];

#endif
