#include "kernels/portable/matmul.h"

#include <assert.h>

/* Is `b` packed within the call? A product reads it in place only if its columns are neighbours.
 * Rows a multiple of 4096 bytes apart share one set of L1, so packing pays if many tiles read them.
 */
static bool is_packed_in_call(const struct matmul *task)
{
    enum { ROWS_WORTH = 48, PAGE_FLOATS = 1024 };
    if (task->packed != NULL) { return false; }
    if (task->b.column != 1) { return true; }
    return task->m >= ROWS_WORTH && task->b.row % PAGE_FLOATS == 0;
}

bool matmul_packing_pays(const struct portable *kernels, const struct matmul *task)
{
    /* The rows of one panel, so far apart, still fit into the nearest caches, and a panel is read
     * by few tiles. */
    enum { NEAR_FLOATS = 128, ROWS_FEW = 256 };
    if (task->b.column != 1) { return true; }
    if (task->n <= kernels->product->panel_columns) { return false; }
    return task->b.row > NEAR_FLOATS || task->m * task->batch > ROWS_FEW;
}

/* The batch is one tall product if all pairs share `b` and rows continue across pairs. */
static bool is_one_product(const struct matmul *task)
{
    if (task->batch == 1) { return true; }
    return task->b.batch == 0 && task->a.batch == task->m * task->a.row &&
           task->out_batch == task->m * task->out_row;
}

size_t matmul_packed_size(const struct portable *kernels, size_t k, size_t n)
{
    return product_packed_size(kernels->product, k, n);
}

void matmul_pack(const struct portable *kernels, size_t k, size_t n, const struct matmul_operand *b,
                 float *packed)
{
    kernels->product->pack(k, n, b->data, b->row, b->column, packed);
}

size_t matmul_workspace(const struct portable *kernels, const struct matmul *task)
{
    return is_packed_in_call(task) ? matmul_packed_size(kernels, task->k, task->n) : 0;
}

static void run_rows(const struct portable *kernels, const struct matmul *task, size_t m,
                     const float *packed)
{
    struct product_matrix a = {.data = task->a.data, .row = task->a.row, .column = task->a.column};
    struct product product =
        packed != NULL ? product_packed(kernels->product, m, task->n, task->k, a, packed, task->out,
                                        task->out_row)
                       : product_plain(kernels->product, m, task->n, task->k, a, task->b.data,
                                       task->b.row, task->out, task->out_row);
    if (task->runs > 1) {
        assert(task->k % task->runs == 0);
        product.run = task->k / task->runs;
        product.runs = task->runs;
        product.a_jump = (ptrdiff_t)product.run * product.a_step;
        product.b_jump = product.run * product.b_step;
        product.tree = true;
    }
    product.accumulate = task->accumulate;
    product.bias = task->bias;
    product.addend = task->addend;
    product.relu = task->relu;
    kernels->product->run(&product);
}

void matmul_run(const struct portable *kernels, const struct matmul *task, float *workspace)
{
    assert(task->batch >= 1);
    assert(task->packed == NULL || task->b.batch == 0);
    bool packs = is_packed_in_call(task);
    assert(!packs || workspace != NULL);
    const float *packed = packs ? workspace : task->packed;
    bool is_one = is_one_product(task);
    struct matmul part = *task;
    for (size_t i = 0; i < (is_one ? 1 : task->batch); i++) {
        if (packs && (i == 0 || part.b.batch != 0)) {
            matmul_pack(kernels, part.k, part.n, &part.b, workspace);
        }
        run_rows(kernels, &part, is_one ? part.m * part.batch : part.m, packed);
        part.a.data += part.a.batch;
        part.b.data = packed == NULL || packs ? part.b.data + part.b.batch : NULL;
        part.out += part.out_batch;
        if (part.addend != NULL) { part.addend += part.out_batch; }
    }
}
