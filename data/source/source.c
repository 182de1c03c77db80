#include "data/source/source.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum tn_status source_read(const struct source *source, uint64_t i, struct source_row *row,
                           struct error *error)
{
    assert(i < source->count);
    assert(row->column_count == source->column_count);
    source_row_clear(row);
    return source->type->read(source, i, row, error);
}

void source_locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX])
{
    assert(i < source->count && column < source->column_count);
    source->type->locate(source, i, column, place);
}

uint32_t source_find(const struct source *source, const char *name)
{
    uint32_t column = 0;
    assert(name != NULL);
    while (column < source->column_count && strcmp(source->columns[column].name, name) != 0) {
        column++;
    }
    return column;
}

uint64_t source_elements(const struct source_column *column)
{
    uint64_t elements = 1;
    assert(column->rank <= SOURCE_RANK_MAX);
    for (uint32_t d = 0; d < column->rank; d++) { elements *= column->shape[d]; }
    return elements;
}

void source_close(struct source *source)
{
    if (source->type != NULL) { source->type->close(source); }
    free(source->columns);
    *source = (struct source){0};
}
