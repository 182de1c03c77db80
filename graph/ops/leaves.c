/* graph/ops/leaves.c: placeholders, variables, constants, and the values with a role: losses,
 * metrics, outputs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"

enum { CONSTANT_BYTES_MAX = 16 << 20 };

static enum tn_status infer_leaf(const struct tn_graph *graph, struct node *node,
                                 struct error *error)
{
    (void)graph, (void)error;
    node->shapes[0] = node->attributes.shape;
    node->types[0] = node->attributes.type;
    return TN_OK;
}

enum tn_status infer_from_attributes(const struct tn_graph *graph, struct node *node,
                                     struct error *error)
{
    (void)graph, (void)error;
    node->shapes[0] = node->attributes.shape;
    node->types[0] = TN_FLOAT32;
    return TN_OK;
}

const struct op_type op_placeholder = {
    .name = "placeholder",
    .version = 1,
    .traits = {.leaf = true},
    .outputs = 1,
    .infer = infer_leaf,
};

const struct op_type op_variable = {
    .name = "variable",
    .version = 1,
    .traits = {.leaf = true},
    .outputs = 1,
    .infer = infer_leaf,
};

const struct op_type op_constant = {
    .name = "constant",
    .version = 1,
    .traits = {.leaf = true},
    .outputs = 1,
    .infer = infer_leaf,
};

const struct op_type op_loss_seed = {
    .name = "loss_seed",
    .version = 1,
    .traits = {.varies = true},
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_like_input,
};

enum tn_status check_float(const struct tn_graph *graph, const struct node *node, uint32_t input,
                           struct error *error)
{
    enum tn_type type = input_type(graph, node, input);
    if (type == TN_FLOAT32) { return TN_OK; }
    return error_set(error, TN_EINVAL, "input %u is of type %s: convert it by tn_cast()", input,
                     type_name(type));
}

enum tn_status infer_like_input(const struct tn_graph *graph, struct node *node,
                                struct error *error)
{
    for (uint32_t i = 0; i < node->input_count; i++) {
        enum tn_status status = check_float(graph, node, i, error);
        if (status != TN_OK) { return status; }
        if (!shape_equal(input_shape(graph, node, i), input_shape(graph, node, 0))) {
            return error_set(error, TN_EINVAL, "input %u has another shape than input 0", i);
        }
    }
    node->shapes[0] = *input_shape(graph, node, 0);
    node->types[0] = TN_FLOAT32;
    return TN_OK;
}

/* A leaf that exists under this name, if it is the same. */
static tn_tensor reuse(struct tn_graph *graph, tn_tensor found, const struct attributes *wanted)
{
    char was[SHAPE_TEXT_MAX], now[SHAPE_TEXT_MAX];
    const struct attributes *old = &node_of(graph, found)->attributes;
    if (old->type == wanted->type && shape_equal(&old->shape, &wanted->shape)) { return found; }
    return graph_fail(
        graph, TN_EINVAL, "%s '%s' exists as %s and cannot be %s as well: use another name",
        node_of(graph, found)->op->name, wanted->name, shape_format(old->type, &old->shape, was),
        shape_format(wanted->type, &wanted->shape, now));
}

tn_tensor tn_placeholder(struct tn_graph *graph, const char *field, enum tn_type type,
                         struct tn_shape shape)
{
    assert(graph != NULL);
    if (graph_failed(graph)) { return TN_NONE; }
    if (field == NULL || field[0] == '\0' || strlen(field) >= TN_NAME_MAX) {
        return graph_fail(graph, TN_EINVAL,
                          "placeholder: the field's name must have 1 to %d "
                          "characters",
                          TN_NAME_MAX - 1);
    }
    if (!shape_has_batch(&shape) || shape.rank > TN_RANK_MAX) {
        return graph_fail(graph, TN_EINVAL,
                          "placeholder '%s': the first dimension must be TN_BATCH, and the rank at "
                          "most %d",
                          field, TN_RANK_MAX);
    }
    if (type < TN_FLOAT32 || type > TN_UINT8) {
        return graph_fail(graph, TN_EINVAL, "placeholder '%s': unknown type %d", field, (int)type);
    }
    struct attributes attributes = {.name = field, .type = type, .shape = shape};
    tn_tensor found = graph_find(graph, &op_placeholder, field);
    if (found.v != 0) { return reuse(graph, found, &attributes); }
    attributes.name = graph_keep_text(graph, field);
    return graph_add(graph, &op_placeholder, NULL, 0, &attributes);
}

tn_tensor tn_constant(struct tn_graph *graph, struct tn_view values)
{
    assert(graph != NULL && values.data != NULL);
    if (graph_failed(graph)) { return TN_NONE; }
    if (shape_has_batch(&values.shape) || !shape_is_valid(&values.shape) ||
        values.type < TN_FLOAT32 || values.type > TN_UINT8) {
        return graph_fail(graph, TN_EINVAL,
                          "constant: give a known type, at most %d dimensions, each at least 1",
                          TN_RANK_MAX);
    }
    uint64_t bytes = (uint64_t)shape_elements(&values.shape) * type_size(values.type, false);
    if (bytes > CONSTANT_BYTES_MAX) {
        return graph_fail(graph, TN_EINVAL, "constant: larger than %d MiB: make it a variable",
                          CONSTANT_BYTES_MAX >> 20);
    }
    struct attributes attributes = {.type = values.type, .shape = values.shape};
    attributes.data = graph_keep(graph, values.data, (size_t)bytes);
    attributes.data_bytes = (size_t)bytes;
    return graph_add(graph, &op_constant, NULL, 0, &attributes);
}

tn_tensor tn_scalar(struct tn_graph *graph, float value)
{
    return tn_constant(graph, (struct tn_view){.type = TN_FLOAT32, .data = &value});
}

/* The options with defaults in place, kept by the graph. NULL: they are not valid. */
static const struct tn_variable_options *keep_options(struct tn_graph *graph, const char *path,
                                                      const struct tn_shape *shape,
                                                      const struct tn_variable_options *options)
{
    struct tn_variable_options kept = {0};
    if (options != NULL) { kept = *options; }
    bool scaled = kept.init == TN_INIT_NORMAL || kept.init == TN_INIT_UNIFORM;
    if (kept.init > TN_INIT_VALUES || (scaled && !(kept.scale > 0 && isfinite(kept.scale)))) {
        graph_fail(graph, TN_EINVAL,
                   "variable '%s': unknown init, or a scale of %g: give a scale above 0", path,
                   (double)kept.scale);
        return NULL;
    }
    if (kept.update > TN_UPDATE_NEVER || !(kept.momentum >= 0 && kept.momentum < 1)) {
        graph_fail(graph, TN_EINVAL,
                   "variable '%s': unknown update, or a momentum of %g: give one in [0, 1)", path,
                   (double)kept.momentum);
        return NULL;
    }
    if (kept.init == TN_INIT_DEFAULT) {
        kept.init = shape->rank < 2 ? TN_INIT_ZEROS : TN_INIT_GLOROT_UNIFORM;
    }
    if (kept.optimizer != NULL) { kept.optimizer = graph_keep_text(graph, kept.optimizer); }
    kept.values = NULL; /* values_of() has them. */
    return graph_keep(graph, &kept, sizeof kept);
}

/* A copy of the given initial values. NULL: the graph has an error. */
static const struct shared_values *values_of(struct tn_graph *graph, const char *path,
                                             const struct tn_shape *shape, const float *values)
{
    const uint64_t count = (uint64_t)shape_elements(shape);
    if (values == NULL) {
        graph_fail(graph, TN_EINVAL, "variable '%s': its init is TN_INIT_VALUES: give `values`",
                   path);
        return NULL;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (isfinite(values[i])) { continue; }
        graph_fail(graph, TN_EINVAL,
                   "variable '%s': initial value %" PRIu64 " is %g: give finite numbers", path, i,
                   (double)values[i]);
        return NULL;
    }
    return values_copy(graph, values, count);
}

tn_tensor tn_variable(struct tn_graph *graph, const char *name, struct tn_shape shape,
                      const struct tn_variable_options *options)
{
    assert(graph != NULL);
    const char *path = graph_path(graph, name);
    if (path == NULL) { return TN_NONE; }
    struct attributes attributes = {.name = path, .type = TN_FLOAT32, .shape = shape};
    tn_tensor found = graph_find(graph, &op_variable, path);
    if (found.v != 0) { return reuse(graph, found, &attributes); }
    if (shape_has_batch(&shape) || !shape_is_valid(&shape)) {
        return graph_fail(graph, TN_EINVAL,
                          "variable '%s': give at most %d dimensions, each at least 1, none of "
                          "them TN_BATCH",
                          path, TN_RANK_MAX);
    }
    if (graph->variable_count == TN_VARIABLES_MAX) {
        return graph_fail(graph, TN_EINVAL, "variable '%s': the graph has %d variables, the limit",
                          path, TN_VARIABLES_MAX);
    }
    attributes.variable = keep_options(graph, path, &shape, options);
    if (attributes.variable == NULL) { return TN_NONE; }
    if (attributes.variable->init == TN_INIT_VALUES) {
        attributes.initial = values_of(graph, path, &shape, options->values);
        if (attributes.initial == NULL) { return TN_NONE; }
    }
    graph->variable_count++;
    return graph_add(graph, &op_variable, NULL, 0, &attributes);
}

static void add_mark(struct tn_graph *graph, const char *function, const struct mark *mark)
{
    if (graph_failed(graph)) { return; }
    if (mark->value.v == 0) {
        graph_fail(graph, TN_EINVAL, "%s: the value is TN_NONE: give a value", function);
        return;
    }
    if (graph->mark_count == GRAPH_MARKS_MAX) {
        graph_fail(graph, TN_EINVAL, "%s: the graph has %d losses, metrics and outputs, the limit",
                   function, GRAPH_MARKS_MAX);
        return;
    }
    for (uint32_t i = 0; i < graph->mark_count && mark->name != NULL; i++) {
        const struct mark *other = &graph->marks[i];
        if (other->name != NULL && strcmp(other->name, mark->name) == 0) {
            graph_fail(graph, TN_EEXIST, "%s: name '%s' exists twice: rename one", function,
                       mark->name);
            return;
        }
    }
    struct mark *added = &graph->marks[graph->mark_count++];
    *added = *mark;
    if (mark->name != NULL) { added->name = graph_keep_text(graph, mark->name); }
}

static bool is_per_example(struct tn_graph *graph, const char *function, tn_tensor x)
{
    char text[SHAPE_TEXT_MAX];
    if (graph_failed(graph) || x.v == 0) { return true; }
    const struct tn_shape *shape = shape_of(graph, x);
    enum tn_type type = tn_type_of(graph, x);
    if (type == TN_FLOAT32 && shape->rank == 1 && shape_has_batch(shape)) { return true; }
    graph_fail(graph, TN_EINVAL,
               "%s: the value is %s: give one number per example, float32 [batch]", function,
               shape_format(type, shape, text));
    return false;
}

void tn_loss(struct tn_graph *graph, tn_tensor per_example, float weight)
{
    assert(graph != NULL);
    if (!isfinite(weight)) {
        graph_fail(graph, TN_EINVAL, "tn_loss: the weight is %g: give a finite number",
                   (double)weight);
    }
    if (!is_per_example(graph, "tn_loss", per_example)) { return; }
    add_mark(graph, "tn_loss",
             &(struct mark){.kind = MARK_LOSS, .value = per_example, .weight = weight});
}

void tn_metric(struct tn_graph *graph, const char *name, tn_tensor per_example)
{
    assert(graph != NULL && name != NULL);
    if (!is_per_example(graph, "tn_metric", per_example)) { return; }
    add_mark(graph, "tn_metric",
             &(struct mark){.kind = MARK_METRIC, .name = name, .value = per_example});
}

void tn_output(struct tn_graph *graph, const char *name, tn_tensor x)
{
    assert(graph != NULL && name != NULL);
    add_mark(graph, "tn_output", &(struct mark){.kind = MARK_OUTPUT, .name = name, .value = x});
}
