/*
 * graph/portable/exact.c: operations whose plain C kernels have the same bits on every processor:
 * they move or compare elements, or use only additions, multiplications, divisions and square roots
 * in a fixed order. The kernels of users promise it. Kernels that call exp(), log() or tanh() do
 * not belong here.
 */
#include "graph/ops/ops.h"
#include "graph/portable/table.h"
#include "graph/reference/backend.h"

#define EXACT_OPERATIONS(X)                                                                        \
    X(loss_seed)                                                                                   \
    X(copy)                                                                                        \
    X(clip_gradient)                                                                               \
    X(broadcast)                                                                                   \
    X(permute)                                                                                     \
    X(concat)                                                                                      \
    X(slice)                                                                                       \
    X(pad)                                                                                         \
    X(gather)                                                                                      \
    X(gather_gradient)                                                                             \
    X(key_share)                                                                                   \
    X(one_hot)                                                                                     \
    X(cast)                                                                                        \
    X(is_correct)                                                                                  \
    X(squared_error)                                                                               \
    X(squared_error_gradient)                                                                      \
    X(absolute_error)                                                                              \
    X(absolute_error_gradient)                                                                     \
    X(huber_error)                                                                                 \
    X(huber_error_gradient)                                                                        \
    X(slice_moment)                                                                                \
    X(custom)                                                                                      \
    X(custom_gradient)

#define X(operation)                                                                               \
    static void operation(const struct kernel_call *call)                                          \
    {                                                                                              \
        backend_reference()->find (&op_##operation)(call);                                         \
    }
EXACT_OPERATIONS(X)
#undef X

const struct portable_row portable_exact[] = {
#define X(operation) {&op_##operation, operation, NULL, NULL},
    EXACT_OPERATIONS(X)
#undef X
        {NULL, NULL, NULL, NULL},
};
