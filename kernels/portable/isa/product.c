/* kernels/portable/isa/product.c: blocking and packing of the matrix product (product.h). */
#include "kernels/portable/product.h"

#include <assert.h>

#include "kernels/portable/isa/families.h"
#include "kernels/portable/isa/tile.h"

/*
 * A panel of b of BLOCK places stays in L1, and the ROWS_BLOCK rows of `a` that pass all panels
 * stay in L2. Between two blocks of k, accumulators rest in `out`.
 */
enum { BLOCK = VEC_LANES == 16 ? 512 : 256, ROWS_BLOCK = 14 * 12 };
/* Rows of `a` that are copied (copy_pays()): tiles per copy, and the stride of a copied row. */
enum { COPY_TILES = VEC_LANES == 16 ? 4 : 8, COPY_STRIDE = BLOCK + 16 };

static bool is_even(const struct product *task)
{
    return task->a_group == PRODUCT_GROUP * task->a_row;
}

/* The rows of the tile that begins at row i, when `tiles` tiles are left. Nearly equal heights: a
 * low tile waits for the latency of fma. An uneven `a` needs tiles that begin at a group. */
static size_t tile_height(const struct product *task, size_t i, size_t tiles)
{
    size_t left = task->rows - i;
    if (is_even(task)) { return left / tiles; }
    return size_min(left, TILE_ROWS / PRODUCT_GROUP * PRODUCT_GROUP);
}

/* One panel of columns, from column j. */
static void run_panel(const struct product *task, size_t j)
{
    size_t width = size_min(task->columns - j, PANEL), tiles = (task->rows - 1) / TILE_ROWS + 1;
    size_t vectors = (width + VEC_LANES - 1) / VEC_LANES, edge = width % VEC_LANES;
    struct tile_place place = {
        .b = task->b + j / PANEL * task->b_panel,
        .bias = task->bias != NULL ? task->bias + j : NULL,
        .last = vec_first(edge),
    };
    for (size_t i = 0, height; i<task->rows; i += height, tiles -= tiles> 1) {
        height = tile_height(task, i, tiles);
        place.a = is_even(task) ? task->a + (ptrdiff_t)i * task->a_row
                                : task->a + (ptrdiff_t)(i / PRODUCT_GROUP) * task->a_group;
        size_t at = i * task->out_row + j;
        place.out = task->out + at;
        place.addend = task->addend != NULL ? task->addend + at : NULL;
        tile_functions[height - 1][vectors - 1][edge != 0](task, &place);
    }
}

/* A copy of some rows of `a` pays if several panels read them and they lie a multiple of 4096 bytes
 * apart, because then they share one set of L1. */
static bool copy_pays(const struct product *task)
{
    if (task->runs > 1 || task->columns <= PANEL || !is_even(task)) { return false; }
    return (task->a_row == 1 ? task->a_step : task->a_row) % 1024 == 0 && task->run > 16;
}

/* Copy the rows of the task, as [k][rows] or as [rows][COPY_STRIDE], and let it read the copy. */
static void copy_rows(struct product *task, float *copy)
{
    if (task->a_row == 1) {
        for (size_t p = 0; p < task->run; p++) {
            memcpy(copy + p * task->rows, task->a + (ptrdiff_t)p * task->a_step,
                   task->rows * sizeof *copy);
        }
        task->a_step = (ptrdiff_t)task->rows;
    } else {
        for (size_t i = 0; i < task->rows; i++) {
            const float *from = task->a + (ptrdiff_t)i * task->a_row;
            for (size_t p = 0; p < task->run; p++) {
                copy[i * COPY_STRIDE + p] = from[(ptrdiff_t)p * task->a_step];
            }
        }
        task->a_row = COPY_STRIDE;
        task->a_group = PRODUCT_GROUP * COPY_STRIDE;
        task->a_step = 1;
    }
    task->a = copy;
}

/* All rows and columns of one block of k. */
static void run_block(const struct product *task)
{
    float copy[COPY_TILES * TILE_ROWS * COPY_STRIDE];
    bool copies = copy_pays(task);
    size_t most = copies ? COPY_TILES : ROWS_BLOCK / TILE_ROWS; /* Tiles in a block of rows. */
    size_t tiles = (task->rows - 1) / TILE_ROWS + 1, blocks = (tiles - 1) / most + 1;
    size_t length = is_even(task) ? ((tiles - 1) / blocks + 1) * TILE_ROWS : task->rows;
    for (size_t i = 0; i < task->rows; i += length) {
        struct product part = *task;
        part.rows = size_min(task->rows - i, length);
        part.a = task->a + (ptrdiff_t)i * task->a_row;
        part.out = task->out + i * task->out_row;
        part.addend = task->addend != NULL ? task->addend + i * task->out_row : NULL;
        if (copies) { copy_rows(&part, copy); }
        for (size_t j = 0; j < part.columns; j += PANEL) { run_panel(&part, j); }
    }
}

static void run(const struct product *task)
{
    assert(task->rows >= 1);
    assert(task->columns >= 1);
    assert(task->run >= 1);
    assert(task->runs >= 1);
    assert(!task->tree || (!task->accumulate && task->runs < (size_t)1 << TILE_WAITING_MAX));
    if (task->runs > 1 || task->run <= BLOCK) {
        run_block(task);
        return;
    }
    struct product part = *task;
    size_t blocks = (task->run - 1) / BLOCK + 1, length = (task->run - 1) / blocks + 1;
    for (size_t p = 0; p < task->run; p += length) {
        bool is_last = p + length >= task->run;
        part.run = size_min(task->run - p, length);
        part.a = task->a + (ptrdiff_t)p * task->a_step;
        part.b = task->b + p * task->b_step;
        part.bias = is_last ? task->bias : NULL;
        part.addend = is_last ? task->addend : NULL;
        part.relu = is_last && task->relu;
        run_block(&part);
        part.accumulate = true;
    }
}

/* One panel of `width` columns, from a matrix whose columns are neighbours. */
static void pack_rows(size_t k, size_t width, const float *b, size_t row, float *panel)
{
    if (width == PANEL) { /* A size that the compiler knows: no calls for 64 or 128 bytes. */
        for (size_t p = 0; p < k; p++, panel += PANEL, b += row) {
            memcpy(panel, b, PANEL * sizeof *panel);
        }
        return;
    }
    for (size_t p = 0; p < k; p++, panel += PANEL, b += row) {
        memcpy(panel, b, width * sizeof *panel);
        memset(panel + width, 0, (PANEL - width) * sizeof *panel);
    }
}

/* Pack the columns of a matrix of any strides. Sixteen places of each column at a time: of a
 * transposed matrix whole cache lines are read, and few are written. */
static void pack_columns(size_t k, size_t width, const float *b, size_t row, size_t column,
                         float *panel)
{
    enum { AT_ONCE = 16 };
    if (width < PANEL) { memset(panel, 0, k * PANEL * sizeof *panel); }
    for (size_t p = 0; p < k; p += AT_ONCE) {
        size_t places = size_min(k - p, AT_ONCE);
        for (size_t j = 0; j < width; j++) {
            const float *from = b + j * column + p * row;
            float *to = panel + p * PANEL + j;
            for (size_t q = 0; q < places; q++) { to[q * PANEL] = from[q * row]; }
        }
    }
}

static void pack(size_t k, size_t columns, const float *b, size_t row, size_t column, float *panels)
{
    for (size_t j = 0; j < columns; j += PANEL, panels += k * PANEL) {
        size_t width = size_min(columns - j, PANEL);
        if (column == 1) {
            pack_rows(k, width, b + j, row, panels);
        } else {
            pack_columns(k, width, b + j * column, row, column, panels);
        }
    }
}

const struct product_kernels ISA(product_kernels) = {
    .panel_columns = PANEL,
    .run = run,
    .pack = pack,
};
