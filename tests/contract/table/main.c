/* Trains the rows of a table with given gradients, for tests/contract/test_sparse_optimizers.py.
 *
 *   table OPTIMIZER WIDTH KEYS RATE L1 L2 < STEPS > VALUES
 *
 * The input has a step after another: their number of rows as uint32_t, the keys as uint64_t, the
 * gradients as floats. The output has the values of the keys 0 to KEYS - 1, first the initial, then
 * the trained ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ps/table/row_table.h"

enum { ROWS_MAX = 1 << 16 };

struct trial {
    struct sparse_optimizer optimizer;
    double rate;
    uint32_t width, keys;
    struct row_table *table;
    uint64_t step_keys[ROWS_MAX];
    float *numbers; /* [ROWS_MAX][width] */
};

static bool print_values(struct trial *trial)
{
    const size_t count = (size_t)trial->keys * trial->width;
    for (uint32_t k = 0; k < trial->keys; k++) { trial->step_keys[k] = k; }
    row_table_read(trial->table, row_table_step(trial->table), trial->step_keys, trial->keys,
                   trial->numbers);
    return fwrite(trial->numbers, sizeof *trial->numbers, count, stdout) == count;
}

static bool train(struct trial *trial)
{
    uint32_t rows;
    while (fread(&rows, sizeof rows, 1, stdin) == 1 && rows <= ROWS_MAX) {
        const size_t count = (size_t)rows * trial->width;
        const uint64_t step = row_table_step(trial->table);
        const struct sparse_constants constants =
            sparse_constants_of(&trial->optimizer, trial->rate, step);
        const struct sparse_rows gradient = {
            .count = rows, .keys = trial->step_keys, .values = trial->numbers};
        if (fread(trial->step_keys, sizeof *trial->step_keys, rows, stdin) != rows ||
            fread(trial->numbers, sizeof *trial->numbers, count, stdin) != count ||
            row_table_apply(trial->table, &constants, gradient, NULL) != TN_OK) {
            return false;
        }
        row_table_release(trial->table, step);
    }
    return true;
}

static bool open_trial(struct trial *trial, char **arguments)
{
    struct row_table_spec spec = {.name = "trial", .seed = 1, .scale = 0.5F};
    uint32_t kind = 0;
    while (kind < SPARSE_KINDS && strcmp(sparse_kind_names[kind], arguments[1]) != 0) { kind++; }
    if (kind == SPARSE_KINDS) { return false; }
    trial->width = (uint32_t)strtoul(arguments[2], NULL, 10);
    trial->keys = (uint32_t)strtoul(arguments[3], NULL, 10);
    trial->rate = strtod(arguments[4], NULL);
    trial->optimizer = (struct sparse_optimizer){
        .kind = (enum sparse_kind)kind,
        .momentum = 0.9,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-10,
        .l1 = strtod(arguments[5], NULL),
        .l2 = strtod(arguments[6], NULL),
    };
    spec.width = trial->width;
    spec.optimizer = trial->optimizer.kind;
    if (trial->width < 1 || trial->width > ROW_TABLE_WIDTH_MAX || trial->keys > ROWS_MAX) {
        return false;
    }
    trial->numbers = calloc((size_t)ROWS_MAX * trial->width, sizeof *trial->numbers);
    return trial->numbers != NULL && row_table_open(&spec, &trial->table, NULL) == TN_OK;
}

int main(int argc, char **argv)
{
    struct trial *trial = calloc(1, sizeof *trial);
    const bool done = argc == 7 && trial != NULL && open_trial(trial, argv) &&
                      print_values(trial) && train(trial) && print_values(trial);
    if (trial != NULL) {
        row_table_close(trial->table);
        free(trial->numbers);
    }
    free(trial);
    return done && fflush(stdout) == 0 ? 0 : 1;
}
