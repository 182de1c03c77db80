/* graph/cuda/regress.c: losses that compare two values element by element. */
#include "graph/cuda/table.h"

#define ERROR(NAME, name)                                                                          \
    OPERATION(run_##name)                                                                          \
    {                                                                                              \
        const size_t rows = elements_of(&call->out[0]);                                            \
        kernels_of(call)->error[CUDA_##NAME](rows, elements_of(&call->in[0]) / rows, WIDTH, IN(0), \
                                             IN(1), OUT(0));                                       \
    }                                                                                              \
    OPERATION(run_##name##_gradient)                                                               \
    {                                                                                              \
        const size_t rows = elements_of(&call->in[2]);                                             \
        kernels_of(call)->error_gradient[CUDA_##NAME](rows, elements_of(&call->in[0]) / rows,      \
                                                      WIDTH, IN(0), IN(1), IN(2), OUT(0));         \
    }
#define WIDTH call->node->attributes.numbers[0]
CUDA_ERRORS_OF(ERROR)

const struct cuda_row cuda_regress[] = {
#define ROW(NAME, name)                                                                            \
    {&op_##name, run_##name, NULL}, {&op_##name##_gradient, run_##name##_gradient, NULL},
    CUDA_ERRORS_OF(ROW)
#undef ROW
        {NULL, NULL, NULL},
};
