/* The speed of the readers of data: rows of a file in their order and in a permutation, beside a
 * pass over the bytes of the file in the page cache.
 *
 *   bench_readers FORMAT PATTERN [OPTIONS]
 *
 * Prints medians of rounds in which the three alternate: rows per processor second, and bytes of
 * the files per processor second as a share of the pass. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "data/open.h"
#include "data/shuffle.h"
#include "data/source/file.h"

enum { ROUNDS = 9 };
#define LEAST_SECONDS 0.2 /* A measurement repeats the work for this long. */

static volatile uint64_t sink;

struct work {
    const struct source *source;
    struct source_row row;
    struct shuffle order;
    bool shuffled;
    const struct source_file *file; /* For a pass over bytes. */
};

static void pass_bytes(const struct source_file *file)
{
    uint64_t sum = 0;
    for (size_t at = 0; at + 8 <= file->size; at += 8) {
        uint64_t word;
        memcpy(&word, file->bytes + at, sizeof word);
        sum += word;
    }
    sink += sum;
}

/* Reads every cell, and of arrays one value in each cache line. */
static void pass_rows(struct work *work)
{
    const struct source *source = work->source;
    struct error error;
    for (uint64_t i = 0; i < source->count; i++) {
        const uint64_t at = work->shuffled ? shuffle_at(&work->order, i) : i;
        measure_require(source_read(source, at, &work->row, &error), &error);
        for (uint32_t c = 0; c < source->column_count; c++) {
            const struct source_cell *cell = &work->row.cells[c];
            for (size_t k = 0; cell->floats != NULL && k < cell->size; k += 16) {
                sink += (uint64_t)(cell->floats[k] != 0);
            }
            for (size_t k = 0; cell->bytes != NULL && k < cell->size; k += 64) {
                sink += cell->bytes[k];
            }
        }
    }
}

/* Processor seconds of one pass. */
static double measure(struct work *work)
{
    const double begin = measure_cpu_seconds();
    double end = begin;
    uint64_t times = 0;
    for (; end - begin < LEAST_SECONDS; times++, end = measure_cpu_seconds()) {
        if (work->file != NULL) {
            pass_bytes(work->file);
        } else {
            pass_rows(work);
        }
    }
    return (end - begin) / (double)times;
}

static double median(double *values)
{
    measure_sort(values, ROUNDS);
    return measure_quantile(values, ROUNDS, 0.5);
}

static void run(const struct source *source, const struct source_file *file)
{
    double bytes[ROUNDS], ordered[ROUNDS], shuffled[ROUNDS], share[ROUNDS];
    struct work work = {.source = source};
    if (source_row_open(&work.row, source->column_count, NULL) != TN_OK) { return; }
    shuffle_init(&work.order, 1, 0, source->count);
    for (int round = 0; round < ROUNDS; round++) {
        struct work pass = {.file = file};
        bytes[round] = file->bytes != NULL ? measure(&pass) : 0;
        work.shuffled = false;
        ordered[round] = measure(&work);
        work.shuffled = true;
        shuffled[round] = measure(&work);
        share[round] = bytes[round] / ordered[round];
    }
    const double rows = (double)source->count;
    printf("%" PRIu64 " rows: %.0f rows/s in order, %.0f in a permutation", source->count,
           rows / median(ordered), rows / median(shuffled));
    if (file->bytes != NULL) {
        printf("; %.3f GB/s, %.3f of a pass over the bytes (%.1f GB/s)",
               (double)file->size / median(ordered) / 1e9, median(share),
               (double)file->size / median(bytes) / 1e9);
    }
    printf("\n");
    source_row_close(&work.row);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "bench_readers: give FORMAT PATTERN [OPTIONS]\n");
        return 1;
    }
    const struct source_config config = {
        .format = argv[1], .pattern = argv[2], .options = argc > 3 ? argv[3] : NULL};
    struct source source;
    struct source_file file = {0};
    struct error error = {.text = ""};
    const double begin = measure_cpu_seconds();
    measure_require(source_open(&config, &source, &error), &error);
    printf("%s: opened in %.3f s; ", argv[1], measure_cpu_seconds() - begin);
    /* Folders and patterns of files have no single file to pass over. */
    if (source_file_open(argv[2], &file, NULL) != TN_OK) { file = (struct source_file){0}; }
    run(&source, &file);
    source_file_close(&file);
    source_close(&source);
    return 0;
}
