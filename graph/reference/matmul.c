/* graph/reference/matmul.c: products of matrices; each output has one accumulator. */
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

/* The last two dimensions of a value, perhaps transposed, and the number of matrices. */
struct matrices {
    const real *data;
    int64_t count, row, column; /* Distances between rows and between columns. */
    int64_t size;               /* 0: all of them are the first one. */
};

static struct matrices matrices_of(const struct kernel_call *call, uint32_t input)
{
    const struct tn_shape *shape = &call->in[input].shape;
    bool transposed = call->node->attributes.integers[input] != 0;
    int64_t columns = shape_last(shape), rows = shape->dims[shape->rank - 2];
    return (struct matrices){
        .data = real_input(call, input),
        .count = shape_elements(shape) / (rows * columns),
        .row = transposed ? 1 : columns,
        .column = transposed ? columns : 1,
        .size = rows * columns,
    };
}

/* The inner product of row i of the matrices a and column j of b, from matrix `first` on. */
static real inner(const struct matrices *a, const struct matrices *b, int64_t first, int64_t count,
                  int64_t i, int64_t j, int64_t depth)
{
    double sum = 0;
    for (int64_t m = first; m < first + count; m++) {
        const real *left = a->data + m * a->size + i * a->row;
        const real *right = b->data + m * b->size + j * b->column;
        for (int64_t k = 0; k < depth; k++) {
            sum += (double)left[k * a->column] * (double)right[k * b->row];
        }
    }
    return (real)sum;
}

void REAL(reference_product)(const struct kernel_call *call)
{
    struct matrices a = matrices_of(call, 0), b = matrices_of(call, 1);
    const struct tn_shape *left = &call->in[0].shape, *shape = &call->out[0].shape;
    bool transposed = call->node->attributes.integers[0] != 0;
    bool add_up = call->node->attributes.integers[2] != 0;
    int64_t depth = left->dims[left->rank - (transposed ? 2 : 1)];
    int64_t rows = shape->dims[shape->rank - 2], columns = shape_last(shape);
    real *out = real_output(call, 0);
    if (b.count == 1) { b.size = 0; }
    for (int64_t m = 0; m < (add_up ? 1 : a.count); m++) {
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < columns; j++) {
                *out++ = inner(&a, &b, m, add_up ? a.count : 1, i, j, depth);
            }
        }
    }
}

const struct kernel_row REAL(reference_matmul)[] = {
    {&op_matmul, REAL(reference_product)},
    {NULL, NULL},
};
