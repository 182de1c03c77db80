#include "graph/core/shape.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/minmax.h"

int64_t shape_elements(const struct tn_shape *shape)
{
    int64_t count = 1;
    assert(shape->rank <= TN_RANK_MAX);
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] != TN_BATCH) { count *= shape->dims[i]; }
    }
    return count;
}

bool shape_has_batch(const struct tn_shape *shape)
{
    return shape->rank > 0 && shape->dims[0] == TN_BATCH;
}

bool shape_equal(const struct tn_shape *a, const struct tn_shape *b)
{
    if (a->rank != b->rank) { return false; }
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i]) { return false; }
    }
    return true;
}

int64_t shape_last(const struct tn_shape *shape)
{
    return shape->rank == 0 ? 1 : shape->dims[shape->rank - 1];
}

bool shape_is_valid(const struct tn_shape *shape)
{
    if (shape->rank > TN_RANK_MAX) { return false; }
    int64_t count = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t size = shape->dims[i];
        if (i == 0 && size == TN_BATCH) { continue; }
        if (size < 1 || size > SHAPE_ELEMENTS_MAX / count) { return false; }
        count *= size;
    }
    return true;
}

/* The dimension `back` places before the last; 1 if the shape is shorter. */
static int64_t dim_from_end(const struct tn_shape *shape, uint32_t back)
{
    return back < shape->rank ? shape->dims[shape->rank - 1 - back] : 1;
}

bool shape_broadcast(const struct tn_shape *a, const struct tn_shape *b, struct tn_shape *out)
{
    *out = (struct tn_shape){.rank = u32_max(a->rank, b->rank)};
    assert(out->rank <= TN_RANK_MAX);
    for (uint32_t back = 0; back < out->rank; back++) {
        int64_t left = dim_from_end(a, back), right = dim_from_end(b, back);
        if (left != right && left != 1 && right != 1) { return false; }
        out->dims[out->rank - 1 - back] = left == 1 ? right : left;
    }
    return shape_is_valid(out);
}

struct tn_shape shape_with_batch(struct tn_shape shape, int64_t count)
{
    if (shape_has_batch(&shape)) { shape.dims[0] = count; }
    return shape;
}

const char *shape_format(enum tn_type type, const struct tn_shape *shape, char out[SHAPE_TEXT_MAX])
{
    int length = snprintf(out, SHAPE_TEXT_MAX, "%s [", type_name(type));
    uint32_t rank = u32_min(shape->rank, TN_RANK_MAX);
    for (uint32_t i = 0; i < rank && length > 0; i++) {
        size_t at = (size_t)length;
        const char *comma = i == 0 ? "" : ", ";
        int more =
            shape->dims[i] == TN_BATCH
                ? snprintf(out + at, SHAPE_TEXT_MAX - at, "%sbatch", comma)
                : snprintf(out + at, SHAPE_TEXT_MAX - at, "%s%" PRId64, comma, shape->dims[i]);
        length = more < 0 || length + more >= SHAPE_TEXT_MAX - 2 ? -1 : length + more;
    }
    if (length < 0) { return "a shape too long to print"; }
    out[length] = ']';
    out[length + 1] = '\0';
    return out;
}

const char *type_name(enum tn_type type)
{
    switch (type) {
    case TN_FLOAT32: return "float32";
    case TN_INT32: return "int32";
    case TN_INT64: return "int64";
    case TN_UINT8: return "uint8";
    }
    return "unknown";
}

size_t type_size(enum tn_type type, bool wide)
{
    switch (type) {
    case TN_FLOAT32: return wide ? sizeof(double) : sizeof(float);
    case TN_INT32: return sizeof(int32_t);
    case TN_INT64: return sizeof(int64_t);
    case TN_UINT8: return sizeof(uint8_t);
    }
    assert(false && "a known type");
    return 0;
}
