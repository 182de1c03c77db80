#include "kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/blas.h"
#include "kernels/cpu.h"

float *kernels_allocate(size_t count)
{
    enum { LINE_FLOATS = 16, LINE_BYTES = LINE_FLOATS * sizeof(float) };
    size_t lines = count / LINE_FLOATS + 1; /* Never zero bytes. */
    return aligned_alloc(LINE_BYTES, lines * LINE_BYTES);
}

const struct kernels *kernels_cpu(void)
{
#if defined(__x86_64__)
    if (cpu_loops_avx512() != NULL && __builtin_cpu_supports("avx512f")) {
        return cpu_loops_avx512();
    }
    if (cpu_loops_avx2() != NULL && __builtin_cpu_supports("avx2")) { return cpu_loops_avx2(); }
#endif
    return cpu_loops_baseline();
}

enum tn_status kernels_open(const char *name, const struct kernels **out, struct error *error)
{
    *out = NULL;
    if (strcmp(name, "cpu") == 0) {
        enum tn_status status = blas_open(error);
        if (status != TN_OK) { return status; }
        *out = kernels_cpu();
    } else if (strcmp(name, "reference") == 0) {
        *out = kernels_reference();
    } else if (strcmp(name, "cuda") == 0) {
        return error_set(error, TN_ENOENT,
                         "kernels 'cuda': this build has no CUDA backend: use 'cpu'");
    } else {
        return error_set(error, TN_EINVAL, "unknown kernels '%s': one of cpu, reference, cuda",
                         name);
    }
    return TN_OK;
}
