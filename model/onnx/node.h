/*
 * model/onnx/node.h: a node of a file while it is imported: its inputs, attributes and outputs.
 * Private to model/onnx/.
 *
 * An error sticks to the import; afterwards functions return defaults or TN_NONE. So the operations
 * need no check per line.
 */
#ifndef MODEL_ONNX_NODE_H
#define MODEL_ONNX_NODE_H

#include "model/onnx/value.h"

typedef struct Onnx__NodeProto Onnx__NodeProto;

enum { ONNX_LIST_MAX = 64 };

struct onnx_call {
    struct onnx_import *import;
    struct tn_graph *graph; /* The graph of the import. */
    const Onnx__NodeProto *node;
    const struct onnx_operation *operation;
    uint32_t number; /* In the file. */
};

struct onnx_operation {
    const char *name;
    void (*build)(struct onnx_call *call);
    const char *attributes; /* Those that are known, each followed by a space. */
    uint32_t inputs_least, inputs_most;
    tn_tensor (*function)(struct tn_graph *graph, tn_tensor x); /* For onnx_build_function(). */
    const char *remedy; /* For an operation that is not supported: `build` is NULL. */
};

/* Tables that end with a row without a name. */
extern const struct onnx_operation onnx_elementwise[], onnx_images[], onnx_matrices[],
    onnx_shapes[], onnx_indexes[], onnx_norms[];

struct onnx_integers {
    uint32_t count;
    int64_t at[ONNX_LIST_MAX];
};

void onnx_refuse(struct onnx_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------- inputs */

uint32_t onnx_input_count(const struct onnx_call *call);
/* NULL: it is left out. */
struct onnx_value *onnx_input(const struct onnx_call *call, uint32_t index);
/* As a tensor with the dimensions of the file. It must exist. */
tn_tensor onnx_tensor(struct onnx_call *call, uint32_t index);
/* The same, left as it is: `order` has its dimensions. NULL: an error. */
struct onnx_value *onnx_tensor_any(struct onnx_call *call, uint32_t index);
/* Integers, or a number, that are known while the graph is built. False: it is left out. */
bool onnx_static_integers(struct onnx_call *call, uint32_t index, struct onnx_integers *out);
bool onnx_static_number(struct onnx_call *call, uint32_t index, float *out);

/* ------------------------------------------------------------- attributes */

int64_t onnx_integer(struct onnx_call *call, const char *name, int64_t otherwise);
float onnx_number(struct onnx_call *call, const char *name, float otherwise);
bool onnx_integers(struct onnx_call *call, const char *name, struct onnx_integers *out);
/* "" if it is not given. */
void onnx_text(struct onnx_call *call, const char *name, char out[static 32]);
/* The attribute of this name (older opsets), or the input. False: neither is given. */
bool onnx_list(struct onnx_call *call, const char *name, uint32_t index, struct onnx_integers *out);
/* An axis of a value of this rank; negative ones count from the end. */
uint32_t onnx_axis(struct onnx_call *call, int64_t axis, uint32_t rank);

/* ------------------------------------------------------------- outputs */

uint32_t onnx_output_count(const struct onnx_call *call);
void onnx_put(struct onnx_call *call, uint32_t index, tn_tensor x);
/* Dimension i of the value is order[i] of x. */
void onnx_put_ordered(struct onnx_call *call, tn_tensor x, const uint32_t *order, uint32_t rank);
/* Integers of rank 0 or 1, or a tensor of the file. */
void onnx_put_integers(struct onnx_call *call, const struct onnx_integers *list, uint32_t rank);
/* The output is the value itself. */
void onnx_put_alias(struct onnx_call *call, const struct onnx_value *value);
void onnx_put_value(struct onnx_call *call, struct onnx_value value);

/* A name of the node, for operations that need one: "node12". */
void onnx_node_name(const struct onnx_call *call, char out[static 32]);

/* `operation->function` of input 0, elementwise. */
void onnx_build_function(struct onnx_call *call);

#endif
