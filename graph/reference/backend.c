#include "graph/reference/backend.h"

#include "graph/reference/real.h"

static const struct kernel_row *const float_tables[] = {
#define X(family) reference_##family##_float,
    REFERENCE_TABLES(X)
#undef X
};

static const struct kernel_row *const wide_tables[] = {
#define X(family) reference_##family##_wide,
    REFERENCE_TABLES(X)
#undef X
};

enum { TABLES = sizeof float_tables / sizeof float_tables[0] };

static kernel_function find(const struct kernel_row *const *tables, const struct op_type *op)
{
    assert(op != NULL);
    for (uint32_t i = 0; i < TABLES; i++) {
        for (const struct kernel_row *row = tables[i]; row->op != NULL; row++) {
            if (row->op == op) { return row->kernel; }
        }
    }
    return NULL;
}

static kernel_function find_float(const struct op_type *op)
{
    return find(float_tables, op);
}

static kernel_function find_wide(const struct op_type *op)
{
    return find(wide_tables, op);
}

const struct backend *backend_reference(void)
{
    static const struct backend backend = {.name = "reference", .find = find_float};
    return &backend;
}

const struct backend *backend_reference_wide(void)
{
    static const struct backend backend = {
        .name = "reference in double",
        .wide = true,
        .find = find_wide,
    };
    return &backend;
}
