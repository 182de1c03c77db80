#include "kernels/portable/product.h"

#include <assert.h>

struct product product_plain(const struct product_kernels *kernels, size_t m, size_t n, size_t k,
                             struct product_matrix a, const float *b, size_t row, float *out,
                             size_t out_row)
{
    assert(out_row >= n);
    return (struct product){
        .rows = m,
        .columns = n,
        .run = k,
        .runs = 1,
        .a = a.data,
        .a_row = (ptrdiff_t)a.row,
        .a_group = PRODUCT_GROUP * (ptrdiff_t)a.row,
        .a_step = (ptrdiff_t)a.column,
        .b = b,
        .b_panel = kernels->panel_columns,
        .b_step = row,
        .out = out,
        .out_row = out_row,
    };
}

struct product product_packed(const struct product_kernels *kernels, size_t m, size_t n, size_t k,
                              struct product_matrix a, const float *panels, float *out,
                              size_t out_row)
{
    struct product task =
        product_plain(kernels, m, n, k, a, panels, kernels->panel_columns, out, out_row);
    task.b_panel = k * kernels->panel_columns;
    return task;
}
