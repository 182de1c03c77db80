/*
 * graph/ops/matmul.c: products of matrices in the last two dimensions. Integers: 0 and 1, whether a
 * and b are transposed; 2, whether the products of all leading indices are added to one matrix.
 */
#include <inttypes.h>

#include "graph/ops/ops.h"

static int64_t rows_of(const struct tn_shape *shape, bool transposed)
{
    return shape->dims[shape->rank - (transposed ? 1 : 2)];
}

static int64_t columns_of(const struct tn_shape *shape, bool transposed)
{
    return rows_of(shape, !transposed);
}

static enum tn_status check_operands(const struct tn_graph *graph, const struct node *node,
                                     struct error *error)
{
    for (uint32_t i = 0; i < 2; i++) {
        enum tn_status status = check_float(graph, node, i, error);
        if (status != TN_OK) { return status; }
        if (input_shape(graph, node, i)->rank < 2) {
            return error_set(error, TN_EINVAL, "input %u is not a matrix: use tn_reshape()", i);
        }
    }
    const struct tn_shape *a = input_shape(graph, node, 0), *b = input_shape(graph, node, 1);
    bool shared = b->rank == 2 && node->attributes.integers[2] == 0;
    for (uint32_t i = 0; !shared && (i + 2 < a->rank || i + 2 < b->rank); i++) {
        if (a->rank != b->rank || a->dims[i] != b->dims[i]) {
            return error_set(error, TN_EINVAL,
                             "the dimensions before the last two differ: make them equal, or b a "
                             "matrix of rank 2");
        }
    }
    return TN_OK;
}

static enum tn_status infer_matmul(const struct tn_graph *graph, struct node *node,
                                   struct error *error)
{
    const int64_t *integers = node->attributes.integers;
    enum tn_status status = check_operands(graph, node, error);
    if (status != TN_OK) { return status; }
    const struct tn_shape *a = input_shape(graph, node, 0), *b = input_shape(graph, node, 1);
    int64_t left = columns_of(a, integers[0] != 0), right = rows_of(b, integers[1] != 0);
    if (left != right) {
        return error_set(error, TN_EINVAL,
                         "the inner dimensions are %" PRId64 " and %" PRId64
                         ": make them equal, or transpose an operand",
                         left, right);
    }
    struct tn_shape *out = &node->shapes[0];
    *out = *a;
    if (integers[2] != 0) { *out = (struct tn_shape){.rank = 2}; }
    out->dims[out->rank - 2] = rows_of(a, integers[0] != 0);
    out->dims[out->rank - 1] = columns_of(b, integers[1] != 0);
    node->types[0] = TN_FLOAT32;
    return TN_OK;
}

static tn_tensor multiply(struct tn_graph *graph, tn_tensor a, tn_tensor b, bool transpose_a,
                          bool transpose_b, bool add_up)
{
    struct attributes attributes = {.integers = {transpose_a, transpose_b, add_up}};
    return graph_add(graph, &op_matmul, (tn_tensor[]){a, b}, 2, &attributes);
}

/* With y = op(a) op(b): d op(a) = dy op(b)^T and d op(b) = op(a)^T dy; a transposed operand gets
 * the transposed product. A shared b gets the sum over the leading indices. */
static void gradient_of_matmul(struct tn_graph *graph, tn_tensor self, const tn_tensor *dy,
                               tn_tensor *dx)
{
    tn_tensor a = input_of(graph, self, 0), b = input_of(graph, self, 1);
    const int64_t *integers = node_of(graph, self)->attributes.integers;
    bool ta = integers[0] != 0, tb = integers[1] != 0;
    assert(integers[2] == 0);
    bool shared = shape_of(graph, b)->rank == 2 && shape_of(graph, a)->rank > 2;
    dx[1] = tb ? multiply(graph, dy[0], a, true, ta, shared)
               : multiply(graph, a, dy[0], !ta, false, shared);
    if (!ta) {
        dx[0] = multiply(graph, dy[0], b, false, !tb, false);
    } else if (!shared) {
        dx[0] = multiply(graph, b, dy[0], tb, true, false);
    } else { /* op(b) dy^T with b shared: only the second operand may be. */
        uint32_t order[TN_RANK_MAX];
        uint32_t rank = shape_of(graph, a)->rank;
        for (uint32_t i = 0; i < rank; i++) { order[i] = i; }
        order[rank - 1] = rank - 2;
        order[rank - 2] = rank - 1;
        dx[0] = tn_permute(graph, multiply(graph, dy[0], b, false, !tb, false), order, rank);
    }
}

static double flops_of_matmul(const struct tn_graph *graph, const struct node *node)
{
    const struct tn_shape *a = input_shape(graph, node, 0);
    int64_t columns = shape_last(&node->shapes[0]);
    return 2.0 * (double)shape_elements(a) * (double)columns;
}

const struct op_type op_matmul = {
    .name = "matmul",
    .version = 1,
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .infer = infer_matmul,
    .build_gradient = gradient_of_matmul,
    .flops = flops_of_matmul,
};

tn_tensor tn_matmul(struct tn_graph *graph, tn_tensor a, tn_tensor b, bool transpose_a,
                    bool transpose_b)
{
    if (!graph_failed(graph) && a.v != 0 && transpose_a && shape_of(graph, a)->rank == 2 &&
        shape_has_batch(shape_of(graph, a))) {
        return graph_fail(graph, TN_EINVAL,
                          "matmul: input 0 is transposed, so the product would "
                          "add up the examples: give it another shape");
    }
    return multiply(graph, a, b, transpose_a, transpose_b, false);
}
