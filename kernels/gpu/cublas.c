#include "kernels/gpu/cublas.h"

#include <assert.h>
#include <dlfcn.h>

#include "common/base/library_function.h"

static struct cublas loaded;

/* NULL, or the first symbol that the library lacks. */
static const char *fill_table(void *library)
{
#define X(name, symbol, parameters)                                                                \
    if (!library_function(library, #symbol, &loaded.name)) { return #symbol; }
    CUBLAS_FUNCTIONS(X)
#undef X
    return NULL;
}

enum tn_status cublas_open(const struct cublas **table, struct error *error)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
    void *library = NULL; /* Never closed. */
    assert(table != NULL);
    *table = &loaded;
    for (size_t i = 0; library == NULL && i < sizeof names / sizeof names[0]; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL) {
        const char *reason = dlerror();
        return error_set(error, TN_ENOENT,
                         "cuBLAS cannot be loaded (%s): install the CUDA toolkit, or give the "
                         "folder of libcublas.so.13 in LD_LIBRARY_PATH",
                         reason != NULL ? reason : "unknown");
    }
    const char *missing = fill_table(library);
    if (missing == NULL) { return TN_OK; }
    return error_set(error, TN_EINTERNAL, "cuBLAS has no function %s", missing);
}
