#include "kernels/portable/matmul.h"

#include <assert.h>

#include "common/base/minmax.h"

/* The floats of a right operand that are packed at a time within a call: a part of PART_PLACES
 * places of k, and of the columns that fit, stays in the L2 cache. */
enum { PART_FLOATS = 1 << 16, PART_PLACES = 512 };

/* Rows at most so far apart fit into the nearest caches, those of one panel, also in place. */
enum { NEAR_FLOATS = 128 };

/* Is `b` packed within the call? A product reads it in place only if its columns are neighbours.
 * Rows a multiple of 4096 bytes apart share one set of L1, so packing pays if many tiles read them.
 * Those of an operand larger than L2 are read again from farther away, so some rows suffice.
 */
static bool is_packed_in_call(const struct portable *kernels, const struct matmul *task)
{
    enum { ROWS_WORTH = 48, PAGE_FLOATS = 1024, ROWS_WORTH_FAR = 6, FAR_FLOATS = 1 << 18 };
    if (task->packed != NULL) { return false; }
    if (task->b.column != 1) { return true; }
    if (task->b.row <= NEAR_FLOATS || task->n <= kernels->product->panel_columns) { return false; }
    const size_t rows = task->b.batch == 0 ? task->m * task->batch : task->m;
    if (task->k * task->n > FAR_FLOATS) { return rows >= ROWS_WORTH_FAR; }
    return rows >= ROWS_WORTH && task->b.row % PAGE_FLOATS == 0;
}

bool matmul_packing_pays(const struct portable *kernels, const struct matmul *task)
{
    enum { ROWS_FEW = 256 }; /* They are few tiles, which read a panel. */
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

/* Between two parts of k, accumulators rest in `out`: it may be the addend. The runs of k are added
 * in one product. */
static bool cuts_places(const struct matmul *task)
{
    return task->runs <= 1 && task->addend == NULL;
}

size_t matmul_workspace(const struct portable *kernels, const struct matmul *task)
{
    if (!is_packed_in_call(kernels, task)) { return 0; }
    const size_t panel = cuts_places(task) ? 0 : task->k * kernels->product->panel_columns;
    return size_min(matmul_packed_size(kernels, task->k, task->n), size_max(PART_FLOATS, panel));
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

/* All pairs. `workspace`: for the packed `b`; NULL: it was packed before, or is read in place. */
static void run_pairs(const struct portable *kernels, const struct matmul *task, float *workspace)
{
    const float *packed = workspace != NULL ? workspace : task->packed;
    bool is_one = is_one_product(task);
    struct matmul part = *task;
    for (size_t i = 0; i < (is_one ? 1 : task->batch); i++) {
        if (workspace != NULL && (i == 0 || part.b.batch != 0)) {
            matmul_pack(kernels, part.k, part.n, &part.b, workspace);
        }
        run_rows(kernels, &part, is_one ? part.m * part.batch : part.m, packed);
        part.a.data += part.a.batch;
        part.b.data = task->packed == NULL ? part.b.data + part.b.batch : NULL;
        part.out += part.out_batch;
        if (part.addend != NULL) { part.addend += part.out_batch; }
    }
}

/* The places [place, place + places) of k, and the columns [column, column + columns). */
static struct matmul part_of(const struct matmul *task, size_t place, size_t places, size_t column,
                             size_t columns)
{
    struct matmul part = *task;
    part.k = size_min(task->k - place, places);
    part.n = size_min(task->n - column, columns);
    part.a.data += place * task->a.column;
    part.b.data += place * task->b.row + column * task->b.column;
    part.out += column;
    part.accumulate = task->accumulate || place > 0;
    const bool is_last = place + part.k == task->k;
    part.bias = is_last && task->bias != NULL ? task->bias + column : NULL;
    part.addend = is_last && task->addend != NULL ? task->addend + column : NULL;
    part.relu = is_last && task->relu;
    return part;
}

/* Pack and multiply part by part. */
static void run_parts(const struct portable *kernels, const struct matmul *task, float *workspace)
{
    const size_t panel = kernels->product->panel_columns;
    size_t places = task->k, columns = task->n;
    if (matmul_packed_size(kernels, task->k, task->n) > PART_FLOATS) {
        const size_t blocks = cuts_places(task) ? (task->k - 1) / PART_PLACES + 1 : 1;
        places = (task->k - 1) / blocks + 1;
        columns = size_max(PART_FLOATS / (places * panel), 1) * panel;
    }
    for (size_t p = 0; p < task->k; p += places) {
        for (size_t j = 0; j < task->n; j += columns) {
            const struct matmul part = part_of(task, p, places, j, columns);
            run_pairs(kernels, &part, workspace);
        }
    }
}

void matmul_run(const struct portable *kernels, const struct matmul *task, float *workspace)
{
    assert(task->batch >= 1);
    assert(task->packed == NULL || task->b.batch == 0);
    if (is_packed_in_call(kernels, task)) {
        assert(workspace != NULL);
        run_parts(kernels, task, workspace);
    } else {
        run_pairs(kernels, task, NULL);
    }
}
