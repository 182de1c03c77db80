/*
 * graph/ops/pool.c: the greatest element and the mean of windows over images. Padding takes no
 * part: it is smaller than the window, and a mean is that of the elements inside the image.
 * Integers: ops/window.h. Output 1 of max_pool is the place of each maximum within its window, row
 * * width + column, the first of equal ones: bytes if the window is small enough.
 */
#include "graph/ops/ops.h"
#include "graph/ops/window.h"

enum { PLACES_OF_BYTES = 256 };

static enum tn_status infer_pool(const struct tn_graph *graph, struct node *node,
                                 struct error *error)
{
    const struct tn_shape *x = input_shape(graph, node, 0);
    const int64_t *integers = node->attributes.integers;
    enum tn_status status = check_float(graph, node, 0, error);
    if (status != TN_OK) { return status; }
    node->types[0] = TN_FLOAT32;
    node->shapes[0] = *x;
    node->shapes[0].dims[1] = window_results(x, integers, true);
    node->shapes[0].dims[2] = window_results(x, integers, false);
    return TN_OK;
}

static enum tn_status infer_max_pool(const struct tn_graph *graph, struct node *node,
                                     struct error *error)
{
    enum tn_status status = infer_pool(graph, node, error);
    const int64_t *integers = node->attributes.integers;
    bool is_small = integers[WINDOW_HEIGHT] * integers[WINDOW_WIDTH] <= PLACES_OF_BYTES;
    node->shapes[1] = node->shapes[0];
    node->types[1] = is_small ? TN_UINT8 : TN_INT32;
    return status;
}

static void gradient_of_max_pool(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                 tn_tensor *dx)
{
    struct attributes attributes = node_of(graph, self)->attributes;
    tn_tensor inputs[] = {tensor_of(tensor_node(self), 1), dy[0]};
    attributes.shape = *shape_of(graph, input_of(graph, self, 0));
    dx[0] = graph_add(graph, &op_max_pool_gradient, inputs, 2, &attributes);
}

static void gradient_of_mean_pool(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                                  tn_tensor *dx)
{
    struct attributes attributes = node_of(graph, self)->attributes;
    attributes.shape = *shape_of(graph, input_of(graph, self, 0));
    dx[0] = graph_add(graph, &op_mean_pool_gradient, dy, 1, &attributes);
}

const struct op_type op_max_pool = {
    .name = "max_pool",
    .version = 2,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 2,
    .infer = infer_max_pool,
    .build_gradient = gradient_of_max_pool,
};

const struct op_type op_max_pool_gradient = {
    .name = "max_pool_gradient",
    .version = 2,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_from_attributes,
};

const struct op_type op_mean_pool = {
    .name = "mean_pool",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_pool,
    .build_gradient = gradient_of_mean_pool,
};

const struct op_type op_mean_pool_gradient = {
    .name = "mean_pool_gradient",
    .version = 1,
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .infer = infer_from_attributes,
};

static tn_tensor pool(struct tn_graph *graph, const struct op_type *op, tn_tensor x,
                      const struct tn_window *window)
{
    struct attributes attributes = {0};
    struct error error;
    if (!graph_failed(graph) && x.v != 0 &&
        window_resolve(shape_of(graph, x), window, &attributes, &error) != TN_OK) {
        return graph_fail(graph, TN_EINVAL, "%s: %s", op->name, error.text);
    }
    return graph_add(graph, op, &x, 1, &attributes);
}

tn_tensor tn_max_pool(struct tn_graph *graph, tn_tensor x, struct tn_window window)
{
    return pool(graph, &op_max_pool, x, &window);
}

tn_tensor tn_mean_pool(struct tn_graph *graph, tn_tensor x, struct tn_window window)
{
    return pool(graph, &op_mean_pool, x, &window);
}

/* A window over the whole image. */
static struct tn_window whole_image(const struct tn_graph *graph, tn_tensor x)
{
    struct tn_shape shape = tn_shape_of(graph, x);
    bool is_image = shape.rank == 4 && shape.dims[1] < UINT16_MAX && shape.dims[2] < UINT16_MAX;
    if (!is_image) { return (struct tn_window){0}; } /* pool() refuses other ranks. */
    return (struct tn_window){.height = (uint32_t)shape.dims[1], .width = (uint32_t)shape.dims[2]};
}

static tn_tensor global_pool(struct tn_graph *graph, const struct op_type *op, tn_tensor x)
{
    struct tn_window window = whole_image(graph, x);
    tn_tensor y = pool(graph, op, x, &window);
    if (y.v == 0) { return TN_NONE; }
    struct tn_shape shape = *shape_of(graph, y);
    return tn_reshape(graph, y, TN_SHAPE(shape.dims[0], shape.dims[3]));
}

tn_tensor tn_global_max_pool(struct tn_graph *graph, tn_tensor x)
{
    return global_pool(graph, &op_max_pool, x);
}

tn_tensor tn_global_mean_pool(struct tn_graph *graph, tn_tensor x)
{
    return global_pool(graph, &op_mean_pool, x);
}
