#include "kernels/portable/tree_rows.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

enum { WAITING_MAX = 17, COLUMNS = 256 /* The sums of a piece stay in the first-level cache. */ };

static void add(size_t count, const float *restrict from, float *restrict into)
{
    for (size_t i = 0; i < count; i++) { into[i] = from[i] + into[i]; }
}

/* At most COLUMNS columns, `stride` floats from row to row. A sum waits until its right sibling is
 * complete, as in isa/tile.h. */
static void sum_piece(const struct reduce_kernels *kernels, size_t runs, size_t rows,
                      size_t columns, size_t stride, const float *matrix, float *out)
{
    _Alignas(64) float sums[WAITING_MAX][COLUMNS];
    size_t depth = 0;
    for (size_t r = 0; r < runs; r++, matrix += rows * stride) {
        const bool is_last = r + 1 == runs;
        assert(depth < WAITING_MAX);
        if (stride == 1) {
            sums[depth][0] = kernels->sum(rows, matrix);
        } else {
            kernels->sum_rows(rows, columns, matrix, stride, false, sums[depth]);
        }
        for (size_t bits = r; depth > 0 && (is_last || (bits & 1) != 0); bits >>= 1, depth--) {
            add(columns, sums[depth], sums[depth - 1]);
        }
        depth++;
    }
    memcpy(out, sums[0], columns * sizeof *out);
}

void tree_rows_sum(const struct reduce_kernels *kernels, size_t runs, size_t rows, size_t columns,
                   const float *matrix, float *out)
{
    assert(runs >= 1 && runs < (size_t)1 << (WAITING_MAX - 1) && rows % runs == 0);
    for (size_t c = 0; c < columns; c += COLUMNS) {
        const size_t width = size_min(columns - c, COLUMNS);
        sum_piece(kernels, runs, rows / runs, width, columns, matrix + c, out + c);
    }
}
