/* graph/reference/gather.c: rows of a table, one-hot vectors, casts. */
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/reference/real.h"

static void gather(const struct kernel_call *call)
{
    const real *rows = real_input(call, 0);
    real *out = real_output(call, 0);
    int64_t count = call->in[0].shape.dims[0];
    int64_t width = shape_elements(&call->in[0].shape) / count;
    for (int64_t i = 0; i < shape_elements(&call->in[1].shape); i++, out += width) {
        int64_t id = integer_at(&call->in[1], i);
        if (id >= 0 && id < count) {
            memcpy(out, rows + id * width, (size_t)width * sizeof(real));
        } else {
            for (int64_t c = 0; c < width; c++) { out[c] = (real)NAN; }
        }
    }
}

/* Rows that occur several times are added in the order of positions. */
static void gather_gradient(const struct kernel_call *call)
{
    const real *dy = real_input(call, 1);
    real *out = real_output(call, 0);
    int64_t count = call->out[0].shape.dims[0], width = output_elements(call) / count;
    memset(out, 0, (size_t)output_elements(call) * sizeof(real));
    for (int64_t i = 0; i < shape_elements(&call->in[0].shape); i++, dy += width) {
        int64_t id = integer_at(&call->in[0], i);
        if (id < 0 || id >= count) { continue; } /* The loss is NaN. */
        for (int64_t c = 0; c < width; c++) { out[id * width + c] += dy[c]; }
    }
}

static void one_hot(const struct kernel_call *call)
{
    real *out = real_output(call, 0);
    int64_t depth = call->node->attributes.integers[0];
    for (int64_t i = 0; i < shape_elements(&call->in[0].shape); i++, out += depth) {
        int64_t id = integer_at(&call->in[0], i);
        bool valid = id >= 0 && id < depth;
        for (int64_t c = 0; c < depth; c++) { out[c] = valid ? (real)(c == id) : (real)NAN; }
    }
}

static void cast_to_float(const struct kernel_call *call)
{
    real *out = real_output(call, 0), scale = (real)call->node->attributes.numbers[0];
    bool is_float = call->in[0].type == TN_FLOAT32;
    for (int64_t i = 0; i < output_elements(call); i++) {
        real x = is_float ? ((const real *)call->in[0].data)[i] : (real)integer_at(&call->in[0], i);
        out[i] = x * scale;
    }
}

/* A number that is not an id, as NaN or one out of range, becomes -1, for which a gather gives
 * NaN. */
static int64_t whole(real number)
{
    return number >= 0 && number < 0x1p31F ? (int64_t)number : -1;
}

static void cast(const struct kernel_call *call)
{
    const bool is_float = call->in[0].type == TN_FLOAT32;
    if (call->out[0].type == TN_FLOAT32) {
        cast_to_float(call);
        return;
    }
    for (int64_t i = 0; i < output_elements(call); i++) {
        const int64_t x =
            is_float ? whole(((const real *)call->in[0].data)[i]) : integer_at(&call->in[0], i);
        if (call->out[0].type == TN_INT64) {
            ((int64_t *)call->out[0].data)[i] = x;
        } else {
            ((int32_t *)call->out[0].data)[i] = (int32_t)x;
        }
    }
}

/* One over the number of keys in a bag; 1 of an empty one. */
static void key_share(const struct kernel_call *call)
{
    const int64_t *integers = call->node->attributes.integers;
    const int64_t *keys = (const int64_t *)call->in[0].data + integers[0];
    const int64_t each = call->in[0].shape.dims[1];
    real *out = real_output(call, 0);
    for (int64_t i = 0; i < output_elements(call); i++, keys += each) {
        int64_t present = 0;
        for (int64_t k = 0; k < integers[1]; k++) { present += keys[k] != TN_KEY_NONE; }
        out[i] = 1 / (real)(present > 0 ? present : 1);
    }
}

const struct kernel_row REAL(reference_gather)[] = {
    {&op_gather, gather},       {&op_gather_gradient, gather_gradient},
    {&op_one_hot, one_hot},     {&op_cast, cast},
    {&op_key_share, key_share}, {NULL, NULL},
};
