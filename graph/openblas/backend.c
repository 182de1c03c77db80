#include "graph/openblas/backend.h"

#include "graph/openblas/table.h"
#include "graph/ops/ops.h"
#include "graph/reference/backend.h"

/* The operations of the tables: X(operation). */
#define TABLE_OPERATIONS(X)                                                                        \
    X(matmul)                                                                                      \
    X(matmul_add)                                                                                  \
    X(matmul_add_relu)                                                                             \
    X(add)                                                                                         \
    X(sum)                                                                                         \
    X(relu)                                                                                        \
    X(relu_gradient)                                                                               \
    X(softmax_cross_entropy)                                                                       \
    X(softmax_cross_entropy_gradient)

struct row {
    const struct op_type *op;
    kernel_function on_cpu, on_reference;
};

#define X(operation)                                                                               \
    static void cpu_##operation(const struct kernel_call *call)                                    \
    {                                                                                              \
        table_##operation(kernels_cpu(), call, backend_reference()->find(&op_##operation));        \
    }                                                                                              \
    static void reference_##operation(const struct kernel_call *call)                              \
    {                                                                                              \
        table_##operation(kernels_reference(), call, backend_reference()->find(&op_##operation));  \
    }
TABLE_OPERATIONS(X)
#undef X

static const struct row rows[] = {
#define X(operation) {&op_##operation, cpu_##operation, reference_##operation},
    TABLE_OPERATIONS(X)
#undef X
};

static const struct row *find_row(const struct op_type *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].op == op) { return &rows[i]; }
    }
    return NULL;
}

static kernel_function find_cpu(const struct op_type *op)
{
    const struct row *row = find_row(op);
    return row != NULL ? row->on_cpu : backend_reference()->find(op);
}

static kernel_function find_reference(const struct op_type *op)
{
    const struct row *row = find_row(op);
    return row != NULL ? row->on_reference : backend_reference()->find(op);
}

enum tn_status backend_openblas(const struct backend **out, struct error *error)
{
    static const struct backend backend = {.name = "openblas", .find = find_cpu};
    const struct kernels *kernels = NULL;
    assert(out != NULL);
    *out = &backend;
    return kernels_open("cpu", &kernels, error);
}

const struct backend *backend_kernels_reference(void)
{
    static const struct backend backend = {.name = "kernels-reference", .find = find_reference};
    return &backend;
}
