/*
 * kernels/cuda/attention.c: attention as products and softmax, with the bits of
 * kernels/portable/attention.h. With `causal`, products take the keys that a block of queries sees:
 * a block is a tile of product.h.
 */
#include "kernels/portable/attention.h"
#include <assert.h>

#include "kernels/cuda/product.h"
#include "kernels/cuda/row.h"

static_assert((int)PRODUCT_TILE == (int)ATTENTION_BLOCK, "tiles are blocks of queries");

/* out[m][n] = a b for each head. */
static void multiply_heads(const struct cuda_attention *task, product_function *multiply, size_t m,
                           size_t n, size_t k, struct cuda_operand a, struct cuda_operand b,
                           enum product_places places, float *out)
{
    const struct cuda_matmul product = {
        task->batch * task->heads, m, n, k, a, b, out, false, NULL, false, task->rounding};
    multiply(&product, task->causal ? places : PRODUCT_ALL);
}

static struct cuda_softmax softmax_of(const struct cuda_attention *task)
{
    const size_t rows = task->batch * task->heads * task->queries;
    const struct cuda_softmax softmax = {
        rows,       task->keys, task->queries, task->causal ? 1 : task->keys, (size_t)task->causal,
        task->scale};
    return softmax;
}

CUDA_EXPORT void attention_run(const struct cuda_attention *task, product_function *multiply,
                               const float *q, const float *k, const float *v, float *p, float *out)
{
    const size_t queries = task->queries, keys = task->keys;
    const struct cuda_softmax softmax = softmax_of(task);
    multiply_heads(task, multiply, queries, keys, task->width,
                   product_rows(q, queries, task->width), product_columns(k, keys, task->width),
                   PRODUCT_ALL, p);
    softmax_run(&softmax, p, p);
    multiply_heads(task, multiply, queries, task->value_width, keys, product_rows(p, queries, keys),
                   product_rows(v, keys, task->value_width), PRODUCT_TO_ROW, out);
}

/* dp = dout v', then ds in its place; dq = ds k, dk = ds' q, dv = p' dout. */
CUDA_EXPORT void attention_run_gradient(const struct cuda_attention *task,
                                        product_function *multiply,
                                        const struct cuda_attention_gradient *arrays)
{
    const struct cuda_attention_gradient a = *arrays;
    const size_t queries = task->queries, keys = task->keys;
    const struct cuda_softmax softmax = softmax_of(task);
    multiply_heads(task, multiply, queries, keys, task->value_width,
                   product_rows(a.dout, queries, task->value_width),
                   product_columns(a.v, keys, task->value_width), PRODUCT_ALL, a.ds);
    softmax_run_gradient(&softmax, a.p, a.ds, a.ds);
    multiply_heads(task, multiply, queries, task->width, keys, product_rows(a.ds, queries, keys),
                   product_rows(a.k, keys, task->width), PRODUCT_TO_ROW, a.dq);
    multiply_heads(task, multiply, keys, task->width, queries, product_columns(a.ds, queries, keys),
                   product_rows(a.q, queries, task->width), PRODUCT_FROM_ROW, a.dk);
    multiply_heads(task, multiply, keys, task->value_width, queries,
                   product_columns(a.p, queries, keys),
                   product_rows(a.dout, queries, task->value_width), PRODUCT_FROM_ROW, a.dv);
}

static void run_attention(const struct cuda_attention *task, const float *q, const float *k,
                          const float *v, float *p, float *out)
{
    attention_run(task, product_run, q, k, v, p, out);
}

static void run_attention_gradient(const struct cuda_attention *task,
                                   const struct cuda_attention_gradient *arrays)
{
    attention_run_gradient(task, product_run, arrays);
}

CUDA_EXPORT void CUDA_FILL(attention)(struct cuda_kernels *table)
{
    table->attention = run_attention;
    table->attention_gradient = run_attention_gradient;
}
