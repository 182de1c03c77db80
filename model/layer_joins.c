#include "model/layer_joins.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"

static tn_tensor build_add(struct tn_graph *graph, const tn_tensor *branches, uint32_t count)
{
    tn_tensor sum = branches[0];
    for (uint32_t i = 1; i < count; i++) { sum = tn_add(graph, sum, branches[i]); }
    return sum;
}

static tn_tensor build_multiply(struct tn_graph *graph, const tn_tensor *branches, uint32_t count)
{
    tn_tensor product = branches[0];
    for (uint32_t i = 1; i < count; i++) { product = tn_multiply(graph, product, branches[i]); }
    return product;
}

/* The sum of the products over the last dimension, which becomes 1. */
static tn_tensor build_dot(struct tn_graph *graph, const tn_tensor *branches, uint32_t count)
{
    tn_tensor product = build_multiply(graph, branches, count);
    struct tn_shape shape = tn_shape_of(graph, product);
    if (shape.rank == 0) { return TN_NONE; } /* An earlier error. */
    uint32_t last = shape.rank - 1;
    shape.dims[last] = 1;
    return tn_reshape(graph, tn_sum(graph, product, &last, 1), shape);
}

static tn_tensor build_concat(struct tn_graph *graph, const tn_tensor *branches, uint32_t count)
{
    uint32_t rank = tn_shape_of(graph, branches[0]).rank;
    return tn_concat(graph, branches, count, rank == 0 ? 0 : rank - 1);
}

static const char same[] = "end each with as many filters or units as the others, and the same "
                           "strides";

const struct layer_join layer_joins[LAYER_JOINS] = {
    {"residual", true, false, build_add,
     "end with as many filters or units as it has, and stride 1; or give \"add\" two branches"},
    {"add", false, false, build_add, same},
    {"multiply", false, false, build_multiply, same},
    {"dot", false, false, build_dot, same},
    {"concat", false, true, build_concat, "they may differ only in the last dimension"},
};

const struct layer_join *layer_join_find(const char *name)
{
    assert(name != NULL);
    for (size_t i = 0; i < LAYER_JOINS; i++) {
        if (strcmp(layer_joins[i].name, name) == 0) { return &layer_joins[i]; }
    }
    return NULL;
}

void layer_shape_text(const struct tn_graph *graph, tn_tensor x, char out[static LAYER_SHAPE_MAX])
{
    struct tn_shape shape = tn_shape_of(graph, x);
    struct text text = text_begin(out, LAYER_SHAPE_MAX);
    text_add(&text, "[");
    for (uint32_t d = 0; d < shape.rank; d++) {
        if (d > 0) { text_add(&text, ", "); }
        if (shape.dims[d] == TN_BATCH) {
            text_add(&text, "batch");
        } else {
            text_add_number(&text, (uint64_t)shape.dims[d]);
        }
    }
    text_add(&text, "]");
}

static bool fit(const struct layer_join *join, const struct tn_graph *graph, tn_tensor a,
                tn_tensor b)
{
    struct tn_shape one = tn_shape_of(graph, a), other = tn_shape_of(graph, b);
    if (one.rank != other.rank || one.rank == 0) { return false; }
    if (join->last_differs) { one.dims[one.rank - 1] = other.dims[one.rank - 1]; }
    return memcmp(one.dims, other.dims, sizeof one.dims) == 0;
}

enum tn_status layer_join_build(const struct layer_join *join, struct tn_graph *graph,
                                const tn_tensor *branches, uint32_t count, const char *where,
                                tn_tensor *out, struct error *error)
{
    assert(count >= 1 && count <= LAYER_BRANCHES_MAX);
    for (uint32_t i = 1; i < count; i++) {
        char first[LAYER_SHAPE_MAX], shape[LAYER_SHAPE_MAX];
        if (fit(join, graph, branches[0], branches[i])) { continue; }
        layer_shape_text(graph, branches[0], first);
        layer_shape_text(graph, branches[i], shape);
        if (join->with_input) {
            return error_set(error, TN_EINVAL,
                             "%s: its layers make %s of %s, so their result cannot be added to "
                             "it: %s",
                             where, shape, first, join->remedy);
        }
        return error_set(error, TN_EINVAL, "%s: branch 0 ends with %s, but branch %u with %s: %s",
                         where, first, i, shape, join->remedy);
    }
    *out = join->build(graph, branches, count);
    return TN_OK;
}
