/*
 * graph/portable/retrieval.c: softmax within a slice. The scores of ROWS queries with all items are
 * one product of matrices, so memory grows with the slice and not with its square. Sums over
 * queries continue from block to block, and their bits do not depend on ROWS.
 */
#include <math.h>

#include "common/base/minmax.h"
#include "graph/ops/ops.h"
#include "graph/portable/table.h"
#include "kernels/portable/matmul.h"

enum { ROWS = 32 };

struct pairs {
    const float *queries, *items;
    size_t count, width;
};

static struct pairs pairs_of(const struct kernel_call *call)
{
    const int64_t *dims = call->in[0].shape.dims;
    return (struct pairs){float_input(call, 0), float_input(call, 1), (size_t)dims[0],
                          (size_t)dims[1]};
}

static struct matmul_operand plain(const float *data, size_t row)
{
    return (struct matmul_operand){.data = data, .row = row, .column = 1};
}

static struct matmul_operand turned(const float *data, size_t row)
{
    return (struct matmul_operand){.data = data, .row = 1, .column = row};
}

/* Queries [first, first + rows) times all items, into out[rows][count]. */
static struct matmul scores_of(const struct pairs *pairs, size_t first, size_t rows, float *out)
{
    return (struct matmul){.batch = 1,
                           .m = rows,
                           .n = pairs->count,
                           .k = pairs->width,
                           .a = plain(pairs->queries + first * pairs->width, pairs->width),
                           .b = turned(pairs->items, pairs->width),
                           .out = out,
                           .out_row = pairs->count};
}

/* The gradients of the same queries, from slopes[rows][count]. */
static struct matmul queries_back(const struct pairs *pairs, size_t rows, const float *slopes,
                                  float *out)
{
    return (struct matmul){.batch = 1,
                           .m = rows,
                           .n = pairs->width,
                           .k = pairs->count,
                           .a = plain(slopes, pairs->count),
                           .b = plain(pairs->items, pairs->width),
                           .out = out,
                           .out_row = pairs->width};
}

/* Their part of the gradients of all items. */
static struct matmul items_back(const struct pairs *pairs, size_t first, size_t rows,
                                const float *slopes, float *out)
{
    return (struct matmul){.batch = 1,
                           .m = pairs->count,
                           .n = pairs->width,
                           .k = rows,
                           .a = turned(slopes, pairs->count),
                           .b = plain(pairs->queries + first * pairs->width, pairs->width),
                           .out = out,
                           .out_row = pairs->width,
                           .accumulate = first > 0};
}

/* A block of scores, and behind it the workspace of the products. */
static struct kernel_needs needs(const struct kernel_call *call)
{
    struct pairs pairs = pairs_of(call);
    const struct portable *kernels = kernels_of(call);
    const struct matmul tasks[] = {scores_of(&pairs, 0, ROWS, NULL),
                                   queries_back(&pairs, ROWS, NULL, NULL),
                                   items_back(&pairs, 0, ROWS, NULL, NULL)};
    size_t most = 0;
    for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; t++) {
        most = size_max(most, matmul_workspace(kernels, &tasks[t]));
    }
    return needs_floats(ROWS * pairs.count + most, 0);
}

/* The scores of a block of queries, at the front of the workspace. */
static float *score_block(const struct kernel_call *call, const struct pairs *pairs, size_t first,
                          size_t rows)
{
    float *scores = call->workspace;
    const struct matmul task = scores_of(pairs, first, rows, scores);
    matmul_run(kernels_of(call), &task, scores + ROWS * pairs->count);
    return scores;
}

static void slice_softmax_cross_entropy(const struct kernel_call *call)
{
    struct pairs pairs = pairs_of(call);
    float *losses = float_output(call, 0);
    for (size_t first = 0; first < pairs.count; first += ROWS) {
        size_t rows = size_min(ROWS, pairs.count - first);
        float *row = score_block(call, &pairs, first, rows);
        for (size_t i = first; i < first + rows; i++, row += pairs.count) {
            const int32_t label = (int32_t)i;
            kernels_of(call)->softmax->cross_entropy(1, pairs.count, row, &label, &losses[i], row);
        }
    }
}

/* Scores of queries become the slopes of the loss along them. */
static void find_slopes(const struct kernel_call *call, const struct pairs *pairs, size_t first,
                        size_t rows, float *row)
{
    const struct softmax_kernels *softmax = kernels_of(call)->softmax;
    for (size_t i = first; i < first + rows; i++, row += pairs->count) {
        const int32_t label = (int32_t)i;
        float loss;
        softmax->cross_entropy(1, pairs->count, row, &label, &loss, row);
        softmax->cross_entropy_backward(1, pairs->count, row, &label, float_input(call, 2) + i,
                                        row);
    }
}

static void slice_softmax_cross_entropy_gradient(const struct kernel_call *call)
{
    struct pairs pairs = pairs_of(call);
    for (size_t first = 0; first < pairs.count; first += ROWS) {
        size_t rows = size_min(ROWS, pairs.count - first);
        float *slopes = score_block(call, &pairs, first, rows);
        float *workspace = slopes + ROWS * pairs.count;
        find_slopes(call, &pairs, first, rows, slopes);
        const struct matmul back[] = {
            queries_back(&pairs, rows, slopes, float_output(call, 0) + first * pairs.width),
            items_back(&pairs, first, rows, slopes, float_output(call, 1))};
        for (size_t t = 0; t < 2; t++) { matmul_run(kernels_of(call), &back[t], workspace); }
    }
}

static bool is_first_greatest(const float *row, size_t count, size_t at)
{
    size_t best = 0;
    for (size_t j = 1; j < count; j++) {
        if (row[j] > row[best]) { best = j; }
    }
    return best == at;
}

static void is_retrieved(const struct kernel_call *call)
{
    struct pairs pairs = pairs_of(call);
    for (size_t first = 0; first < pairs.count; first += ROWS) {
        size_t rows = size_min(ROWS, pairs.count - first);
        float *row = score_block(call, &pairs, first, rows);
        for (size_t i = first; i < first + rows; i++, row += pairs.count) {
            float_output(call, 0)[i] = is_first_greatest(row, pairs.count, i) ? 1 : 0;
        }
    }
}

const struct portable_row portable_retrieval[] = {
    {&op_slice_softmax_cross_entropy, slice_softmax_cross_entropy, needs, NULL},
    {&op_slice_softmax_cross_entropy_gradient, slice_softmax_cross_entropy_gradient, needs, NULL},
    {&op_is_retrieved, is_retrieved, needs, NULL},
    {NULL, NULL, NULL, NULL},
};
