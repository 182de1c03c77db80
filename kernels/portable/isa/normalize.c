#include "kernels/portable/normalize.h"

#include <assert.h>
#include <math.h>

#include "kernels/portable/isa/families.h"
#include "kernels/portable/isa/row.h"

/* Lanes behind the end of the row hold 0, not -mean. */
ISA_INLINE wide deviation(const float *x, size_t size, float mean)
{
    wide d = wide_subtract(wide_load_up_to(x, size), wide_set(mean));
    if (size == WIDE) { return d; }
    float lane[WIDE];
    wide_store(lane, d);
    return wide_load_some(lane, size);
}

static void layer_forward(const struct layer_norm *task, const float *bias, float epsilon, float *y)
{
    assert(task->columns >= 1);
    const size_t columns = task->columns;
    const float share = 1.0F / (float)columns, *x = task->x;
    for (size_t r = 0; r < task->rows; r++, x += columns, y += columns) {
        float mean = row_sum(columns, x) * share;
        wide squares = wide_zero();
        for (size_t i = 0, size; i < columns; i += size) {
            size = size_min(columns - i, WIDE);
            wide d = deviation(x + i, size, mean);
            squares = wide_fma(d, d, squares);
        }
        float rstd = 1.0F / sqrtf(wide_sum(squares) * share + epsilon);
        for (size_t i = 0, size; i < columns; i += size) {
            size = size_min(columns - i, WIDE);
            wide d = wide_subtract(wide_load_up_to(x + i, size), wide_set(mean));
            wide normal = wide_multiply(d, wide_set(rstd));
            wide gain = wide_load_up_to(task->gain + i, size);
            wide_store_up_to(y + i, wide_fma(normal, gain, wide_load_up_to(bias + i, size)), size);
        }
        task->mean[r] = mean;
        task->rstd[r] = rstd;
    }
}

/* The parts of one vector of a row's gradient: (x - mean) rstd, and dy gain. */
struct parts {
    wide dy, normal, scaled;
};

ISA_INLINE struct parts parts_at(const struct layer_norm *task, size_t row, size_t i, size_t size,
                                 const float *dy)
{
    const float *x = task->x + row * task->columns + i;
    wide d = wide_subtract(wide_load_up_to(x, size), wide_set(task->mean[row]));
    struct parts parts = {
        .dy = wide_load_up_to(dy + i, size),
        .normal = wide_multiply(d, wide_set(task->rstd[row])),
    };
    parts.scaled = wide_multiply(parts.dy, wide_load_up_to(task->gain + i, size));
    return parts;
}

/* dx = rstd (scaled - mean(scaled) - normal mean(scaled normal)). Behind the end of a row, `scaled`
 * is 0, so sums are not disturbed. */
static void layer_backward(const struct layer_norm *task, const float *dy, float *dx, float *dgain,
                           float *dbias)
{
    const size_t columns = task->columns;
    const float share = 1.0F / (float)columns;
    for (size_t r = 0; r < task->rows; r++, dy += columns, dx += columns) {
        wide sum = wide_zero(), product = wide_zero();
        for (size_t i = 0, size; i < columns; i += size) {
            size = size_min(columns - i, WIDE);
            struct parts at = parts_at(task, r, i, size, dy);
            sum = wide_add(sum, at.scaled);
            product = wide_fma(at.scaled, at.normal, product);
        }
        const wide a = wide_set(wide_sum(sum) * share), b = wide_set(wide_sum(product) * share);
        for (size_t i = 0, size; i < columns; i += size) {
            size = size_min(columns - i, WIDE);
            struct parts at = parts_at(task, r, i, size, dy);
            wide gain = wide_fma(at.dy, at.normal, wide_load_up_to(dgain + i, size));
            wide_store_up_to(dgain + i, gain, size);
            wide_store_up_to(dbias + i, wide_add(at.dy, wide_load_up_to(dbias + i, size)), size);
            wide rest = wide_fma(wide_negative(at.normal), b, wide_subtract(at.scaled, a));
            wide_store_up_to(dx + i, wide_multiply(wide_set(task->rstd[r]), rest), size);
        }
    }
}

const struct normalize_kernels ISA(normalize_kernels) = {
    .layer_forward = layer_forward,
    .layer_backward = layer_backward,
};
