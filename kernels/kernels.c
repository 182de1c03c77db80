#include "kernels/kernels.h"

#include <string.h>

enum tn_status kernels_open(const char *name, const struct kernels **out, struct error *error)
{
    *out = NULL;
    if (strcmp(name, "cpu") == 0) {
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
