/*
 * Fuzz target: bodies of frames that name rows of tables. The first byte of the input chooses keys
 * alone or gradients, the second the ps; the rest is the body. A body is refused, or read within
 * its bounds into finite rows of this ps that ascend, and written again to the same bytes.
 */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cluster/row_body.h"
#include "common/cluster/row_owner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 2, TABLES = 3, WIDTH_MOST = 4, PS = 2, EXAMPLES = 64 };

static void check_rows(const struct row_body_rules *rules, const uint8_t *body, size_t size,
                       uint64_t floats)
{
    struct row_body_reader reader = row_body_read(rules, body, size);
    struct row_body_row row, last = {0};
    struct row_body again = {.data = malloc(size), .room = size};
    assert(again.data != NULL);
    for (uint64_t i = 0; row_body_next(&reader, &row); i++) {
        const uint32_t width = rules->variables->row_tables[row.table].width;
        float values[WIDTH_MOST] = {0};
        assert(row_part_has(&rules->part, row.table, row.key));
        assert(i == 0 || row.table > last.table || (row.table == last.table && row.key > last.key));
        if (rules->gradients) { memcpy(values, row.values, width * sizeof *values); }
        for (uint32_t c = 0; c < width; c++) { assert(isfinite(values[c])); }
        const bool added =
            row_body_add(&again, row.table, row.key, values, rules->gradients ? width : 0);
        assert(added);
        floats -= width;
        last = row;
    }
    assert(floats == 0);
    assert(again.size == size && memcmp(again.data, body, size) == 0);
    free(again.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct variable_table variables;
    static const struct row_borders equal;
    variables.row_table_count = TABLES;
    for (uint32_t t = 0; t < TABLES; t++) {
        variables.row_tables[t] = (struct row_table_shape){.width = 1 + t, .keys = 2};
    }
    if (size < HEAD_BYTES) { return 0; }
    const struct row_body_rules rules = {
        .variables = &variables,
        .gradients = data[0] % 2 != 0,
        .part = row_part_of(&equal, PS, data[1] % PS),
        .examples = EXAMPLES,
    };
    struct row_body_order order = {.begun = false};
    uint64_t floats;
    const uint8_t *body = data + HEAD_BYTES;
    size -= HEAD_BYTES;
    if (row_body_fault(&rules, body, size, &order, &floats) == NULL) {
        check_rows(&rules, body, size, floats);
    }
    return 0;
}
