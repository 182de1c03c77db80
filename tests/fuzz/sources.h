/* tests/fuzz/sources.h: opens any bytes as a source, reads all of its rows and each of their
 * values. */
#ifndef TESTS_FUZZ_SOURCES_H
#define TESTS_FUZZ_SOURCES_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/formats/formats.h"

enum { FUZZ_ROWS = 64 };

static volatile unsigned fuzz_sum; /* All values can be read. */

static void touch(const struct source_column *column, const struct source_cell *cell)
{
    if (cell->missing || column->kind == SOURCE_NUMBER) { return; }
    if (column->kind != SOURCE_TEXT) { assert(cell->size == source_elements(column)); }
    for (size_t i = 0; i < cell->size; i++) {
        if (column->kind == SOURCE_FLOATS) {
            unsigned bits;
            memcpy(&bits, cell->floats + i, sizeof bits);
            fuzz_sum += bits;
        } else {
            fuzz_sum += cell->bytes[i];
        }
    }
}

static void read_rows(const struct source *source)
{
    struct source_row row;
    struct error error = {.text = ""};
    assert(source->count >= 1 && source->count <= SOURCE_ROWS_MAX);
    assert(source->column_count >= 1);
    if (source_row_open(&row, source->column_count, &error) != TN_OK) { return; }
    for (uint64_t i = 0; i < u64_min(source->count, FUZZ_ROWS); i++) {
        char place[SOURCE_PLACE_MAX];
        source_locate(source, i, source->column_count - 1, place);
        assert(place[0] != '\0');
        if (source_read(source, i, &row, &error) != TN_OK) {
            assert(error.text[0] != '\0');
            continue;
        }
        for (uint32_t c = 0; c < source->column_count; c++) {
            touch(&source->columns[c], &row.cells[c]);
        }
    }
    source_row_close(&row);
}

static void fuzz_source(const struct source_type *type, const uint8_t *bytes, size_t size)
{
    if (size == 0) { return; } /* Such a file is refused before. */
    const struct source_input input = {.path = "f", .bytes = bytes, .size = size, .options = "{}"};
    struct source source = {0};
    struct error error = {.text = ""};
    if (type->open(&input, &source, &error) != TN_OK) {
        assert(error.text[0] != '\0');
        assert(source.columns == NULL && source.state == NULL);
        return;
    }
    source.type = type;
    read_rows(&source);
    source_close(&source);
}

#endif
