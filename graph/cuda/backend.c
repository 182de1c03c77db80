#include "graph/cuda/backend.h"

#include <string.h>

#include "graph/cuda/table.h"
#include "graph/portable/backend.h"
#include "kernels/cuda/library.h"

static const struct cuda_row *const tables[] = {
#define X(family) cuda_##family,
    CUDA_TABLES(X)
#undef X
};

static const struct cuda_row *find_row(const struct op_type *op)
{
    assert(op != NULL);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        for (const struct cuda_row *row = tables[i]; row->op != NULL; row++) {
            if (row->op == op) { return row; }
        }
    }
    return NULL;
}

static kernel_function find(const struct op_type *op)
{
    const struct cuda_row *row = find_row(op);
    return row != NULL ? row->kernel : NULL;
}

/* Operations of users have no kernel here; those of the others take all types and shapes. */
static bool fits(const struct kernel_call *call)
{
    return find_row(call->node->op) != NULL;
}

static struct kernel_needs needs(const struct kernel_call *call)
{
    const struct cuda_row *row = find_row(call->node->op);
    if (row == NULL || row->needs == NULL) { return (struct kernel_needs){0}; }
    return row->needs(call);
}

enum tn_status backend_cuda_over(const struct cuda_library *library, struct backend *backend,
                                 struct error *error)
{
    const struct backend *host = NULL;
    assert(library != NULL && backend != NULL);
    enum tn_status status = backend_portable(NULL, &host, error);
    *backend = (struct backend){
        .name = "cuda",
        .joins = true,
        .kernels = library->kernels,
        .find = find,
        .needs = needs,
        .device = {.fits = fits,
                   .host = host,
                   .select = library->select,
                   .allocate = library->allocate,
                   .release = library->release,
                   .upload = library->upload,
                   .download = library->download,
                   .clear = library->clear,
                   .wait = library->wait,
                   .add = library->kernels->add,
                   .queues = library->queues,
                   .graphs = library->graphs},
    };
    return status;
}

bool backend_cuda_parse(const char *name, const char *kernels, uint32_t *gpu)
{
    const size_t length = strlen(kernels);
    *gpu = 0;
    if (strcmp(name, kernels) == 0) { return true; }
    if (strncmp(name, kernels, length) != 0 || name[length] != ':') { return false; }
    const char *digits = name + length + 1;
    for (; *digits >= '0' && *digits <= '9' && *gpu < CUDA_GPUS_MAX; digits++) {
        *gpu = *gpu * 10 + (uint32_t)(*digits - '0');
    }
    return *digits == '\0' && digits[-1] != ':' && *gpu < CUDA_GPUS_MAX;
}

enum tn_status backend_cuda(uint32_t gpu, const struct backend **out, struct error *error)
{
    static struct backend backends[CUDA_GPUS_MAX]; /* Each is always filled with the same. */
    const struct cuda_library *library = NULL;
    assert(out != NULL && gpu < CUDA_GPUS_MAX);
    *out = &backends[gpu];
    enum tn_status status = cuda_library_open(gpu, &library, error);
    if (status == TN_OK) { status = backend_cuda_over(library, &backends[gpu], error); }
    backends[gpu].device.number = gpu;
    return status;
}

enum tn_status backend_cublas(uint32_t gpu, enum cuda_precision precision,
                              const struct backend **out, struct error *error)
{
    /* Each is always filled with the same. */
    static struct backend all[CUDA_PRECISIONS][CUDA_GPUS_MAX];
    const struct cuda_library *library = NULL;
    assert(out != NULL && gpu < CUDA_GPUS_MAX && precision < CUDA_PRECISIONS);
    struct backend *backend = &all[precision][gpu];
    *out = backend;
    enum tn_status status = cuda_library_open_cublas(gpu, precision, &library, error);
    if (status == TN_OK) { status = backend_cuda_over(library, backend, error); }
    backend->name = "cublas";
    backend->joins = false;
    backend->device.number = gpu;
    return status;
}

static bool find_precision(const char *name, enum cuda_precision *precision, uint32_t *gpu)
{
    static const char *const names[CUDA_PRECISIONS] = {
        [CUDA_FLOAT32] = "cublas",
        [CUDA_TF32] = "cublas-tf32",
        [CUDA_BF16] = "cublas-bf16",
    };
    for (int i = 0; i < CUDA_PRECISIONS; i++) {
        *precision = (enum cuda_precision)i;
        if (backend_cuda_parse(name, names[i], gpu)) { return true; }
    }
    return false;
}

bool backend_cuda_knows(const char *name)
{
    enum cuda_precision precision;
    uint32_t gpu;
    return backend_cuda_parse(name, "cuda", &gpu) || find_precision(name, &precision, &gpu);
}

enum tn_status backend_cuda_planned(const char *name, const struct backend **out,
                                    struct error *error)
{
    /* Each is always filled with the same; of the kernels, only the precision is read. */
    static struct cuda_kernels kernels[CUDA_PRECISIONS];
    static struct backend all[CUDA_PRECISIONS], cuda;
    enum cuda_precision precision = CUDA_FLOAT32;
    uint32_t gpu;
    const bool joins = backend_cuda_parse(name, "cuda", &gpu);
    const bool is_known = joins || find_precision(name, &precision, &gpu);
    assert(is_known);
    kernels[precision].precision = precision;
    const struct cuda_library nothing = {.kernels = &kernels[precision]};
    struct backend *backend = joins ? &cuda : &all[precision];
    *out = backend;
    enum tn_status status = backend_cuda_over(&nothing, backend, error);
    backend->joins = joins;
    return status;
}

enum tn_status backend_cuda_named(const char *name, const struct backend **out, struct error *error)
{
    enum cuda_precision precision;
    uint32_t gpu;
    if (backend_cuda_parse(name, "cuda", &gpu)) { return backend_cuda(gpu, out, error); }
    const bool is_known = find_precision(name, &precision, &gpu);
    assert(is_known);
    return backend_cublas(gpu, precision, out, error);
}
