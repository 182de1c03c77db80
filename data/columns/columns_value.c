#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/utf8.h"
#include "data/columns/columns_private.h"
#include "data/source/number.h"

bool value_is_missing(const struct source *source, uint32_t column, const struct source_cell *cell)
{
    return cell->missing || (source->columns[column].kind == SOURCE_TEXT && cell->size == 0);
}

enum tn_status value_refuse_missing(const struct source *source, uint64_t i, uint32_t column,
                                    struct error *error)
{
    char place[SOURCE_PLACE_MAX];
    source_locate(source, i, column, place);
    utf8_plain(place);
    return error_set(
        error, TN_EINVAL,
        "%s: the value is missing: give the column \"missing\", such as \"mean\", 0 or the text "
        "of a category, or remove the row",
        place);
}

enum tn_status value_refuse(const struct source *source, uint64_t i, uint32_t column,
                            const struct source_cell *cell, const char *problem,
                            struct error *error)
{
    char place[SOURCE_PLACE_MAX], shown[64] = "";
    source_locate(source, i, column, place);
    utf8_plain(place);
    const enum source_kind kind = source->columns[column].kind;
    if (kind == SOURCE_TEXT && cell->bytes != NULL) {
        const size_t size = size_min(cell->size, sizeof shown - 1);
        memcpy(shown, cell->bytes, size);
        shown[size] = '\0';
        utf8_plain(shown);
    } else if (kind == SOURCE_NUMBER) {
        snprintf(shown, sizeof shown, "%.17g", cell->number);
    }
    return error_set(error, TN_EINVAL, "%s: '%s' %s", place, shown, problem);
}

enum tn_status value_number(const struct source *source, uint64_t i, uint32_t column,
                            const struct source_cell *cell, uint64_t k, double *out,
                            struct error *error)
{
    bool valid = true;
    switch (source->columns[column].kind) {
    case SOURCE_TEXT: valid = number_parse(cell->bytes, cell->size, out); break;
    case SOURCE_NUMBER: *out = cell->number; break;
    case SOURCE_BYTES:
        assert(k < cell->size);
        *out = cell->bytes[k];
        break;
    case SOURCE_FLOATS:
        assert(k < cell->size);
        *out = (double)cell->floats[k];
        break;
    }
    if (valid && isfinite((float)*out)) { return TN_OK; }
    if (valid && !isnan(*out)) {
        return value_refuse(source, i, column, cell, NUMBER_OUT_OF_RANGE, error);
    }
    return value_refuse(source, i, column, cell,
                        "is not a number; texts need \"as\": \"category\" in data.columns", error);
}

struct value_text value_text(const struct source *source, uint32_t column,
                             const struct source_cell *cell, char room[static 32])
{
    if (source->columns[column].kind != SOURCE_NUMBER) {
        return (struct value_text){cell->bytes, cell->size};
    }
    const int size = snprintf(room, 32, "%.17g", cell->number);
    assert(size > 0 && size < 32);
    return (struct value_text){room, (size_t)size};
}
