/*
 * model/export/onnx_builder.h: an ONNX graph as it grows: nodes, initializers, and the memory of
 * all messages. Private to model/export/.
 *
 * Errors stick: after the first one, names are "" and nothing else happens. Threads: the owner's.
 */
#ifndef MODEL_EXPORT_ONNX_BUILDER_H
#define MODEL_EXPORT_ONNX_BUILDER_H

#include "graph/core/node.h"
#include "onnx.pb-c.h"

enum { ONNX_EXPORT_OPSET = 17, ONNX_EXPORT_IR = 8, ONNX_EXPORT_ML_OPSET = 3 };

struct to_onnx_memory;

struct to_onnx_builder {
    const struct tn_graph *graph; /* Canonical, of evaluations. */
    Onnx__GraphProto *proto;
    size_t node_capacity, initializer_capacity;
    size_t input_capacity;
    uint32_t names; /* Names made so far. */
    bool uses_ml;   /* Nodes of the domain ai.onnx.ml. */
    /* Further metadata. */
    Onnx__StringStringEntryProto **notes;
    size_t note_count, note_capacity;
    struct to_onnx_memory *memory;
    struct error error;
};

/* TN_ENOMEM is the builder's error. */
void to_onnx_builder_open(struct to_onnx_builder *builder, const struct tn_graph *graph);
void to_onnx_builder_close(struct to_onnx_builder *builder);

/* Zeroed memory with the lifetime of the builder. NULL: the builder has an error. */
void *to_onnx_keep(struct to_onnx_builder *builder, size_t size);
const char *to_onnx_keep_text(struct to_onnx_builder *builder, const char *text);

/* Append `item` to a list of messages. */
void to_onnx_append(struct to_onnx_builder *builder, void ***list, size_t *count, size_t *capacity,
                    void *item);

/* Append a node; its output gets the name `output`, or a new one if that is NULL. Returns the
 * name. */
const char *to_onnx_node(struct to_onnx_builder *builder, const char *operator,
                         const char * const * inputs, size_t count, const char *output);
const char *to_onnx_node1(struct to_onnx_builder *builder, const char *operator, const char * x,
                          const char *output);
const char *to_onnx_node2(struct to_onnx_builder *builder, const char *operator, const char * a,
                          const char *b, const char *output);

/* A declaration of an input or output; NULL: the builder has an error. `type`: one of ONNX. */
Onnx__ValueInfoProto *to_onnx_value(struct to_onnx_builder *builder, const char *name, int32_t type,
                                    const struct tn_shape *shape);
/* Append an input of the graph. */
void to_onnx_input(struct to_onnx_builder *builder, const char *name, int32_t type,
                   const struct tn_shape *shape);
/* Append metadata "input.NAME:ENDING" about an input, once for each. */
void to_onnx_note(struct to_onnx_builder *builder, const char *name, const char *ending,
                  const char *text);

/* The last node is an operator of the domain ai.onnx.ml. */
void to_onnx_domain_ml(struct to_onnx_builder *builder);
/* Attributes of the last node. Texts are copied. */
void to_onnx_attribute_texts(struct to_onnx_builder *builder, const char *name,
                             const char *const *texts, size_t count);
void to_onnx_attribute_int(struct to_onnx_builder *builder, const char *name, int64_t value);
void to_onnx_attribute_float(struct to_onnx_builder *builder, const char *name, float value);
void to_onnx_attribute_ints(struct to_onnx_builder *builder, const char *name,
                            const int64_t *values, size_t count);

/* Append an initializer and return its name; `name` NULL: a new one. The data are not copied. */
const char *to_onnx_initializer(struct to_onnx_builder *builder, const char *name,
                                enum tn_type type, const struct tn_shape *shape, const void *data,
                                size_t bytes);
/* The same of copied numbers: a list of integers, and a float without dimensions. */
const char *to_onnx_integers(struct to_onnx_builder *builder, const int64_t *values, size_t count);
/* [1, count], copied. */
const char *to_onnx_doubles(struct to_onnx_builder *builder, const double *values, int64_t count);
const char *to_onnx_number(struct to_onnx_builder *builder, double value);

/* The type of ONNX for a type of graphs. */
int32_t to_onnx_type_of(enum tn_type type);

#endif
