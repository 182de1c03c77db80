#include "kernels/kernels.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/blas.h"
#include "kernels/cpu.h"
#include "kernels/portable/portable.h"

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

static struct kernels portable;

static void portable_fingerprint(char *text, size_t size)
{
    int length = snprintf(text, size, "portable: version %d", PORTABLE_VERSION);
    assert(length > 0);
}

static void set_portable(void)
{
    portable = *kernels_cpu(); /* All exact but those below. */
    portable.name = "portable";
    portable.fingerprint = portable_fingerprint;
    portable.multiply = kernels_reference()->multiply;
    portable.cross_entropy = kernels_reference()->cross_entropy;
    portable.cross_entropy_backward = kernels_reference()->cross_entropy_backward;
}

static const struct kernels *kernels_portable(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int failed = pthread_once(&once, set_portable);
    assert(failed == 0);
    return &portable;
}

enum tn_status kernels_open(const char *name, const struct kernels **out, struct error *error)
{
    *out = NULL;
    if (strcmp(name, "cpu") == 0) {
        enum tn_status status = blas_open(error);
        if (status != TN_OK) { return status; }
        *out = kernels_cpu();
    } else if (strcmp(name, "portable") == 0) {
        *out = kernels_portable();
    } else if (strcmp(name, "reference") == 0) {
        *out = kernels_reference();
    } else if (strcmp(name, "cuda") == 0) {
        return error_set(error, TN_ENOENT,
                         "kernels 'cuda': this build has no CUDA backend: use 'portable'");
    } else {
        return error_set(error, TN_EINVAL,
                         "unknown kernels '%s': one of portable, cpu, reference, cuda", name);
    }
    return TN_OK;
}
