/* graph/portable/elementwise.c: sums, differences, products and quotients with broadcasting. */
#include "common/base/minmax.h"
#include "graph/core/strides.h"
#include "graph/ops/ops.h"
#include "graph/portable/table.h"

/* An operand within a row of results: all of its elements in order, or one for all. */
struct operand {
    struct tn_shape shape; /* Its dimensions before those of a row. */
    const float *data;
    size_t step, row;
};

/* The size of dimension `axis` of y in an operand of fewer dimensions. */
static int64_t size_at(const struct tn_shape *shape, uint32_t missing, uint32_t axis)
{
    return axis < missing ? 1 : shape->dims[axis - missing];
}

/* Take dimension `axis` of y, the last one, into the row. False: the operand would be neither
 * repeated nor in order. */
static bool extends(const struct tn_shape *y, uint32_t axis, const struct tn_shape *shape,
                    bool is_first, size_t *step)
{
    int64_t size = size_at(shape, y->rank - shape->rank, axis);
    size_t here = size == y->dims[axis] ? 1 : 0;
    if (!is_first && here != *step) { return false; }
    *step = here;
    return true;
}

/* The number of last dimensions of y that form one row for both operands. */
static uint32_t row_dimensions(const struct tn_shape *y, const struct tn_shape *a,
                               const struct tn_shape *b, size_t *a_step, size_t *b_step)
{
    bool is_first = true;
    *a_step = 1;
    *b_step = 1;
    for (uint32_t taken = 0; taken < y->rank; taken++) {
        uint32_t axis = y->rank - 1 - taken;
        size_t a_here = *a_step, b_here = *b_step;
        if (y->dims[axis] == 1) { continue; }
        if (!extends(y, axis, a, is_first, &a_here) || !extends(y, axis, b, is_first, &b_here)) {
            return taken;
        }
        *a_step = a_here;
        *b_step = b_here;
        is_first = false;
    }
    return y->rank;
}

static struct operand operand_of(const struct kernel_call *call, uint32_t input, uint32_t taken,
                                 size_t step, size_t columns)
{
    struct operand operand = {
        .shape = call->in[input].shape,
        .data = float_input(call, input),
        .step = step,
        .row = step == 1 ? columns : 1,
    };
    operand.shape.rank -= u32_min(taken, operand.shape.rank);
    return operand;
}

static void run(const struct kernel_call *call, enum elementwise_binary which)
{
    size_t a_step = 1, b_step = 1;
    struct tn_shape rows = call->out[0].shape;
    uint32_t taken =
        row_dimensions(&rows, &call->in[0].shape, &call->in[1].shape, &a_step, &b_step);
    rows.rank -= taken;
    size_t columns = elements_of(&call->out[0]) / (size_t)shape_elements(&rows);
    struct operand a = operand_of(call, 0, taken, a_step, columns);
    struct operand b = operand_of(call, 1, taken, b_step, columns);
    struct walk left = walk_broadcast(&rows, &a.shape), right = walk_broadcast(&rows, &b.shape);
    float *out = float_output(call, 0), *end = out + elements_of(&call->out[0]);
    for (; out < end; out += columns, walk_next(&left), walk_next(&right)) {
        kernels_of(call)->elementwise->binary[which](columns, a.data + (size_t)left.at * a.row,
                                                     a.step, b.data + (size_t)right.at * b.row,
                                                     b.step, out);
    }
}

#define BINARY(name, which)                                                                        \
    static void name(const struct kernel_call *call)                                               \
    {                                                                                              \
        run(call, which);                                                                          \
    }

BINARY(add, ELEMENTWISE_ADD)
BINARY(subtract, ELEMENTWISE_SUBTRACT)
BINARY(multiply, ELEMENTWISE_MULTIPLY)
BINARY(divide, ELEMENTWISE_DIVIDE)

const struct portable_row portable_elementwise[] = {
    {&op_add, add, NULL, NULL},
    {&op_subtract, subtract, NULL, NULL},
    {&op_multiply, multiply, NULL, NULL},
    {&op_divide, divide, NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
