/* graph/reference/arrange.c: operations that move elements. All but pad work on any type. */
#include <string.h>

#include "common/base/short_copy.h"
#include "graph/core/strides.h"
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

#ifdef REFERENCE_WIDE
static const bool wide = true;
#else
static const bool wide = false;
#endif

static void permute(const struct kernel_call *call)
{
    size_t size = type_size(call->in[0].type, wide);
    const uint8_t *x = call->in[0].data;
    uint8_t *out = call->out[0].data;
    const int64_t *order = call->node->attributes.integers;
    struct tn_shape moved = call->out[0].shape; /* The last axes may stay: they are copied whole. */
    int64_t stride[TN_RANK_MAX];
    shape_strides(&call->in[0].shape, stride);
    while (moved.rank > 0 && order[moved.rank - 1] == moved.rank - 1) {
        size *= (size_t)moved.dims[--moved.rank];
    }
    int64_t run = shape_elements(&call->out[0].shape) / shape_elements(&moved);
    struct walk from = {.shape = &moved};
    for (uint32_t i = 0; i < moved.rank; i++) { from.stride[i] = stride[order[i]] / run; }
    for (int64_t i = 0; i < shape_elements(&moved); i++, walk_next(&from)) {
        memcpy(out + (size_t)i * size, x + (size_t)from.at * size, size);
    }
}

/* The number of runs before `axis`, and the bytes of one run from it on. */
static size_t runs_of(const struct tn_shape *shape, int64_t axis)
{
    size_t runs = 1;
    for (int64_t i = 0; i < axis; i++) { runs *= (size_t)shape->dims[i]; }
    return runs;
}

static size_t run_bytes(const struct tn_view *view, int64_t axis)
{
    size_t bytes = type_size(view->type, wide);
    for (uint32_t i = (uint32_t)axis; i < view->shape.rank; i++) {
        bytes *= (size_t)view->shape.dims[i];
    }
    return bytes;
}

static void concat(const struct kernel_call *call)
{
    int64_t axis = call->node->attributes.integers[0];
    size_t runs = runs_of(&call->out[0].shape, axis), whole = run_bytes(&call->out[0], axis);
    size_t at = 0;
    for (uint32_t i = 0; i < call->node->input_count; i++) {
        size_t part = run_bytes(&call->in[i], axis);
        for (size_t r = 0; r < runs; r++) {
            short_copy((uint8_t *)call->out[0].data + r * whole + at,
                       (const uint8_t *)call->in[i].data + r * part, part);
        }
        at += part;
    }
}

static void slice(const struct kernel_call *call)
{
    const int64_t *integers = call->node->attributes.integers;
    size_t runs = runs_of(&call->out[0].shape, integers[0]);
    size_t whole = run_bytes(&call->in[0], integers[0]);
    size_t part = run_bytes(&call->out[0], integers[0]);
    size_t first = part / (size_t)integers[2] * (size_t)integers[1];
    for (size_t r = 0; r < runs; r++) {
        short_copy((uint8_t *)call->out[0].data + r * part,
                   (const uint8_t *)call->in[0].data + r * whole + first, part);
    }
}

static void pad(const struct kernel_call *call)
{
    const int64_t *integers = call->node->attributes.integers;
    size_t runs = runs_of(&call->out[0].shape, integers[0]);
    size_t whole = run_bytes(&call->out[0], integers[0]) / sizeof(real);
    size_t part = run_bytes(&call->in[0], integers[0]) / sizeof(real);
    size_t first = part / (size_t)call->in[0].shape.dims[integers[0]] * (size_t)integers[1];
    const real *x = real_input(call, 0);
    real *out = real_output(call, 0), value = (real)call->node->attributes.numbers[0];
    for (size_t r = 0; r < runs; r++, out += whole) {
        for (size_t i = 0; i < first; i++) { out[i] = value; }
        memcpy(out + first, x + r * part, part * sizeof(real));
        for (size_t i = first + part; i < whole; i++) { out[i] = value; }
    }
}

const struct kernel_row REAL(reference_arrange)[] = {
    {&op_permute, permute}, {&op_concat, concat}, {&op_slice, slice}, {&op_pad, pad}, {NULL, NULL},
};
