#include "kernels/portable/reduce.h"

#include <assert.h>

#include "kernels/portable/isa/families.h"
#include "kernels/portable/isa/row.h"

static float sum(size_t count, const float *x)
{
    return row_sum(count, x);
}

static float greatest(size_t count, const float *x)
{
    assert(count >= 1);
    return row_greatest(count, x);
}

static double dot(size_t count, const float *x, const float *y)
{
    doubles total = doubles_zero();
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        total =
            doubles_add_products(total, wide_load_up_to(x + i, size), wide_load_up_to(y + i, size));
    }
    return doubles_sum(total);
}

/* `vectors` vectors of columns stay in registers while the rows pass. */
ISA_INLINE void sum_columns_at(size_t vectors, size_t rows, const float *matrix, size_t stride,
                               bool accumulate, float *out)
{
    wide total[4];
    ISA_UNROLL for (size_t v = 0; v < vectors; v++)
    {
        total[v] = accumulate ? wide_load(out + v * WIDE) : wide_zero();
    }
    for (size_t r = 0; r < rows; r++, matrix += stride) {
        ISA_UNROLL for (size_t v = 0; v < vectors; v++)
        {
            total[v] = wide_add(total[v], wide_load(matrix + v * WIDE));
        }
    }
    ISA_UNROLL for (size_t v = 0; v < vectors; v++)
    {
        wide_store(out + v * WIDE, total[v]);
    }
}

static void sum_rows(size_t rows, size_t columns, const float *matrix, size_t stride,
                     bool accumulate, float *out)
{
    size_t c = 0;
    for (; c + 4 * WIDE <= columns; c += 4 * WIDE) {
        sum_columns_at(4, rows, matrix + c, stride, accumulate, out + c);
    }
    for (; c + WIDE <= columns; c += WIDE) {
        sum_columns_at(1, rows, matrix + c, stride, accumulate, out + c);
    }
    size_t left = columns - c;
    if (left == 0) { return; }
    wide total = accumulate ? wide_load_some(out + c, left) : wide_zero();
    for (size_t r = 0; r < rows; r++) {
        total = wide_add(total, wide_load_some(matrix + r * stride + c, left));
    }
    wide_store_some(out + c, total, left);
}

static void sum_columns(size_t rows, size_t columns, const float *matrix, size_t stride, float *out)
{
    for (size_t r = 0; r < rows; r++) { out[r] = row_sum(columns, matrix + r * stride); }
}

const struct reduce_kernels ISA(reduce_kernels) = {
    .sum = sum,
    .greatest = greatest,
    .dot = dot,
    .sum_rows = sum_rows,
    .sum_columns = sum_columns,
};
