#include "kernels/gpu/cublas.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/library_function.h"

static struct {
    pthread_once_t once;
    struct cublas table;
    char file[512];
    struct error error; /* The result of the only attempt. */
} opened = {.once = PTHREAD_ONCE_INIT};

/* NULL, or the first symbol that the library lacks. */
static const char *fill_table(void *library)
{
#define X(name, symbol, parameters)                                                                \
    if (!library_function(library, #symbol, &opened.table.name)) { return #symbol; }
    CUBLAS_FUNCTIONS(X)
    CUBLAS_TEXTS(X)
#undef X
    return NULL;
}

/* Where the loader looks. */
static const char *folders(char *text, size_t size)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    if (path == NULL || *path == '\0') {
        return "the system's folders; LD_LIBRARY_PATH is not set";
    }
    (void)snprintf(text, size, "LD_LIBRARY_PATH, which is \"%.300s\", and the system's folders",
                   path);
    return text;
}

/* The file that was loaded under `name`. */
static void find_file(void *library, const char *name)
{
    Dl_info info;
    void *function = dlsym(library, "cublasGetProperty");
    const bool found = function != NULL && dladdr(function, &info) != 0 && info.dli_fname != NULL;
    (void)snprintf(opened.file, sizeof opened.file, "%.300s", found ? info.dli_fname : name);
}

static enum tn_status load(struct error *error)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
    char text[512];
    char reason[512] = "unknown";
    int major = 0;
    void *library = NULL; /* Never closed. */
    for (size_t i = 0; library == NULL && i < sizeof names / sizeof names[0]; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) { find_file(library, names[i]); }
        const char *failure = library == NULL && i == 0 ? dlerror() : NULL;
        if (failure != NULL) { (void)snprintf(reason, sizeof reason, "%s", failure); }
    }
    if (library == NULL) {
        return error_set(error, TN_ENOENT,
                         "cuBLAS cannot be loaded (%s): libcublas.so.13 and libcublas.so.12 were "
                         "looked for in %s: install the CUDA toolkit, or give the folder of "
                         "libcublas.so.13 in LD_LIBRARY_PATH",
                         reason, folders(text, sizeof text));
    }
    const char *missing = fill_table(library);
    if (missing != NULL) {
        return error_set(error, TN_ENOENT,
                         "%s has no function %s: it is not NVIDIA's cuBLAS, or is too old: install "
                         "cuBLAS 12 or 13, or check LD_LIBRARY_PATH",
                         opened.file, missing);
    }
    if (opened.table.property(CUBLAS_MAJOR, &major) == 0 && major >= CUBLAS_OLDEST) {
        return TN_OK;
    }
    return error_set(error, TN_ENOENT,
                     "%s is cuBLAS %d, which is too old: install cuBLAS 12 or 13, or check "
                     "LD_LIBRARY_PATH",
                     opened.file, major);
}

static void load_once(void)
{
    opened.error.status = load(&opened.error);
}

enum tn_status cublas_open(const struct cublas **table, struct error *error)
{
    assert(table != NULL);
    const int failed = pthread_once(&opened.once, load_once);
    assert(failed == 0);
    *table = &opened.table;
    if (opened.error.status == TN_OK) { return TN_OK; }
    return error_set(error, opened.error.status, "%s", opened.error.text);
}

enum tn_status cublas_find_version(struct cublas_version *version, struct error *error)
{
    assert(version != NULL);
    const struct cublas *table = NULL;
    *version = (struct cublas_version){.file = opened.file};
    const struct {
        cublas_property which;
        int *value;
    } parts[] = {
        {CUBLAS_MAJOR, &version->major},
        {CUBLAS_MINOR, &version->minor},
        {CUBLAS_PATCH, &version->patch},
    };
    enum tn_status status = cublas_open(&table, error);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && status == TN_OK; i++) {
        const int code = table->property(parts[i].which, parts[i].value);
        status = cublas_check(table, code, error, "cublasGetProperty");
    }
    return status;
}

enum tn_status cublas_check(const struct cublas *table, int code, struct error *error,
                            const char *format, ...)
{
    assert(table != NULL);
    if (code == 0) { return TN_OK; }
    char what[512] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const char *name = table->code_name(code), *text = table->code_text(code);
    return error_set(error, code == CUBLAS_NO_MEMORY ? TN_ENOMEM : TN_EDEVICE,
                     "%s: cuBLAS reports %s (%d): %s", what, name != NULL ? name : "unknown code",
                     code, text != NULL ? text : "no text");
}
