#include "graph/portable/backend.h"

#include "graph/portable/table.h"

static const struct portable_row *const tables[] = {
#define X(family) portable_##family,
    PORTABLE_TABLES(X)
#undef X
};

static const struct portable_row *find_row(const struct op_type *op)
{
    assert(op != NULL);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (const struct portable_row *row = tables[i]; row->op != NULL; row++) {
            if (row->op == op) { return row; }
        }
    }
    return NULL;
}

static kernel_function find(const struct op_type *op)
{
    const struct portable_row *row = find_row(op);
    return row != NULL ? row->kernel : NULL;
}

static struct kernel_needs needs(const struct kernel_call *call)
{
    const struct portable_row *row = find_row(call->node->op);
    if (row == NULL || row->needs == NULL) { return (struct kernel_needs){0}; }
    return row->needs(call);
}

static void pack(const struct kernel_call *call, void *packed)
{
    const struct portable_row *row = find_row(call->node->op);
    assert(row != NULL && row->pack != NULL);
    row->pack(call, packed);
}

#define BACKEND(class_kernels)                                                                     \
    {                                                                                              \
        .name = "portable", .joins = true, .kernels = &(class_kernels), .find = find,              \
        .needs = needs, .pack = pack,                                                              \
    }

static const struct backend backends[] = {
    BACKEND(portable_scalar),
#if defined(__x86_64__)
    BACKEND(portable_avx2),
    BACKEND(portable_avx512),
#elif defined(__aarch64__)
    BACKEND(portable_neon),
#endif
};

enum tn_status backend_portable(const char *class_name, const struct backend **out,
                                struct error *error)
{
    const struct portable *kernels = NULL;
    enum tn_status status = portable_open(class_name, &kernels, error);
    *out = NULL;
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        if (backends[i].kernels == kernels) { *out = &backends[i]; }
    }
    assert(status != TN_OK || *out != NULL);
    return status;
}
