/* Fuzz target: the first line is the text of columns, the second that of a label, and all others a
 * CSV file. Columns are refused with an error, or every row gives numbers or is refused; they have
 * the same text again when they are stored and read. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "data/columns/columns.h"
#include "data/formats/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { ROWS = 64, INPUTS_MAX = 1 << 12, TARGETS_MAX = 1 << 12 };

/* Fit the columns, and apply them to each row. */
static void apply_rows(struct columns *columns, const struct source *source)
{
    static float inputs[INPUTS_MAX], targets[TARGETS_MAX];
    static int64_t keys[INPUTS_MAX];
    struct source_row row;
    struct error error = {.text = ""};
    int32_t label;
    assert(source_row_open(&row, source->column_count, NULL) == TN_OK);
    const uint64_t rows = u64_min(source->count, ROWS);
    bool fits = columns_inputs(columns) <= INPUTS_MAX;
    for (uint64_t i = 0; i < rows && fits && columns_need_rows(columns); i++) {
        fits = source_read(source, i, &row, &error) == TN_OK &&
               columns_add(columns, source, i, &row, &error) == TN_OK;
    }
    if (fits) { columns_finish(columns); }
    for (uint64_t i = 0; i < rows && fits; i++) {
        error.text[0] = '\0';
        enum tn_status status = source_read(source, i, &row, &error);
        if (status == TN_OK) {
            status = columns_apply(columns, source, i, &row, NULL, inputs, keys, &error);
        }
        assert(status == TN_OK || error.text[0] != '\0');
        if (status != TN_OK || !columns_have_label(columns)) { continue; }
        if (columns_targets_count(columns) == 1) {
            (void)!columns_label(columns, source, i, &row, 5, &label, &error);
        }
        if (columns_targets_count(columns) <= TARGETS_MAX && columns_classes(columns) == 0) {
            (void)!columns_targets(columns, source, i, &row, targets, &error);
        }
    }
    source_row_close(&row);
}

/* JSON cannot represent the statistics of a column without rows: such columns have no text. */
static void check_text(const struct columns *columns, const struct source *source)
{
    struct columns *again = NULL;
    struct error error = {.text = ""};
    char *text = columns_write(columns);
    if (text != NULL && columns_read(text, &again, &error) == TN_OK &&
        columns_bind(again, source, true, &error) == TN_OK) {
        char *second = columns_write(again);
        assert(second != NULL && strcmp(text, second) == 0);
        free(second);
    }
    columns_close(again);
    free(text);
}

static void try_columns(struct columns *columns, const uint8_t *bytes, size_t size)
{
    struct source source = {0};
    struct error error = {.text = ""};
    const struct source_input input = {.path = "f", .bytes = bytes, .size = size, .options = "{}"};
    if (size == 0 || csv_type.open(&input, &source, &error) != TN_OK) { return; }
    source.type = &csv_type;
    if (columns_bind(columns, &source, true, &error) == TN_OK) {
        apply_rows(columns, &source);
        check_text(columns, &source);
    } else {
        assert(error.text[0] != '\0');
    }
    source_close(&source);
}

/* The next line as text; moves behind it. No strndup(): with strict_string_checks ASan takes its
 * argument for a terminated string. */
static char *take_line(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (stop == NULL) { stop = end; }
    const size_t length = (size_t)(stop - *at);
    char *line = calloc(1, length + 1);
    assert(line != NULL);
    memcpy(line, *at, length);
    *at = stop < end ? stop + 1 : end;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct columns *columns = NULL;
    struct error error = {.text = ""};
    const uint8_t *at = bytes, *end = bytes + size;
    char *spec = take_line(&at, end), *label = take_line(&at, end);
    if (columns_open(spec, label, &columns, &error) == TN_OK) {
        try_columns(columns, at, (size_t)(end - at));
    } else {
        assert(error.text[0] != '\0' && columns == NULL);
    }
    columns_close(columns);
    free(spec);
    free(label);
    return 0;
}
