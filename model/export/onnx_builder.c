#include "model/export/onnx_builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/core/shape.h"

struct to_onnx_memory {
    struct to_onnx_memory *next;
    max_align_t data[];
};

static bool failed(const struct to_onnx_builder *builder)
{
    return builder->error.status != TN_OK;
}

void *to_onnx_keep(struct to_onnx_builder *builder, size_t size)
{
    struct to_onnx_memory *memory = failed(builder) ? NULL : calloc(1, sizeof *memory + size);
    if (memory == NULL) {
        if (!failed(builder)) {
            (void)error_set(&builder->error, TN_ENOMEM, "out of memory for the ONNX model");
        }
        return NULL;
    }
    memory->next = builder->memory;
    builder->memory = memory;
    return memory->data;
}

static void *keep_copy(struct to_onnx_builder *builder, const void *data, size_t size)
{
    void *copy = to_onnx_keep(builder, size);
    if (copy != NULL && size > 0) { memcpy(copy, data, size); }
    return copy;
}

const char *to_onnx_keep_text(struct to_onnx_builder *builder, const char *text)
{
    const char *copy = keep_copy(builder, text, strlen(text) + 1);
    return copy != NULL ? copy : "";
}

/* Messages have members that are not const; nothing changes what they point to. */
static char *loose(const char *text)
{
    return (char *)(uintptr_t)text;
}

void to_onnx_builder_open(struct to_onnx_builder *builder, const struct tn_graph *graph)
{
    *builder = (struct to_onnx_builder){.graph = graph};
    builder->proto = to_onnx_keep(builder, sizeof *builder->proto);
    if (builder->proto == NULL) { return; }
    onnx__graph_proto__init(builder->proto);
}

void to_onnx_builder_close(struct to_onnx_builder *builder)
{
    while (builder->memory != NULL) {
        struct to_onnx_memory *memory = builder->memory;
        builder->memory = memory->next;
        free(memory);
    }
}

void to_onnx_append(struct to_onnx_builder *builder, void ***list, size_t *count, size_t *capacity,
                    void *item)
{
    if (failed(builder)) { return; }
    if (*count == *capacity) {
        const size_t larger = *capacity == 0 ? 16 : 2 * *capacity;
        void **moved = to_onnx_keep(builder, larger * sizeof *moved);
        if (moved == NULL) { return; }
        if (*count > 0) { memcpy(moved, *list, *count * sizeof *moved); }
        *list = moved;
        *capacity = larger;
    }
    (*list)[(*count)++] = item;
}

/* No name of a variable, field or output has a '#'. */
static const char *new_name(struct to_onnx_builder *builder, const char *hint)
{
    char text[64];
    snprintf(text, sizeof text, "%s#%" PRIu32, hint, ++builder->names);
    return to_onnx_keep_text(builder, text);
}

static Onnx__TensorShapeProto__Dimension *make_dimension(struct to_onnx_builder *builder,
                                                         int64_t size)
{
    Onnx__TensorShapeProto__Dimension *dimension = to_onnx_keep(builder, sizeof *dimension);
    if (dimension == NULL) { return NULL; }
    onnx__tensor_shape_proto__dimension__init(dimension);
    if (size == TN_BATCH) {
        dimension->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        dimension->dim_param = (char *)(uintptr_t)to_onnx_keep_text(builder, "batch");
    } else {
        dimension->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        dimension->dim_value = size;
    }
    return dimension;
}

Onnx__ValueInfoProto *to_onnx_value(struct to_onnx_builder *builder, const char *name, int32_t type,
                                    const struct tn_shape *shape)
{
    Onnx__ValueInfoProto *value = to_onnx_keep(builder, sizeof *value);
    Onnx__TypeProto *proto = to_onnx_keep(builder, sizeof *proto);
    Onnx__TypeProto__Tensor *tensor = to_onnx_keep(builder, sizeof *tensor);
    Onnx__TensorShapeProto *dimensions = to_onnx_keep(builder, sizeof *dimensions);
    size_t capacity = 0;
    if (builder->error.status != TN_OK) { return NULL; }
    onnx__value_info_proto__init(value);
    onnx__type_proto__init(proto);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(dimensions);
    for (uint32_t d = 0; d < shape->rank; d++) {
        to_onnx_append(builder, (void ***)&dimensions->dim, &dimensions->n_dim, &capacity,
                       make_dimension(builder, shape->dims[d]));
    }
    tensor->has_elem_type = true;
    tensor->elem_type = type;
    tensor->shape = dimensions;
    proto->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    proto->tensor_type = tensor;
    value->name = (char *)(uintptr_t)name;
    value->type = proto;
    return value;
}

void to_onnx_input(struct to_onnx_builder *builder, const char *name, int32_t type,
                   const struct tn_shape *shape)
{
    to_onnx_append(builder, (void ***)&builder->proto->input, &builder->proto->n_input,
                   &builder->input_capacity, to_onnx_value(builder, name, type, shape));
}

void to_onnx_note(struct to_onnx_builder *builder, const char *name, const char *ending,
                  const char *text)
{
    char key[128];
    (void)snprintf(key, sizeof key, "input.%s:%s", name, ending);
    for (size_t i = 0; i < builder->note_count; i++) {
        if (strcmp(builder->notes[i]->key, key) == 0) { return; }
    }
    Onnx__StringStringEntryProto *entry = to_onnx_keep(builder, sizeof *entry);
    if (entry == NULL) { return; }
    onnx__string_string_entry_proto__init(entry);
    entry->key = loose(to_onnx_keep_text(builder, key));
    entry->value = loose(to_onnx_keep_text(builder, text));
    to_onnx_append(builder, (void ***)&builder->notes, &builder->note_count,
                   &builder->note_capacity, entry);
}

const char *to_onnx_node(struct to_onnx_builder *builder, const char *operator,
                         const char * const * inputs, size_t count, const char *output)
{
    Onnx__NodeProto *node = to_onnx_keep(builder, sizeof *node);
    char **names = to_onnx_keep(builder, (count + 1) * sizeof *names);
    if (output == NULL) { output = new_name(builder, operator); }
    if (failed(builder)) { return ""; }
    onnx__node_proto__init(node);
    for (size_t i = 0; i < count; i++) { names[i] = loose(inputs[i]); }
    names[count] = loose(output);
    node->n_input = count;
    node->input = names;
    node->n_output = 1;
    node->output = names + count;
    node->name = loose(output);
    node->op_type = loose(to_onnx_keep_text(builder, operator));
    to_onnx_append(builder, (void ***)&builder->proto->node, &builder->proto->n_node,
                   &builder->node_capacity, node);
    return output;
}

const char *to_onnx_node1(struct to_onnx_builder *builder, const char *operator, const char * x,
                          const char *output)
{
    return to_onnx_node(builder, operator, & x, 1, output);
}

const char *to_onnx_node2(struct to_onnx_builder *builder, const char *operator, const char * a,
                          const char *b, const char *output)
{
    return to_onnx_node(builder, operator,(const char *[]){a, b}, 2, output);
}

/* A new attribute of the last node; NULL: the builder has an error. */
static Onnx__AttributeProto *add_attribute(struct to_onnx_builder *builder, const char *name,
                                           Onnx__AttributeProto__AttributeType type)
{
    Onnx__AttributeProto *attribute = to_onnx_keep(builder, sizeof *attribute);
    if (attribute == NULL) { return NULL; }
    assert(builder->proto->n_node > 0);
    Onnx__NodeProto *node = builder->proto->node[builder->proto->n_node - 1];
    size_t capacity = node->n_attribute;
    onnx__attribute_proto__init(attribute);
    attribute->name = loose(to_onnx_keep_text(builder, name));
    attribute->has_type = true;
    attribute->type = type;
    to_onnx_append(builder, (void ***)&node->attribute, &node->n_attribute, &capacity, attribute);
    return failed(builder) ? NULL : attribute;
}

void to_onnx_attribute_int(struct to_onnx_builder *builder, const char *name, int64_t value)
{
    Onnx__AttributeProto *attribute =
        add_attribute(builder, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    if (attribute == NULL) { return; }
    attribute->has_i = true;
    attribute->i = value;
}

void to_onnx_attribute_float(struct to_onnx_builder *builder, const char *name, float value)
{
    Onnx__AttributeProto *attribute =
        add_attribute(builder, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    if (attribute == NULL) { return; }
    attribute->has_f = true;
    attribute->f = value;
}

void to_onnx_attribute_ints(struct to_onnx_builder *builder, const char *name,
                            const int64_t *values, size_t count)
{
    Onnx__AttributeProto *attribute =
        add_attribute(builder, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    if (attribute == NULL) { return; }
    attribute->ints = keep_copy(builder, values, count * sizeof *values);
    attribute->n_ints = count;
}

void to_onnx_attribute_texts(struct to_onnx_builder *builder, const char *name,
                             const char *const *texts, size_t count)
{
    Onnx__AttributeProto *attribute =
        add_attribute(builder, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
    ProtobufCBinaryData *list = to_onnx_keep(builder, (count + 1) * sizeof *list);
    if (attribute == NULL || list == NULL) { return; }
    for (size_t i = 0; i < count; i++) {
        list[i].len = strlen(texts[i]);
        list[i].data = keep_copy(builder, texts[i], list[i].len);
    }
    attribute->strings = list;
    attribute->n_strings = count;
}

void to_onnx_domain_ml(struct to_onnx_builder *builder)
{
    if (failed(builder)) { return; }
    assert(builder->proto->n_node > 0);
    builder->proto->node[builder->proto->n_node - 1]->domain =
        loose(to_onnx_keep_text(builder, "ai.onnx.ml"));
    builder->uses_ml = true;
}

int32_t to_onnx_type_of(enum tn_type type)
{
    switch (type) {
    case TN_FLOAT32: break;
    case TN_INT32: return ONNX__TENSOR_PROTO__DATA_TYPE__INT32;
    case TN_INT64: return ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    case TN_UINT8: return ONNX__TENSOR_PROTO__DATA_TYPE__UINT8;
    }
    return ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
}

static const char *add_initializer(struct to_onnx_builder *builder, const char *name, int32_t type,
                                   const struct tn_shape *shape, const void *data, size_t bytes)
{
    Onnx__TensorProto *tensor = to_onnx_keep(builder, sizeof *tensor);
    if (name == NULL) { name = new_name(builder, "constant"); }
    if (failed(builder)) { return ""; }
    onnx__tensor_proto__init(tensor);
    tensor->name = loose(name);
    tensor->n_dims = shape->rank;
    tensor->dims = keep_copy(builder, shape->dims, shape->rank * sizeof *shape->dims);
    tensor->has_data_type = true;
    tensor->data_type = type;
    tensor->has_raw_data = true;
    tensor->raw_data.len = bytes;
    tensor->raw_data.data = (uint8_t *)(uintptr_t)data;
    to_onnx_append(builder, (void ***)&builder->proto->initializer, &builder->proto->n_initializer,
                   &builder->initializer_capacity, tensor);
    return name;
}

const char *to_onnx_initializer(struct to_onnx_builder *builder, const char *name,
                                enum tn_type type, const struct tn_shape *shape, const void *data,
                                size_t bytes)
{
    return add_initializer(builder, name, to_onnx_type_of(type), shape, data, bytes);
}

const char *to_onnx_integers(struct to_onnx_builder *builder, const int64_t *values, size_t count)
{
    const struct tn_shape shape = {.rank = 1, .dims = {(int64_t)count}};
    const size_t bytes = count * sizeof *values;
    const void *copy = keep_copy(builder, values, bytes);
    return to_onnx_initializer(builder, NULL, TN_INT64, &shape, copy, bytes);
}

const char *to_onnx_number(struct to_onnx_builder *builder, double value)
{
    const struct tn_shape shape = {.rank = 0};
    const float number = (float)value;
    const void *copy = keep_copy(builder, &number, sizeof number);
    return to_onnx_initializer(builder, NULL, TN_FLOAT32, &shape, copy, sizeof number);
}

const char *to_onnx_doubles(struct to_onnx_builder *builder, const double *values, int64_t count)
{
    const struct tn_shape shape = TN_SHAPE(1, count);
    const size_t bytes = (size_t)count * sizeof *values;
    const void *copy = values != NULL ? keep_copy(builder, values, bytes) : NULL;
    const int32_t type = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE;
    return add_initializer(builder, NULL, type, &shape, copy, bytes);
}
