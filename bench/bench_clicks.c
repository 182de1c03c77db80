/*
 * bench/bench_clicks.c: the rows of the generated data "criteo-like" as a file, for programs that
 * cannot generate them (bench/peers/torch_clicks.py).
 *
 *   bench_clicks SEED VALUES TRAIN TEST FILE
 *
 * Writes TRAIN rows for training, then TEST rows for tests, each as 14 float32 (click, I1 to I13)
 * and 26 uint64 (C1 to C26), in the byte order of this machine. VALUES is that of data.options.
 * Prints the best possible area under the ROC curve of the test rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/minmax.h"
#include "data/criteo.h"

enum { TEXT_MAX = 16 };

struct clicks_row {
    float numbers[1 + CRITEO_NUMBERS];
    uint64_t keys[CRITEO_CATEGORIES];
};

/* The column's text is a number in hexadecimal digits. */
static uint64_t key_of(const struct source_cell *cell)
{
    char text[TEXT_MAX + 1] = {0};
    memcpy(text, cell->bytes, u64_min(cell->size, TEXT_MAX));
    return strtoull(text, NULL, 16);
}

static enum tn_status write_rows(const struct source *source, FILE *file, struct error *error)
{
    struct source_row row = {0};
    enum tn_status status = source_row_open(&row, source->column_count, error);
    for (uint64_t i = 0; i < source->count && status == TN_OK; i++) {
        struct clicks_row out;
        status = source_read(source, i, &row, error);
        if (status != TN_OK) { break; }
        for (uint32_t k = 0; k <= CRITEO_NUMBERS; k++) {
            out.numbers[k] = (float)row.cells[k].number;
        }
        for (uint32_t c = 0; c < CRITEO_CATEGORIES; c++) {
            out.keys[c] = key_of(&row.cells[1 + CRITEO_NUMBERS + c]);
        }
        if (fwrite(&out, sizeof out, 1, file) != 1) {
            status = error_set(error, TN_EIO, "the file cannot be written");
        }
    }
    source_row_close(&row);
    return status;
}

/* Training rows, or test rows and their best area. */
static enum tn_status write_part(struct criteo_config config, uint64_t rows, bool test, FILE *file,
                                 struct error *error)
{
    struct source source = {0};
    config.rows = rows;
    config.test = test;
    enum tn_status status = criteo_open(&config, &source, error);
    if (status == TN_OK) { status = write_rows(&source, file, error); }
    if (status == TN_OK && test) { printf("%.6f\n", criteo_best_area(&source)); }
    source_close(&source);
    return status;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    char options[64];
    if (argc != 6) {
        fprintf(stderr, "usage: bench_clicks SEED VALUES TRAIN TEST FILE\n");
        return 128;
    }
    const uint64_t values = strtoull(argv[2], NULL, 10);
    snprintf(options, sizeof options, "{\"values\": %" PRIu64 "}", values);
    const struct criteo_config config = {.seed = strtoull(argv[1], NULL, 10), .options = options};
    const uint64_t train = strtoull(argv[3], NULL, 10), test = strtoull(argv[4], NULL, 10);
    FILE *file = fopen(argv[5], "wb");
    if (train < 1 || test < 1 || file == NULL) {
        fprintf(stderr, "bench_clicks: TRAIN and TEST are at least 1, and FILE can be written\n");
        if (file != NULL) { (void)fclose(file); }
        return 128;
    }
    enum tn_status status = write_part(config, train, false, file, &error);
    if (status == TN_OK) { status = write_part(config, test, true, file, &error); }
    if (fclose(file) != 0 && status == TN_OK) {
        status = error_set(&error, TN_EIO, "the file cannot be written");
    }
    if (status != TN_OK) { fprintf(stderr, "bench_clicks: %s\n", error.text); }
    return status == TN_OK ? 0 : 1;
}
