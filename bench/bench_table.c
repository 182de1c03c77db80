/*
 * bench/bench_table.c: rows of tables (ps/table) per second, over the machine's rate of random
 * reads of rows, in alternating rounds in one process.
 *
 *   bench_table [ROUNDS [ROWS]]        default: 9 rounds, 4 million rows
 *   bench_table ROUNDS ROWS lookup     for bench/run: rows/s and those of random reads, each round
 *   bench_table ROUNDS ROWS apply      the same
 *   bench_table ROUNDS ROWS bytes      bytes of a row, and those of its values, state and key
 *
 * The limit: rows of 64 bytes are copied from random places of one array, whose addresses are known
 * long before. A table's row has as many values, 16, and row-wise Adagrad. `lookup` reads trained
 * rows, `untrained` rows that take no memory, `apply` updates them. Batches are as large as those
 * of a step. Then all rows are saved, and those that some more batches have touched: how long the
 * owner waits, and the bytes of the file over those of its rows, without their keys. The file is in
 * the present folder, and removed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure.h"
#include "common/base/clock.h"
#include "common/base/random.h"
#include "ps/table/row_table.h"
#include "ps/table/rows_file.h"

enum { WIDTH = 16, BATCH = 8192, BATCHES = 64, SAVED_BATCHES = 16 };

struct setting {
    uint64_t rows;
    float *array; /* [rows][WIDTH] */
    struct row_table *table;
    uint64_t keys[BATCH];
    float values[BATCH * WIDTH];
    struct random random;
    uint64_t untrained; /* The next key that no row has. */
};

static uint64_t key_of(uint64_t row)
{
    return row * UINT64_C(0x9e3779b97f4a7c15) >> 1;
}

static void read_array(struct setting *s)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        memcpy(s->values + (size_t)i * WIDTH, s->array + s->keys[i] * WIDTH, WIDTH * sizeof(float));
    }
}

static void look_up(struct setting *s)
{
    row_table_read(s->table, row_table_step(s->table), s->keys, BATCH, s->values);
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static bool apply(struct setting *s, uint64_t count)
{
    static const struct sparse_optimizer optimizer = {.kind = SPARSE_ROW_ADAGRAD, .epsilon = 1e-8};
    const struct sparse_constants constants = sparse_constants_of(&optimizer, 0.01, 0);
    const struct sparse_rows rows = {.count = count, .keys = s->keys, .values = s->values};
    if (row_table_apply(s->table, &constants, rows, NULL) != TN_OK) { return false; }
    row_table_release(s->table, row_table_step(s->table) - 1);
    return true;
}

/* Distinct keys of trained rows in ascending order. */
static uint64_t draw_ascending(struct setting *s)
{
    uint64_t kept = 0;
    for (uint32_t i = 0; i < BATCH; i++) { s->keys[i] = key_of(random_below(&s->random, s->rows)); }
    qsort(s->keys, BATCH, sizeof *s->keys, compare_keys);
    for (uint32_t i = 0; i < BATCH; i++) {
        if (kept == 0 || s->keys[kept - 1] != s->keys[i]) { s->keys[kept++] = s->keys[i]; }
    }
    return kept;
}

/* Train every row once. */
static bool fill(struct setting *s)
{
    for (uint64_t first = 0; first < s->rows; first += BATCH) {
        const uint64_t count = s->rows - first < BATCH ? s->rows - first : BATCH;
        for (uint64_t i = 0; i < count; i++) { s->keys[i] = key_of(first + i); }
        qsort(s->keys, count, sizeof *s->keys, compare_keys);
        if (!apply(s, count)) { return false; }
    }
    return true;
}

enum kind { LIMIT, LOOKUP, UNTRAINED, APPLY, KINDS };

/* Rows per second; 0: out of memory. */
static double rows_per_second(struct setting *s, enum kind kind)
{
    uint64_t spent_ns = 0, done = 0;
    for (int b = 0; b < BATCHES; b++) {
        uint64_t count = BATCH;
        if (kind == APPLY) {
            count = draw_ascending(s);
        } else {
            for (uint32_t i = 0; i < BATCH; i++) {
                const uint64_t row = random_below(&s->random, s->rows);
                s->keys[i] = kind == LIMIT    ? row
                             : kind == LOOKUP ? key_of(row)
                                              : key_of(s->rows + s->untrained++);
            }
        }
        const uint64_t begun_ns = clock_monotonic_ns();
        if (kind == LIMIT) {
            read_array(s);
        } else if (kind == APPLY) {
            if (!apply(s, count)) { return 0; }
        } else {
            look_up(s);
        }
        spent_ns += clock_monotonic_ns() - begun_ns;
        done += count;
    }
    return (double)done * 1e9 / (double)spent_ns;
}

static bool prepare(struct setting *s, uint64_t rows)
{
    const struct row_table_spec spec = {.name = "bench",
                                        .width = WIDTH,
                                        .optimizer = SPARSE_ROW_ADAGRAD,
                                        .seed = 1,
                                        .scale = 0.05F};
    s->rows = rows;
    s->array = malloc(rows * WIDTH * sizeof *s->array);
    if (s->array == NULL || row_table_open(&spec, &s->table, NULL) != TN_OK) { return false; }
    for (uint64_t i = 0; i < rows * WIDTH; i++) { s->array[i] = (float)i; }
    return fill(s);
}

/* A save as a file. False: it failed. */
static bool save(struct setting *s, bool full)
{
    struct rows_file file = {.path = "bench_table.rows"};
    struct rows_save rows = {.full = full, .step = row_table_step(s->table)};
    const struct row_table *const tables[] = {s->table};
    struct error error;
    uint64_t count;
    const uint64_t begun_ns = clock_monotonic_ns();
    enum tn_status status = row_table_begin_save(s->table, rows.step, full, &count, &error);
    const double pause_ms = (double)(clock_monotonic_ns() - begun_ns) / 1e6;
    if (status != TN_OK) { return false; }
    rows.row_counts = &count;
    status = rows_file_write(&file, tables, 1, &rows, &error);
    const uint64_t end_ns = clock_monotonic_ns();
    row_table_end_save(s->table, status == TN_OK);
    const double end_ms = (double)(clock_monotonic_ns() - end_ns) / 1e6;
    (void)unlink(file.path);
    const double touched = (double)count * row_table_numbers(s->table) * sizeof(float);
    printf("%-12s %8" PRIu64 " rows   %7.2f ms to begin, %.2f to end   %.3f bytes written over "
           "those of the rows\n",
           full ? "full save" : "delta", count, pause_ms, end_ms, (double)file.bytes / touched);
    return status == TN_OK;
}

static bool measure_saves(struct setting *s)
{
    if (!save(s, true)) { return false; }
    for (int b = 0; b < SAVED_BATCHES; b++) {
        if (!apply(s, draw_ascending(s))) { return false; }
    }
    return save(s, false);
}

static const char *const names[KINDS] = {"random rows", "lookup", "untrained", "apply"};

static double bytes_of_a_row(const struct setting *s)
{
    const struct row_table_stats stats = row_table_stats(s->table);
    return (double)stats.bytes / (double)stats.rows;
}

/* Print a line for each round of one kind. False: the kind is unknown. */
static bool print_rounds(struct setting *s, long rounds, const char *kind)
{
    const bool is_bytes = strcmp(kind, "bytes") == 0;
    if (!is_bytes && strcmp(kind, names[LOOKUP]) != 0 && strcmp(kind, names[APPLY]) != 0) {
        return false;
    }
    if (is_bytes) {
        const size_t least = WIDTH * sizeof(float) + sizeof(float) + sizeof(uint64_t);
        printf("%.6g %zu\n", bytes_of_a_row(s), least);
        return true;
    }
    const enum kind measured = strcmp(kind, names[LOOKUP]) == 0 ? LOOKUP : APPLY;
    for (long r = 0; r < rounds; r++) {
        const double rate = rows_per_second(s, measured);
        printf("%.6g %.6g\n", rate, rows_per_second(s, LIMIT));
    }
    return true;
}

static void print_all(struct setting *s, long rounds)
{
    static double rates[KINDS][ROUNDS_MAX], ratios[KINDS][ROUNDS_MAX];
    printf("%" PRIu64 " rows of %d values with row_adagrad: %.1f bytes a row\n", s->rows, WIDTH,
           bytes_of_a_row(s));
    for (long r = 0; r < rounds; r++) {
        for (int k = 0; k < KINDS; k++) {
            rates[k][r] = rows_per_second(s, (enum kind)k) / 1e6;
            ratios[k][r] = rates[k][r] / rates[LIMIT][r];
        }
    }
    for (int k = 0; k < KINDS; k++) {
        measure_sort(rates[k], (size_t)rounds);
        measure_sort(ratios[k], (size_t)rounds);
        const double rate = measure_quantile(rates[k], (size_t)rounds, 0.5);
        const double ratio = measure_quantile(ratios[k], (size_t)rounds, 0.5);
        printf("%-12s %8.2f million rows/s   %5.2f of random rows\n", names[k], rate, ratio);
    }
}

int main(int argc, char **argv)
{
    const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 9;
    const uint64_t rows = argc > 2 ? strtoull(argv[2], NULL, 10) : 4 << 20;
    static struct setting setting;
    struct setting *s = &setting;
    if (rounds < 1 || rounds > ROUNDS_MAX || rows < 1 || !prepare(s, rows)) {
        fprintf(stderr, "bench_table: out of memory, or the number of rounds is not 1 to %d\n",
                ROUNDS_MAX);
        return 2;
    }
    bool done = true;
    if (argc <= 3) {
        print_all(s, rounds);
        done = measure_saves(s);
        if (!done) { fprintf(stderr, "bench_table: a save failed\n"); }
    } else {
        done = print_rounds(s, rounds, argv[3]);
        if (!done) { fprintf(stderr, "bench_table: KIND is not lookup, apply or bytes\n"); }
    }
    row_table_close(s->table);
    free(s->array);
    return done ? 0 : 2;
}
