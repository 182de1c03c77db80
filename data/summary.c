#include "data/summary.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/utf8.h"
#include "data/source/number.h"

static void add_number(struct column_summary *summary, double number)
{
    const bool first = summary->numbers == 0;
    summary->numbers++;
    if (first) { summary->mean = 0; }
    summary->mean += (number - summary->mean) / (double)summary->numbers;
    if (first || number < summary->least) { summary->least = number; }
    if (first || number > summary->most) { summary->most = number; }
}

static void add_cell(struct column_summary *summary, enum source_kind kind,
                     const struct source_cell *cell)
{
    double number;
    if (cell->missing) {
        summary->missing++;
        return;
    }
    summary->values++;
    switch (kind) {
    case SOURCE_TEXT:
        if (number_parse(cell->bytes, cell->size, &number) && isfinite(number)) {
            add_number(summary, number);
        }
        break;
    case SOURCE_NUMBER: add_number(summary, cell->number); break;
    case SOURCE_BYTES:
        for (size_t k = 0; k < cell->size; k++) { add_number(summary, cell->bytes[k]); }
        break;
    case SOURCE_FLOATS:
        for (size_t k = 0; k < cell->size; k++) { add_number(summary, (double)cell->floats[k]); }
        break;
    }
}

enum tn_status summary_of(const struct column_table *table, struct column_summary **out,
                          struct error *error)
{
    struct source_row row = {0};
    const struct source *source = &table->source;
    struct column_summary *list = calloc(source->column_count, sizeof *list);
    assert(out != NULL);
    *out = NULL;
    enum tn_status status = list != NULL ? source_row_open(&row, source->column_count, error)
                                         : error_set(error, TN_ENOMEM, "out of memory");
    for (uint32_t c = 0; c < source->column_count && list != NULL; c++) {
        list[c].least = list[c].most = list[c].mean = (double)NAN;
    }
    for (uint64_t k = 0; k < table->split.count && status == TN_OK; k++) {
        status = source_read(source, split_row(&table->split, k), &row, error);
        for (uint32_t c = 0; c < source->column_count && status == TN_OK; c++) {
            add_cell(&list[c], source->columns[c].kind, &row.cells[c]);
        }
    }
    source_row_close(&row);
    if (status == TN_OK) {
        *out = list;
    } else {
        free(list);
    }
    return status;
}

void summary_show(const struct source *source, uint32_t column, const struct source_cell *cell,
                  char out[static SUMMARY_TEXT_MAX])
{
    const size_t size = size_min(cell->size, SUMMARY_TEXT_MAX - 1);
    if (cell->missing) {
        snprintf(out, SUMMARY_TEXT_MAX, "-");
        return;
    }
    switch (source->columns[column].kind) {
    case SOURCE_TEXT:
        memcpy(out, cell->bytes, size);
        out[size] = '\0';
        utf8_plain(out);
        break;
    case SOURCE_NUMBER: snprintf(out, SUMMARY_TEXT_MAX, "%g", cell->number); break;
    case SOURCE_BYTES: snprintf(out, SUMMARY_TEXT_MAX, "%zu bytes", cell->size); break;
    case SOURCE_FLOATS: snprintf(out, SUMMARY_TEXT_MAX, "%zu numbers", cell->size); break;
    }
}
