/* The columns and rows of files as JSON, one line each, for tests/contract/test_formats.py.
 *
 *   rows FORMAT PATTERN [OPTIONS]
 *
 * Numbers are hexadecimal, so that no bit is lost; texts and bytes are hexadecimal digits. The rows
 * are read from the last to the first and printed in that order. */
#include <stdio.h>

#include "data/open.h"

static int failed(const struct error *error)
{
    fprintf(stderr, "%s\n", error->text);
    return 1;
}

static void print_columns(const struct source *source)
{
    static const char *const kinds[] = {"text", "number", "bytes", "floats"};
    printf("[");
    for (uint32_t c = 0; c < source->column_count; c++) {
        const struct source_column *column = &source->columns[c];
        printf("%s[\"%s\", \"%s\"", c > 0 ? ", " : "", column->name, kinds[column->kind]);
        for (uint32_t d = 0; d < column->rank; d++) { printf(", %u", column->shape[d]); }
        printf("]");
    }
    printf("]\n");
}

static void print_cell(const struct source_column *column, const struct source_cell *cell)
{
    if (cell->missing) {
        printf("null");
    } else if (column->kind == SOURCE_NUMBER) {
        printf("\"%a\"", cell->number);
    } else if (column->kind == SOURCE_FLOATS) {
        printf("[");
        for (size_t i = 0; i < cell->size; i++) {
            printf("%s\"%a\"", i > 0 ? ", " : "", (double)cell->floats[i]);
        }
        printf("]");
    } else {
        printf("\"");
        for (size_t i = 0; i < cell->size; i++) { printf("%02x", cell->bytes[i]); }
        printf("\"");
    }
}

static int print_rows(const struct source *source)
{
    struct source_row row;
    struct error error = {.text = ""};
    if (source_row_open(&row, source->column_count, &error) != TN_OK) { return failed(&error); }
    enum tn_status status = TN_OK;
    for (uint64_t i = source->count; i-- > 0 && status == TN_OK;) {
        status = source_read(source, i, &row, &error);
        if (status != TN_OK) { break; }
        for (uint32_t c = 0; c < source->column_count; c++) {
            printf("%s", c > 0 ? ", " : "[");
            print_cell(&source->columns[c], &row.cells[c]);
        }
        printf("]\n");
    }
    source_row_close(&row);
    return status == TN_OK ? 0 : failed(&error);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "rows: give FORMAT PATTERN [OPTIONS]\n");
        return 1;
    }
    const struct source_config config = {
        .format = argv[1], .pattern = argv[2], .options = argc == 4 ? argv[3] : NULL};
    struct source source;
    struct error error = {.text = ""};
    if (source_open(&config, &source, &error) != TN_OK) { return failed(&error); }
    print_columns(&source);
    int code = print_rows(&source);
    source_close(&source);
    return code;
}
