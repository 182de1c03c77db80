/* graph/reference/attention.c: attention, one query after another. */
#include <math.h>
#include <string.h>

#include "common/base/minmax.h"
#include "graph/ops/ops.h"
#include "graph/reference/real.h"

/* The sizes. */
struct heads {
    int64_t count, queries, keys, width, value_width;
    bool causal;
    double scale;
};

static struct heads heads_of(const struct kernel_call *call)
{
    const struct tn_shape *q = &call->in[0].shape, *v = &call->in[2].shape;
    return (struct heads){
        .count = q->dims[0] * q->dims[1],
        .queries = q->dims[2],
        .keys = v->dims[2],
        .width = q->dims[3],
        .value_width = v->dims[3],
        .causal = call->node->attributes.integers[0] != 0,
        .scale = call->node->attributes.numbers[0],
    };
}

static double dot(const real *a, const real *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) { sum += (double)a[i] * (double)b[i]; }
    return sum;
}

/* Query i sees the keys [0, visible). */
static int64_t visible(const struct heads *heads, int64_t query)
{
    return heads->causal ? query + 1 : heads->keys;
}

/* p = softmax of one query's scores; 0 for keys that it does not see. */
static void probabilities(const struct heads *heads, const real *q, const real *k, int64_t seen,
                          real *p)
{
    double most = 0, sum = 0;
    for (int64_t j = 0; j < seen; j++) {
        double score = heads->scale * dot(q, k + j * heads->width, heads->width);
        p[j] = (real)score;
        most = j == 0 ? score : double_max(most, score);
    }
    for (int64_t j = 0; j < seen; j++) { sum += exp((double)p[j] - most); }
    for (int64_t j = 0; j < heads->keys; j++) {
        p[j] = j < seen ? (real)(exp((double)p[j] - most) / sum) : (real)0;
    }
}

static void attention(const struct kernel_call *call)
{
    struct heads heads = heads_of(call);
    const real *q = real_input(call, 0), *k = real_input(call, 1), *v = real_input(call, 2);
    real *y = real_output(call, 0), *p = real_output(call, 1);
    for (int64_t h = 0; h < heads.count; h++) {
        for (int64_t i = 0; i < heads.queries; i++) {
            probabilities(&heads, q, k, visible(&heads, i), p);
            for (int64_t c = 0; c < heads.value_width; c++) {
                double total = 0;
                for (int64_t j = 0; j < heads.keys; j++) {
                    total += (double)p[j] * (double)v[j * heads.value_width + c];
                }
                *y++ = (real)total;
            }
            q += heads.width;
            p += heads.keys;
        }
        k += heads.keys * heads.width;
        v += heads.keys * heads.value_width;
    }
}

/* One query's row of each operand, and its head's keys and values. */
struct query {
    const real *q, *k, *v, *p, *dy;
    real *dq, *dk, *dv;
};

/* dv += p dy; ds = p (dp - sum(p dp)) with dp = dy v; dq = scale ds k; dk += scale ds q. */
static void back_through_query(const struct heads *heads, const struct query *at)
{
    double outer = 0;
    for (int64_t j = 0; j < heads->keys; j++) {
        outer += (double)at->p[j] * dot(at->dy, at->v + j * heads->value_width, heads->value_width);
    }
    for (int64_t j = 0; j < heads->keys; j++) {
        const real *k = at->k + j * heads->width, *v = at->v + j * heads->value_width;
        real *dk = at->dk + j * heads->width, *dv = at->dv + j * heads->value_width;
        double p = (double)at->p[j];
        double ds = heads->scale * p * (dot(at->dy, v, heads->value_width) - outer);
        for (int64_t c = 0; c < heads->value_width; c++) { dv[c] += (real)(p * (double)at->dy[c]); }
        for (int64_t c = 0; c < heads->width; c++) {
            at->dq[c] += (real)(ds * (double)k[c]);
            dk[c] += (real)(ds * (double)at->q[c]);
        }
    }
}

static void attention_gradient(const struct kernel_call *call)
{
    struct heads heads = heads_of(call);
    for (uint32_t o = 0; o < 3; o++) {
        size_t count = (size_t)shape_elements(&call->out[o].shape);
        memset(call->out[o].data, 0, count * sizeof(real));
    }
    for (int64_t row = 0; row < heads.count * heads.queries; row++) {
        int64_t head = row / heads.queries;
        int64_t keys = head * heads.keys * heads.width;
        int64_t values = head * heads.keys * heads.value_width;
        struct query query = {
            .q = real_input(call, 0) + row * heads.width,
            .k = real_input(call, 1) + keys,
            .v = real_input(call, 2) + values,
            .p = real_input(call, 3) + row * heads.keys,
            .dy = real_input(call, 4) + row * heads.value_width,
            .dq = real_output(call, 0) + row * heads.width,
            .dk = real_output(call, 1) + keys,
            .dv = real_output(call, 2) + values,
        };
        back_through_query(&heads, &query);
    }
}

const struct kernel_row REAL(reference_attention)[] = {
    {&op_attention, attention},
    {&op_attention_gradient, attention_gradient},
    {NULL, NULL},
};
