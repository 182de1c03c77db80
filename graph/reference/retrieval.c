/* graph/reference/retrieval.c: softmax within a slice, pair by pair. */
#include <math.h>
#include <string.h>

#include "graph/ops/ops.h"
#include "graph/reference/real.h"

struct pairs {
    const real *queries, *items;
    int64_t count, width;
};

static struct pairs pairs_of(const struct kernel_call *call)
{
    const int64_t *dims = call->in[0].shape.dims;
    return (struct pairs){real_input(call, 0), real_input(call, 1), dims[0], dims[1]};
}

static double score(const struct pairs *pairs, int64_t query, int64_t item)
{
    double sum = 0;
    for (int64_t k = 0; k < pairs->width; k++) {
        sum += (double)pairs->queries[query * pairs->width + k] *
               (double)pairs->items[item * pairs->width + k];
    }
    return sum;
}

/* The greatest score of a query, and the sum of exp(score - greatest). */
struct scale {
    double most, sum;
};

static struct scale scale_of(const struct pairs *pairs, int64_t query)
{
    struct scale scale = {score(pairs, query, 0), 0};
    for (int64_t j = 1; j < pairs->count; j++) {
        scale.most = fmax(scale.most, score(pairs, query, j));
    }
    for (int64_t j = 0; j < pairs->count; j++) {
        scale.sum += exp(score(pairs, query, j) - scale.most);
    }
    return scale;
}

static void slice_softmax_cross_entropy(const struct kernel_call *call)
{
    struct pairs pairs = pairs_of(call);
    for (int64_t i = 0; i < pairs.count; i++) {
        struct scale scale = scale_of(&pairs, i);
        real_output(call, 0)[i] = (real)(log(scale.sum) - (score(&pairs, i, i) - scale.most));
    }
}

static void slice_softmax_cross_entropy_gradient(const struct kernel_call *call)
{
    struct pairs pairs = pairs_of(call);
    const size_t bytes = (size_t)(pairs.count * pairs.width) * sizeof(real);
    real *dqueries = real_output(call, 0), *ditems = real_output(call, 1);
    memset(dqueries, 0, bytes);
    memset(ditems, 0, bytes);
    for (int64_t i = 0; i < pairs.count; i++) {
        struct scale scale = scale_of(&pairs, i);
        for (int64_t j = 0; j < pairs.count; j++) {
            double p = exp(score(&pairs, i, j) - scale.most) / scale.sum;
            real slope = (real)((p - (i == j)) * (double)real_input(call, 2)[i]);
            for (int64_t k = 0; k < pairs.width; k++) {
                dqueries[i * pairs.width + k] += slope * pairs.items[j * pairs.width + k];
                ditems[j * pairs.width + k] += slope * pairs.queries[i * pairs.width + k];
            }
        }
    }
}

/* The first item with the greatest score. */
static int64_t best_of(const struct pairs *pairs, int64_t query)
{
    int64_t best = 0;
    double most = score(pairs, query, 0);
    for (int64_t j = 1; j < pairs->count; j++) {
        double found = score(pairs, query, j);
        if (found > most) {
            most = found;
            best = j;
        }
    }
    return best;
}

static void is_retrieved(const struct kernel_call *call)
{
    struct pairs pairs = pairs_of(call);
    for (int64_t i = 0; i < pairs.count; i++) { real_output(call, 0)[i] = best_of(&pairs, i) == i; }
}

const struct kernel_row REAL(reference_retrieval)[] = {
    {&op_slice_softmax_cross_entropy, slice_softmax_cross_entropy},
    {&op_slice_softmax_cross_entropy_gradient, slice_softmax_cross_entropy_gradient},
    {&op_is_retrieved, is_retrieved},
    {NULL, NULL},
};
