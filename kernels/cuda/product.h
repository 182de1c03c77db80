/* kernels/cuda/product.h: products that skip places of k which are known to be zeros, and
 * attention over any products. Private to kernels/cuda/. */
#ifndef KERNELS_CUDA_PRODUCT_H
#define KERNELS_CUDA_PRODUCT_H

#include "kernels/cuda/families.h"

/* The outputs of PRODUCT_TILE rows from r, a multiple of it, take these places of k. */
enum { PRODUCT_TILE = 32 };

enum product_places {
    PRODUCT_ALL,
    PRODUCT_TO_ROW,   /* 0 to r + PRODUCT_TILE - 1 */
    PRODUCT_FROM_ROW, /* r to the last one */
};

/* A row-major matrix [rows][columns] of each pair; or its transposed one. */
static inline struct cuda_operand product_rows(const float *data, size_t rows, size_t columns)
{
    const struct cuda_operand operand = {data, rows * columns, columns, 1};
    return operand;
}

static inline struct cuda_operand product_columns(const float *data, size_t rows, size_t columns)
{
    const struct cuda_operand operand = {data, rows * columns, 1, columns};
    return operand;
}

CUDA_EXPORT void product_run(const struct cuda_matmul *task, enum product_places places);

/* The products of attention by any function that has the results of product_run(), which may also
 * take all places of k. */
typedef void product_function(const struct cuda_matmul *task, enum product_places places);

CUDA_EXPORT void attention_run(const struct cuda_attention *task, product_function *multiply,
                               const float *q, const float *k, const float *v, float *p,
                               float *out);
CUDA_EXPORT void attention_run_gradient(const struct cuda_attention *task,
                                        product_function *multiply,
                                        const struct cuda_attention_gradient *arrays);

#endif
