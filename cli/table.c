#include "cli/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

#define GAP "  "

void table_init(struct table *table, const struct table_column *columns, size_t column_count)
{
    assert(columns != NULL);
    assert(column_count > 0 && column_count <= TABLE_COLUMNS_MAX);
    *table = (struct table){.columns = columns, .column_count = column_count};
}

static bool grow(struct table *table)
{
    if (table->count < table->capacity) { return true; }
    size_t capacity = size_max(2 * table->capacity, 16 * table->column_count);
    char **cells = realloc(table->cells, capacity * sizeof *cells);
    if (cells == NULL) { return false; }
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

void table_cell(struct table *table, const char *format, ...)
{
    char *cell = NULL;
    va_list arguments;
    assert(table->columns != NULL);
    va_start(arguments, format);
    bool made = grow(table) && vasprintf(&cell, format, arguments) >= 0;
    va_end(arguments);
    if (made) {
        table->cells[table->count++] = cell;
    } else {
        table->out_of_memory = true;
    }
}

void table_no_value(struct table *table)
{
    table_cell(table, "-");
}

void table_number(struct table *table, uint64_t value, bool known)
{
    if (known) {
        table_cell(table, "%" PRIu64, value);
    } else {
        table_no_value(table);
    }
}

/* One line; `cells` has as many texts as the table has columns. Nothing pads the last text. */
static void print_line(const struct table *table, const char *const cells[], const size_t widths[],
                       FILE *out)
{
    size_t count = table->column_count;
    while (count > 0 && !*cells[count - 1]) { count--; }
    for (size_t i = 0; i < count; i++) {
        const int width = (int)widths[i];
        if (i > 0) { fputs(GAP, out); }
        if (table->columns[i].align == TABLE_RIGHT) {
            fprintf(out, "%*s", width, cells[i]);
        } else {
            fprintf(out, "%-*s", i + 1 < count ? width : 0, cells[i]);
        }
    }
    fputc('\n', out);
}

static void print_lines(const struct table *table, FILE *out)
{
    const char *titles[TABLE_COLUMNS_MAX];
    size_t widths[TABLE_COLUMNS_MAX];
    for (size_t i = 0; i < table->column_count; i++) {
        titles[i] = table->columns[i].title;
        widths[i] = strlen(titles[i]);
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t *width = &widths[i % table->column_count];
        *width = size_max(*width, strlen(table->cells[i]));
    }
    print_line(table, titles, widths, out);
    for (size_t i = 0; i < table->count; i += table->column_count) {
        print_line(table, (const char *const *)table->cells + i, widths, out);
    }
}

bool table_print(struct table *table, FILE *out)
{
    assert(table->out_of_memory || table->count % table->column_count == 0);
    if (!table->out_of_memory) { print_lines(table, out); }
    bool written = !table->out_of_memory && !ferror(out);
    for (size_t i = 0; i < table->count; i++) { free(table->cells[i]); }
    free(table->cells);
    *table = (struct table){0};
    return written;
}
