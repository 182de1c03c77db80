#include "kernels/gpu/driver.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/library_function.h"
#include "kernels/gpu/driver_faults.h"

static struct {
    pthread_once_t once;
    struct gpu_driver table;
    struct error error; /* The result of the only attempt. */
} opened = {.once = PTHREAD_ONCE_INIT};

/* NULL, or the first symbol that the library lacks. */
static const char *fill_table(void *library)
{
#define X(name, symbol, parameters)                                                                \
    if (!library_function(library, #symbol, &opened.table.name)) { return #symbol; }
    GPU_DRIVER_FUNCTIONS(X)
#undef X
    return NULL;
}

/* All or none: only drivers before CUDA 12.0 lack any. */
static void fill_graphs(void *library)
{
    struct gpu_driver *table = &opened.table;
    bool has_all = true;
#define X(name, symbol, parameters)                                                                \
    has_all = library_function(library, #symbol, &table->name) && has_all;
    GPU_DRIVER_GRAPHS(X)
#undef X
    if (has_all) { return; }
#define X(name, symbol, parameters) table->name = NULL;
    GPU_DRIVER_GRAPHS(X)
#undef X
}

/* The setting that chooses the GPUs which the driver shows; "" without one. */
static const char *visible_devices(char *text, size_t size)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    text[0] = '\0';
    if (visible != NULL) {
        (void)snprintf(text, size, "; CUDA_VISIBLE_DEVICES is \"%.200s\"", visible);
    }
    return text;
}

static enum tn_status load(struct error *error)
{
    char visible[256];
    void *library = dlopen(GPU_DRIVER_LIBRARY, RTLD_NOW | RTLD_LOCAL); /* Never closed. */
    if (library == NULL) {
        const char *reason = dlerror();
        return error_set(error, TN_ENOENT,
                         "the driver's library cannot be loaded (%s): install NVIDIA's driver, or "
                         "give the folder of " GPU_DRIVER_LIBRARY " in LD_LIBRARY_PATH",
                         reason != NULL ? reason : "unknown");
    }
    const char *missing = fill_table(library);
    if (missing != NULL) {
        return error_set(error, TN_EINTERNAL,
                         GPU_DRIVER_LIBRARY " has no function %s: it is not NVIDIA's driver, or is "
                                            "older than CUDA 11; check LD_LIBRARY_PATH",
                         missing);
    }
    fill_graphs(library);
    gpu_driver_add_faults(&opened.table);
    return gpu_check(&opened.table, opened.table.init(0), error, "cuInit%s",
                     visible_devices(visible, sizeof visible));
}

static void load_once(void)
{
    opened.error.status = load(&opened.error);
}

enum tn_status gpu_driver_open(const struct gpu_driver **driver, struct error *error)
{
    assert(driver != NULL);
    const int failed = pthread_once(&opened.once, load_once);
    assert(failed == 0);
    *driver = &opened.table;
    if (opened.error.status == TN_OK) { return TN_OK; }
    return error_set(error, opened.error.status, "%s", opened.error.text);
}

static enum tn_status status_of(int code)
{
    switch (code) {
    case GPU_SUCCESS: return TN_OK;
    case GPU_OUT_OF_MEMORY: return TN_ENOMEM;
    case GPU_NO_DEVICE: return TN_ENOENT;
    default: return TN_EINTERNAL;
    }
}

enum tn_status gpu_check(const struct gpu_driver *driver, int code, struct error *error,
                         const char *format, ...)
{
    assert(driver != NULL);
    if (code == GPU_SUCCESS) { return TN_OK; }
    char what[512] = "";
    const char *name = NULL, *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (driver->error_name(code, &name) != GPU_SUCCESS || name == NULL) { name = "unknown code"; }
    if (driver->error_text(code, &text) != GPU_SUCCESS || text == NULL) { text = "no text"; }
    return error_set(error, status_of(code), "%s: the driver reports %s (%d): %s", what, name, code,
                     text);
}
