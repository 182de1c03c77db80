/* tests/unit/model/onnx/models.h: small ONNX models, built as messages and packed. */
#ifndef TESTS_UNIT_MODEL_ONNX_MODELS_H
#define TESTS_UNIT_MODEL_ONNX_MODELS_H

#include <stdio.h>

#include "model/onnx/file.h"
#include "model/onnx/import.h"
#include "onnx.pb-c.h"
#include "tests/unit/support/graphs.h"

enum { PARTS_MAX = 24, MODEL_BYTES_MAX = 1 << 16 };

/* All memory of a test's messages; it is never freed. */
static char pool[1 << 20];
static size_t pool_used;

static inline void *take(size_t size)
{
    void *at = pool + pool_used;
    pool_used += (size + 15) / 16 * 16;
    assert_true(pool_used <= sizeof pool);
    return at;
}

static inline char *text_of(const char *text, size_t length)
{
    char *copy = take(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

struct onnx_model {
    Onnx__ModelProto proto;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto set, *sets[1];
    Onnx__NodeProto *nodes[PARTS_MAX];
    Onnx__TensorProto *initializers[PARTS_MAX];
    Onnx__ValueInfoProto *inputs[4], *outputs[4];
};

/* The names between spaces; "-" is an empty one. */
static inline size_t split(const char *words, char ***out)
{
    size_t count = 0;
    *out = take(16 * sizeof **out);
    while (words[0] != '\0') {
        const size_t length = strcspn(words, " ");
        const bool empty = length == 1 && words[0] == '-';
        (*out)[count++] = text_of(words, empty ? 0 : length);
        words += length + (words[length] == ' ');
    }
    return count;
}

static inline Onnx__NodeProto *add_node(struct onnx_model *model, const char *op,
                                        const char *inputs, const char *outputs)
{
    Onnx__NodeProto *node = take(sizeof *node);
    onnx__node_proto__init(node);
    node->op_type = text_of(op, strlen(op));
    node->n_input = split(inputs, &node->input);
    node->n_output = split(outputs, &node->output);
    node->attribute = take(8 * sizeof *node->attribute);
    model->nodes[model->graph.n_node++] = node;
    return node;
}

static inline Onnx__AttributeProto *add_attribute(Onnx__NodeProto *node, const char *name,
                                                  Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *attribute = take(sizeof *attribute);
    onnx__attribute_proto__init(attribute);
    attribute->name = text_of(name, strlen(name));
    attribute->has_type = true;
    attribute->type = type;
    node->attribute[node->n_attribute++] = attribute;
    return attribute;
}

static inline void add_int(Onnx__NodeProto *node, const char *name, int64_t value)
{
    Onnx__AttributeProto *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    attribute->has_i = true;
    attribute->i = value;
}

static inline void add_ints(Onnx__NodeProto *node, const char *name, size_t count,
                            const int64_t *values)
{
    Onnx__AttributeProto *attribute =
        add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    attribute->n_ints = count;
    attribute->ints = take(count * sizeof *values);
    memcpy(attribute->ints, values, count * sizeof *values);
}

static inline Onnx__TensorProto *add_tensor(struct onnx_model *model, const char *name,
                                            int32_t type, size_t rank, const int64_t *dims)
{
    Onnx__TensorProto *tensor = take(sizeof *tensor);
    onnx__tensor_proto__init(tensor);
    tensor->name = text_of(name, strlen(name));
    tensor->has_data_type = true;
    tensor->data_type = type;
    tensor->n_dims = rank;
    tensor->dims = take(rank * sizeof *dims);
    if (rank > 0) { memcpy(tensor->dims, dims, rank * sizeof *dims); }
    model->initializers[model->graph.n_initializer++] = tensor;
    return tensor;
}

static inline size_t product_of(size_t rank, const int64_t *dims)
{
    size_t product = 1;
    for (size_t i = 0; i < rank; i++) { product *= (size_t)dims[i]; }
    return product;
}

/* Element i of a test's values. */
static inline float value_at(size_t i, float first)
{
    return first + 0.25F * (float)(i * 7 % 11) - 1.25F;
}

static inline void add_floats(struct onnx_model *model, const char *name, float first, size_t rank,
                              const int64_t *dims)
{
    Onnx__TensorProto *tensor =
        add_tensor(model, name, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, rank, dims);
    tensor->n_float_data = product_of(rank, dims);
    tensor->float_data = take(tensor->n_float_data * sizeof(float));
    for (size_t i = 0; i < tensor->n_float_data; i++) {
        tensor->float_data[i] = value_at(i, first);
    }
}

static inline void add_list(struct onnx_model *model, const char *name, size_t count,
                            const int64_t *values)
{
    const int64_t dims[] = {(int64_t)count};
    Onnx__TensorProto *tensor =
        add_tensor(model, name, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1, dims);
    tensor->n_int64_data = count;
    tensor->int64_data = take(count * sizeof *values);
    memcpy(tensor->int64_data, values, count * sizeof *values);
}

#define DIMS(...)                                                                                  \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[])                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* -1: a dimension without a number. */
static inline Onnx__ValueInfoProto *value_info(const char *name, size_t rank, const int64_t *dims)
{
    Onnx__ValueInfoProto *info = take(sizeof *info);
    Onnx__TypeProto *type = take(sizeof *type);
    Onnx__TypeProto__Tensor *tensor = take(sizeof *tensor);
    Onnx__TensorShapeProto *shape = take(sizeof *shape);
    onnx__value_info_proto__init(info);
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    shape->n_dim = rank;
    shape->dim = take(rank * sizeof *shape->dim);
    for (size_t i = 0; i < rank; i++) {
        shape->dim[i] = take(sizeof **shape->dim);
        onnx__tensor_shape_proto__dimension__init(shape->dim[i]);
        if (dims[i] < 0) { continue; }
        shape->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        shape->dim[i]->dim_value = dims[i];
    }
    tensor->has_elem_type = true;
    tensor->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    tensor->shape = shape;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    info->name = text_of(name, strlen(name));
    info->type = type;
    return info;
}

/* A model with the input x and the output y. */
static inline struct onnx_model *new_model(size_t rank, const int64_t *dims)
{
    struct onnx_model *model = NULL;
    pool_used = 0;
    model = take(sizeof *model);
    memset(model, 0, sizeof *model);
    onnx__model_proto__init(&model->proto);
    onnx__graph_proto__init(&model->graph);
    onnx__operator_set_id_proto__init(&model->set);
    model->proto.graph = &model->graph;
    model->proto.n_opset_import = 1;
    model->proto.opset_import = model->sets;
    model->sets[0] = &model->set;
    model->set.has_version = true;
    model->set.version = 17;
    model->graph.node = model->nodes;
    model->graph.initializer = model->initializers;
    model->graph.n_input = model->graph.n_output = 1;
    model->graph.input = model->inputs;
    model->graph.output = model->outputs;
    model->inputs[0] = value_info("x", rank, dims);
    model->outputs[0] = value_info("y", 0, NULL);
    return model;
}

static inline size_t pack(const struct onnx_model *model, uint8_t *bytes)
{
    assert_true(onnx__model_proto__get_packed_size(&model->proto) <= MODEL_BYTES_MAX);
    return onnx__model_proto__pack(&model->proto, bytes);
}

static inline struct job job_of(uint32_t inputs, uint32_t outputs)
{
    struct job job;
    job_init(&job);
    strcpy(job.model.type, "onnx");
    job.model.inputs = inputs;
    job.model.outputs = outputs;
    job.model.loss = LOSS_SQUARED_ERROR;
    return job;
}

/* Pack, decode and import; the graph has the output "y". */
static inline enum tn_status import_model(const struct onnx_model *model, const struct job *job,
                                          struct tn_graph **out, struct error *error)
{
    static uint8_t bytes[MODEL_BYTES_MAX];
    struct onnx_file file = {0};
    tn_tensor y = TN_NONE;
    *out = NULL;
    enum tn_status status = onnx_file_decode(bytes, pack(model, bytes), &file, error);
    if (status != TN_OK) { return status; }
    *out = new_graph();
    status = onnx_import(&file, job, *out, &y, error);
    onnx_file_close(&file);
    if (status == TN_OK) { tn_output(*out, "y", y); }
    return status;
}

#endif
