/* The columns and rows of a file as JSON, one line each, for tests/contract/test_formats.py.
 *
 *   rows FORMAT PATH [OPTIONS]
 *
 * Numbers are hexadecimal, so that no bit is lost; texts and bytes are hexadecimal digits. The rows
 * are read from the last to the first and printed in that order. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data/formats/mapping.h"
#include "data/formats/sources.h"

static const struct source_type *const types[] = {
    &source_npy,
    &source_npy_folder,
    &source_npz,
};

static const struct source_type *find_type(const char *name, bool folder)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i]->name, name) == 0 && types[i]->folders == folder) { return types[i]; }
    }
    return NULL;
}

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

static int run(const char *format, const char *path, const char *options)
{
    struct stat about;
    struct mapping file = {0};
    struct error error = {.text = ""};
    const bool folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
    const struct source_type *type = find_type(format, folder);
    struct source source = {0};
    if (type == NULL) {
        fprintf(stderr, "no such format: %s\n", format);
        return 1;
    }
    if (!folder && mapping_open(path, &file, &error) != TN_OK) { return failed(&error); }
    const struct source_input input = {
        .path = path, .bytes = file.bytes, .size = file.size, .options = options};
    int code;
    if (type->open(&input, &source, &error) == TN_OK) {
        source.type = type;
        print_columns(&source);
        code = print_rows(&source);
        source_close(&source);
    } else {
        code = failed(&error);
    }
    mapping_close(&file);
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "rows: give FORMAT PATH [OPTIONS]\n");
        return 1;
    }
    return run(argv[1], argv[2], argc == 4 ? argv[3] : "{}");
}
