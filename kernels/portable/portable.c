#include "kernels/portable/portable.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma");
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

static bool has_not(void)
{
    return false;
}

static bool has_any(void)
{
    return true;
}

/* The fastest first. */
static const struct {
    const char *name, *needs;
    bool (*is_supported)(void);
    const struct portable *kernels;
} classes[] = {
#if defined(__x86_64__)
    {"avx512", "AVX-512 F, BW, DQ and VL", has_avx512, &portable_avx512},
    {"avx2", "AVX2 and FMA", has_avx2, &portable_avx2},
#else
    {"avx512", "x86-64", has_not, NULL},
    {"avx2", "x86-64", has_not, NULL},
#endif
#if defined(__aarch64__)
    {"neon", "nothing", has_any, &portable_neon},
#else
    {"neon", "AArch64", has_not, NULL},
#endif
    {"scalar", "nothing", has_any, &portable_scalar},
};

enum { CLASSES = sizeof classes / sizeof classes[0] };

const struct portable *portable_fastest(void)
{
    size_t i = 0;
    while (!classes[i].is_supported()) { i++; }
    return classes[i].kernels;
}

enum tn_status portable_open(const char *name, const struct portable **out, struct error *error)
{
    const char *source = "kernels";
    *out = NULL;
    if (name == NULL) {
        name = getenv(PORTABLE_VARIABLE);
        source = PORTABLE_VARIABLE;
    }
    if (name == NULL || strcmp(name, "auto") == 0) {
        *out = portable_fastest();
        return TN_OK;
    }
    for (size_t i = 0; i < CLASSES; i++) {
        if (strcmp(name, classes[i].name) != 0) { continue; }
        if (!classes[i].is_supported()) {
            return error_set(error, TN_ENOTSUP,
                             "%s '%s': this processor lacks %s: use '%s', or 'auto' for the "
                             "fastest; the results are the same",
                             source, name, classes[i].needs, portable_fastest()->name);
        }
        *out = classes[i].kernels;
        return TN_OK;
    }
    return error_set(error, TN_EINVAL, "%s '%s': use one of auto, avx512, avx2, neon, scalar",
                     source, name);
}
