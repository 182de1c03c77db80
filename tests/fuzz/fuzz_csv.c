/* Fuzz target: any bytes are a CSV file or give an error that names a line; every row can be read
 * or is refused, and rows are inside of the file. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/formats/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void read_rows(const struct source *source)
{
    struct source_row row;
    struct error error;
    size_t sum = 0, wanted = 0;
    assert(source_row_open(&row, source->column_count, NULL) == TN_OK);
    for (uint64_t i = 0; i < source->count && i < 1000; i++) {
        char place[SOURCE_PLACE_MAX];
        error.text[0] = '\0';
        source_locate(source, i, source->column_count - 1, place);
        if (source_read(source, i, &row, &error) != TN_OK) {
            assert(error.text[0] != '\0');
            continue;
        }
        for (uint32_t c = 0; c < source->column_count; c++) {
            const struct source_cell *cell = &row.cells[c];
            for (size_t b = 0; b < cell->size; b++) { sum += cell->bytes[b] != 0; }
            wanted += cell->size;
            assert(!cell->missing || cell->size == 0);
        }
    }
    assert(sum == wanted); /* Valid UTF-8 without zero bytes, all of it readable. */
    source_row_close(&row);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct source source = {0};
    struct error error = {0};
    uint8_t *copy = malloc(size + 1); /* Without a byte behind the last one, for ASan. */
    if (size == 0 || copy == NULL) {
        free(copy);
        return 0;
    }
    uint8_t *exact = realloc(copy, size);
    memcpy(exact, bytes, size);
    const struct source_input input = {.path = "f", .bytes = exact, .size = size};
    if (csv_type.open(&input, &source, &error) == TN_OK) {
        source.type = &csv_type;
        read_rows(&source);
        source_close(&source);
    } else {
        assert(error.text[0] != '\0' && source.columns == NULL);
    }
    free(exact);
    return 0;
}
