/*
 * kernels/portable/isa/tile.h: the register tile of the matrix product: up to TILE_ROWS rows by up
 * to two vectors of columns, in one instance for each size. Only product.c includes it.
 *
 * A full tile has 28 (AVX-512, NEON) or 12 (AVX2) independent accumulators; two fma units with a
 * latency of 4 cycles need 8. Accumulators, two vectors of b and one of a fit the registers.
 */
#ifndef KERNELS_PORTABLE_ISA_TILE_H
#define KERNELS_PORTABLE_ISA_TILE_H

#include "kernels/portable/isa/vector.h"
#include "kernels/portable/product.h"

enum { TILE_VECTORS = 2, PANEL = VEC_LANES * TILE_VECTORS };
#if defined(__AVX512F__) || defined(PORTABLE_NEON)
#define TILE_ROWS 14
#else
#define TILE_ROWS 6
#endif
/* Sums that wait for their right sibling in a tree: enough for 2^16 runs. */
enum { TILE_WAITING_MAX = 16 };
enum { TILE_GROUPS = (TILE_ROWS + PRODUCT_GROUP - 1) / PRODUCT_GROUP };

/* Where a tile begins in each array of its task, and the lanes of its last vector. */
struct tile_place {
    const float *a, *b, *bias, *addend;
    float *out;
    vec_mask last;
};

/* The size of a tile: constants in each instance. `edge`: only the lanes of `place.last` of the
 * last vector exist. */
struct tile_size {
    size_t rows, vectors;
    bool edge;
};

ISA_INLINE vec tile_load(struct tile_size size, vec_mask last, const float *at, size_t v)
{
    bool some = size.edge && v + 1 == size.vectors;
    return some ? vec_load_some(last, at + v * VEC_LANES) : vec_load(at + v * VEC_LANES);
}

ISA_INLINE void tile_begin(struct tile_size size, const struct product *task,
                           const struct tile_place *place, vec sum[TILE_ROWS][TILE_VECTORS])
{
    ISA_UNROLL for (size_t i = 0; i < size.rows; i++)
    {
        ISA_UNROLL for (size_t v = 0; v < size.vectors; v++)
        {
            sum[i][v] = task->accumulate
                            ? tile_load(size, place->last, place->out + i * task->out_row, v)
                            : vec_set(0.0F);
        }
    }
}

/* One k: add the outer product of a column of `a` and a row of `b`. */
ISA_INLINE void tile_add(struct tile_size size, ptrdiff_t a_row, vec_mask last,
                         const float *const group[TILE_GROUPS], const float *b,
                         vec sum[TILE_ROWS][TILE_VECTORS])
{
    vec across[TILE_VECTORS];
    ISA_UNROLL for (size_t v = 0; v < size.vectors; v++)
    {
        across[v] = tile_load(size, last, b, v);
    }
    ISA_UNROLL for (size_t i = 0; i < size.rows; i++)
    {
        vec down = vec_set(group[i / PRODUCT_GROUP][(ptrdiff_t)(i % PRODUCT_GROUP) * a_row]);
        ISA_UNROLL for (size_t v = 0; v < size.vectors; v++)
        {
            sum[i][v] = vec_fma(down, across[v], sum[i][v]);
        }
    }
}

/* One run, from its first places in `a` and `b` on. */
ISA_INLINE void tile_add_run(struct tile_size size, const struct product *task, vec_mask last,
                             const float *a, const float *b, vec sum[TILE_ROWS][TILE_VECTORS])
{
    const ptrdiff_t a_row = task->a_row, a_step = task->a_step;
    const size_t b_step = task->b_step, run = task->run;
    const float *group[TILE_GROUPS];
    ISA_UNROLL for (size_t g = 0; g * PRODUCT_GROUP < size.rows; g++)
    {
        group[g] = a + (ptrdiff_t)g * task->a_group;
    }
    for (size_t p = 0; p < run; p++, b += b_step) {
        tile_add(size, a_row, last, group, b, sum);
        ISA_UNROLL for (size_t g = 0; g * PRODUCT_GROUP < size.rows; g++)
        {
            group[g] += a_step;
        }
    }
}

ISA_INLINE void tile_sum(struct tile_size size, const struct product *task,
                         const struct tile_place *place, vec sum[TILE_ROWS][TILE_VECTORS])
{
    const float *a = place->a, *b = place->b;
    tile_begin(size, task, place, sum);
    for (size_t r = 0; r < task->runs; r++, a += task->a_jump, b += task->b_jump) {
        tile_add_run(size, task, place->last, a, b, sum);
    }
}

/* The leaves come in order: a sum waits until that of its right sibling is complete. With
 * run r as many sums are complete as r ends with bits that are set. */
ISA_INLINE void tile_sum_tree(struct tile_size size, const struct product *task,
                              const struct tile_place *place, vec sum[TILE_ROWS][TILE_VECTORS])
{
    vec waiting[TILE_WAITING_MAX][TILE_ROWS][TILE_VECTORS];
    const float *a = place->a, *b = place->b;
    size_t depth = 0, r = 0;
    for (;;) {
        const bool is_last = r + 1 == task->runs;
        tile_begin(size, task, place, sum);
        tile_add_run(size, task, place->last, a, b, sum);
        for (size_t bits = r; depth > 0 && (is_last || (bits & 1) != 0); bits >>= 1) {
            depth--;
            ISA_UNROLL for (size_t i = 0; i < size.rows; i++)
            {
                ISA_UNROLL for (size_t v = 0; v < size.vectors; v++)
                {
                    sum[i][v] = vec_add(waiting[depth][i][v], sum[i][v]);
                }
            }
        }
        if (is_last) { return; }
        ISA_UNROLL for (size_t i = 0; i < size.rows; i++)
        {
            ISA_UNROLL for (size_t v = 0; v < size.vectors; v++)
            {
                waiting[depth][i][v] = sum[i][v];
            }
        }
        depth++, r++, a += task->a_jump, b += task->b_jump;
    }
}

ISA_INLINE void tile_end(struct tile_size size, const struct product *task,
                         const struct tile_place *place, vec sum[TILE_ROWS][TILE_VECTORS])
{
    ISA_UNROLL for (size_t i = 0; i < size.rows; i++)
    {
        ISA_UNROLL for (size_t v = 0; v < size.vectors; v++)
        {
            vec x = sum[i][v];
            if (place->bias != NULL) {
                x = vec_add(x, tile_load(size, place->last, place->bias, v));
            }
            if (place->addend != NULL) {
                const float *row = place->addend + i * task->out_row;
                x = vec_add(x, tile_load(size, place->last, row, v));
            }
            if (task->relu) { x = vec_relu(x); }
            float *at = place->out + i * task->out_row + v * VEC_LANES;
            if (size.edge && v + 1 == size.vectors) {
                vec_store_some(place->last, at, x);
            } else {
                vec_store(at, x);
            }
        }
    }
}

ISA_INLINE void tile_run(struct tile_size size, const struct product *task,
                         const struct tile_place *place)
{
    vec sum[TILE_ROWS][TILE_VECTORS];
    if (task->tree) {
        tile_sum_tree(size, task, place, sum);
    } else {
        tile_sum(size, task, place, sum);
    }
    tile_end(size, task, place, sum);
}

typedef void tile_function(const struct product *task, const struct tile_place *place);

#define TILE(r, v, e)                                                                              \
    static void tile_##r##_##v##_##e(const struct product *task, const struct tile_place *place)   \
    {                                                                                              \
        tile_run((struct tile_size){.rows = (r), .vectors = (v), .edge = (e) != 0}, task, place);  \
    }
#define TILES(r) TILE(r, 1, 0) TILE(r, 1, 1) TILE(r, 2, 0) TILE(r, 2, 1)
#define TILES_OF_ROW(r)                                                                            \
    {                                                                                              \
        {tile_##r##_1_0, tile_##r##_1_1},                                                          \
        {tile_##r##_2_0, tile_##r##_2_1},                                                          \
    },
#define TILES_LOW(X) X(1) X(2) X(3) X(4) X(5) X(6)
#if TILE_ROWS == 14
#define TILES_ALL(X) TILES_LOW(X) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
#define TILES_ALL(X) TILES_LOW(X)
#endif

TILES_ALL(TILES)

/* By rows - 1, vectors - 1, edge. */
static tile_function *const tile_functions[TILE_ROWS][TILE_VECTORS][2] = {TILES_ALL(TILES_OF_ROW)};

#endif
