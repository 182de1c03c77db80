/*
 * kernels/cuda/emulated_cublas.c: the functions of kernels/gpu/cublas.h over the memory and the
 * streams of the emulated driver, as libcublas.so.13 beside its libcuda.so.1, so that programs
 * which use cuBLAS run without a GPU.
 *
 * Products are queued as kernels are. Arguments are checked as cuBLAS does; a matrix that is not
 * within one allocation of the current GPU, or a result that overlaps an operand, ends all work as
 * a kernel with an illegal address. The bits are not NVIDIA's; but like these, they depend on the
 * shape and on the alignment of the operands, so that a run whose shapes change has other digests.
 * Operands are rounded to the format of the type of computation.
 *
 * TANIST_EMULATED_CUBLAS: "products=N,code=CODE": all products behind the first N fail with this
 * code; "version=11": the major version; "create=CODE": no handle can be created.
 */
#include "kernels/gpu/cublas.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulated_private.h"

enum {
    NOT_INITIALIZED = 1,
    NO_MEMORY = 3,
    INVALID_VALUE = 7,
    EXECUTION_FAILED = 13,
    NOT_SUPPORTED = 15,
    VERSION = 13,
    TOUCHED_BYTES = 64,
    ALIGNMENT = 16,
    PARTS_MAX = 5,
};

struct cublas_handle {
    const struct gpu_stream *home; /* The default stream of its context. */
    cublas_math math;
    uint8_t *workspace; /* NULL: one of the library's. */
};

/* The symbols of cuBLAS. */
#define X(name, symbol, parameters)                                                                \
    __attribute__((visibility("default"))) int emulated_cublas_##name parameters __asm__(#symbol);
CUBLAS_FUNCTIONS(X)
#undef X
#define X(name, symbol, parameters)                                                                \
    __attribute__((visibility("default")))                                                         \
    const char *emulated_cublas_##name parameters __asm__(#symbol);
CUBLAS_TEXTS(X)
#undef X

static int setting(const char *key, int otherwise)
{
    const char *settings = getenv("TANIST_EMULATED_CUBLAS");
    return (int)emulated_setting(settings, key, (uint32_t)otherwise);
}

/* ------------------------------------------------------ handles */

int emulated_cublas_create(struct cublas_handle **handle)
{
    const int code = setting("create=", 0);
    *handle = NULL;
    if (code != 0) { return code; }
    const int entered = emulated_enter(NEEDS_CONTEXT);
    if (entered == GPU_SUCCESS) {
        *handle = calloc(1, sizeof **handle);
        if (*handle != NULL) { (*handle)->home = emulated_stream_of(NULL); }
    }
    (void)emulated_leave(entered);
    if (entered != GPU_SUCCESS) { return NOT_INITIALIZED; }
    return *handle != NULL ? 0 : NO_MEMORY;
}

int emulated_cublas_destroy(struct cublas_handle *handle)
{
    free(handle);
    return handle != NULL ? 0 : NOT_INITIALIZED;
}

int emulated_cublas_property(cublas_property type, int *value)
{
    if (type < CUBLAS_MAJOR || type > CUBLAS_PATCH) { return INVALID_VALUE; }
    *value = type == CUBLAS_MAJOR ? setting("version=", VERSION) : 0;
    return 0;
}

int emulated_cublas_version(struct cublas_handle *handle, int *version)
{
    *version = setting("version=", VERSION) * 10000;
    return handle != NULL ? 0 : NOT_INITIALIZED;
}

int emulated_cublas_set_math(struct cublas_handle *handle, cublas_math mode)
{
    if (handle == NULL) { return NOT_INITIALIZED; }
    handle->math = mode;
    return mode == CUBLAS_PEDANTIC || mode == CUBLAS_AS_CALLED ? 0 : NOT_SUPPORTED;
}

int emulated_cublas_set_atomics(struct cublas_handle *handle, cublas_atomics mode)
{
    if (handle == NULL) { return NOT_INITIALIZED; }
    return mode == CUBLAS_NO_ATOMICS ? 0 : NOT_SUPPORTED;
}

int emulated_cublas_set_workspace(struct cublas_handle *handle, void *workspace, size_t bytes)
{
    enum { ALIGNED = 256 };
    if (handle == NULL) { return NOT_INITIALIZED; }
    const int entered = emulated_enter(NEEDS_CONTEXT);
    uint8_t *range = entered == GPU_SUCCESS && emulated_is_current(handle->home)
                         ? emulated_range((gpu_address)(uintptr_t)workspace, bytes)
                         : NULL;
    (void)emulated_leave(entered);
    if (range == NULL || bytes < TOUCHED_BYTES || (uintptr_t)workspace % ALIGNED != 0) {
        return INVALID_VALUE;
    }
    handle->workspace = range;
    return 0;
}

/* ------------------------------------------------------ products */

struct operand {
    const void *data;
    cublas_operation as;
    int step;
    cublas_stride next;
};

struct product {
    struct operand a, b;
    int m, n, k, count, c_step;
    cublas_stride c_next;
    float alpha, beta;
    float *c;
    uint8_t *workspace;
    int parts; /* Sums of an output. */
    cublas_math math;
    cublas_type type; /* The type of both operands. */
    cublas_compute compute;
};

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* To 10 bits of the mantissa, to the nearest and to even. */
static float tf32_of(float x)
{
    enum { DROPPED = 13 };
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t odd = bits >> DROPPED & 1;
    return x != x ? x : float_of((bits + (1U << (DROPPED - 1)) - 1 + odd) >> DROPPED << DROPPED);
}

static float element(const struct product *product, const struct operand *x, cublas_stride pair,
                     int row, int column)
{
    const cublas_stride at = x->as == CUBLAS_AS_IS ? (cublas_stride)column * x->step + row
                                                   : (cublas_stride)row * x->step + column;
    const cublas_stride place = pair * x->next + at;
    if (product->type == CUBLAS_BF16) {
        return float_of((uint32_t)((const uint16_t *)x->data)[place] << 16);
    }
    const float found = ((const float *)x->data)[place];
    return product->compute == CUBLAS_IN_TF32 ? tf32_of(found) : found;
}

/* Element p of k belongs to sum p modulo `parts`. */
static void multiply(const void *arguments)
{
    const struct product *product = arguments;
    const cublas_stride outputs = (cublas_stride)product->count * product->m * product->n;
    for (int i = 0; product->workspace != NULL && i < TOUCHED_BYTES; i++) {
        product->workspace[i] = 0xff;
    }
    for (cublas_stride output = 0; output < outputs; output++) {
        const int i = (int)(output % product->m), j = (int)(output / product->m % product->n);
        const cublas_stride pair = output / product->m / product->n;
        float sums[PARTS_MAX] = {0}, sum = 0;
        for (int p = 0; p < product->k; p++) {
            sums[p % product->parts] += element(product, &product->a, pair, i, p) *
                                        element(product, &product->b, pair, p, j);
        }
        for (int p = 0; p < product->parts; p++) { sum += sums[p]; }
        float *c = &product->c[pair * product->c_next + (cublas_stride)j * product->c_step + i];
        *c = product->beta == 0 ? product->alpha * sum : product->alpha * sum + product->beta * *c;
    }
}

static size_t element_bytes(const struct product *p)
{
    return p->type == CUBLAS_BF16 ? sizeof(uint16_t) : sizeof(float);
}

/* Elements from the first to behind the last of `count` matrices. */
static size_t extent(int rows, int columns, int step, cublas_stride next, int count)
{
    return (size_t)(count - 1) * (size_t)next + (size_t)(columns - 1) * (size_t)step + (size_t)rows;
}

static size_t extent_of(const struct operand *x, int rows, int columns, int count)
{
    return x->as == CUBLAS_AS_IS ? extent(rows, columns, x->step, x->next, count)
                                 : extent(columns, rows, x->step, x->next, count);
}

static bool is_within(const void *data, size_t bytes)
{
    return emulated_range((gpu_address)(uintptr_t)data, bytes) != NULL;
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + b_bytes && y < x + a_bytes;
}

/* As cuBLAS checks them: sizes, and steps of the matrices as they are stored. */
static bool is_valid(const struct product *p)
{
    const int a_rows = p->a.as == CUBLAS_AS_IS ? p->m : p->k;
    const int b_rows = p->b.as == CUBLAS_AS_IS ? p->k : p->n;
    const bool has_operations = (p->a.as == CUBLAS_AS_IS || p->a.as == CUBLAS_TRANSPOSED) &&
                                (p->b.as == CUBLAS_AS_IS || p->b.as == CUBLAS_TRANSPOSED);
    return has_operations && p->m >= 0 && p->n >= 0 && p->k >= 0 && p->count >= 0 &&
           p->a.step >= 1 && p->a.step >= a_rows && p->b.step >= 1 && p->b.step >= b_rows &&
           p->c_step >= 1 && p->c_step >= p->m;
}

/* All memory that it reads and writes is the current GPU's. */
static bool has_memory(const struct product *p)
{
    const size_t a = extent_of(&p->a, p->m, p->k, p->count) * element_bytes(p);
    const size_t b = extent_of(&p->b, p->k, p->n, p->count) * element_bytes(p);
    const size_t c = extent(p->m, p->n, p->c_step, p->c_next, p->count) * sizeof(float);
    return is_within(p->a.data, a) && is_within(p->b.data, b) && is_within(p->c, c) &&
           !overlap(p->a.data, a, p->c, c) && !overlap(p->b.data, b, p->c, c) &&
           (p->count == 1 || p->c_next >= (cublas_stride)p->c_step * p->n);
}

/* At most PARTS_MAX. */
static int parts_for(const struct product *p)
{
    const bool is_aligned =
        (uintptr_t)p->a.data % ALIGNMENT == 0 && (uintptr_t)p->b.data % ALIGNMENT == 0;
    return 2 + ((p->m + 1) / 2 + (p->n + 1) / 2) % 3 + (is_aligned ? 0 : 1);
}

/* In a context. */
static int queue(struct product *product)
{
    static int products;
    const int code = setting("code=", 0);
    if (!is_valid(product)) { return INVALID_VALUE; }
    if (code != 0 && products++ >= setting("products=", 0)) { return code; }
    if (product->m == 0 || product->n == 0 || product->k == 0 || product->count == 0) {
        return NOT_SUPPORTED; /* Tanist does not call it so. */
    }
    if (!has_memory(product)) {
        (void)emulated_break(GPU_ILLEGAL_ADDRESS);
        return EXECUTION_FAILED;
    }
    product->parts = parts_for(product);
    const int added = emulated_add_call(multiply, product, sizeof *product);
    return added == GPU_SUCCESS ? 0 : EXECUTION_FAILED;
}

static int enqueue(const struct cublas_handle *handle, struct product *product)
{
    if (handle == NULL) { return NOT_INITIALIZED; }
    if (handle->math != product->math) { return NOT_SUPPORTED; }
    const int entered = emulated_enter(NEEDS_CONTEXT);
    int code = EXECUTION_FAILED;
    if (entered == GPU_SUCCESS) {
        product->workspace = handle->workspace;
        code = emulated_is_current(handle->home) ? queue(product) : INVALID_VALUE;
    }
    (void)emulated_leave(entered);
    return code;
}

int emulated_cublas_multiply(struct cublas_handle *handle, cublas_operation a_as,
                             cublas_operation b_as, int m, int n, int k, const float *alpha,
                             const float *a, int a_step, const float *b, int b_step,
                             const float *beta, float *c, int c_step)
{
    return emulated_cublas_multiply_pairs(handle, a_as, b_as, m, n, k, alpha, a, a_step, 0, b,
                                          b_step, 0, beta, c, c_step, 0, 1);
}

int emulated_cublas_multiply_pairs(struct cublas_handle *handle, cublas_operation a_as,
                                   cublas_operation b_as, int m, int n, int k, const float *alpha,
                                   const float *a, int a_step, cublas_stride a_next, const float *b,
                                   int b_step, cublas_stride b_next, const float *beta, float *c,
                                   int c_step, cublas_stride c_next, int count)
{
    struct product product = {
        .a = {a, a_as, a_step, a_next},
        .b = {b, b_as, b_step, b_next},
        .m = m,
        .n = n,
        .k = k,
        .count = count,
        .c_step = c_step,
        .c_next = c_next,
        .alpha = *alpha,
        .beta = *beta,
        .c = c,
        .math = CUBLAS_PEDANTIC,
        .type = CUBLAS_FLOAT,
        .compute = CUBLAS_IN_FLOAT,
    };
    return enqueue(handle, &product);
}

int emulated_cublas_multiply_as(struct cublas_handle *handle, cublas_operation a_as,
                                cublas_operation b_as, int m, int n, int k, const void *alpha,
                                const void *a, cublas_type a_type, int a_step, const void *b,
                                cublas_type b_type, int b_step, const void *beta, void *c,
                                cublas_type c_type, int c_step, cublas_compute compute,
                                cublas_algorithm algorithm)
{
    return emulated_cublas_multiply_pairs_as(handle, a_as, b_as, m, n, k, alpha, a, a_type, a_step,
                                             0, b, b_type, b_step, 0, beta, c, c_type, c_step, 0, 1,
                                             compute, algorithm);
}

int emulated_cublas_multiply_pairs_as(struct cublas_handle *handle, cublas_operation a_as,
                                      cublas_operation b_as, int m, int n, int k, const void *alpha,
                                      const void *a, cublas_type a_type, int a_step,
                                      cublas_stride a_next, const void *b, cublas_type b_type,
                                      int b_step, cublas_stride b_next, const void *beta, void *c,
                                      cublas_type c_type, int c_step, cublas_stride c_next,
                                      int count, cublas_compute compute, cublas_algorithm algorithm)
{
    const bool is_tf32 = a_type == CUBLAS_FLOAT && compute == CUBLAS_IN_TF32;
    const bool is_bf16 = a_type == CUBLAS_BF16 && compute == CUBLAS_IN_FLOAT;
    struct product product = {
        .a = {a, a_as, a_step, a_next},
        .b = {b, b_as, b_step, b_next},
        .m = m,
        .n = n,
        .k = k,
        .count = count,
        .c_step = c_step,
        .c_next = c_next,
        .alpha = *(const float *)alpha,
        .beta = *(const float *)beta,
        .c = c,
        .math = CUBLAS_AS_CALLED,
        .type = a_type,
        .compute = compute,
    };
    if ((!is_tf32 && !is_bf16) || b_type != a_type || c_type != CUBLAS_FLOAT ||
        algorithm != CUBLAS_ANY_ALGORITHM) {
        return NOT_SUPPORTED;
    }
    return enqueue(handle, &product);
}

/* ------------------------------------------------------ texts */

static const struct {
    int code;
    const char *name, *text;
} codes[] = {
    {0, "CUBLAS_STATUS_SUCCESS", "success"},
    {NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {NO_MEMORY, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an invalid argument was passed"},
    {EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed on the GPU"},
    {NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the function is not supported"},
};

const char *emulated_cublas_code_name(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].code == code) { return codes[i].name; }
    }
    return "CUBLAS_STATUS_UNKNOWN";
}

const char *emulated_cublas_code_text(int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].code == code) { return codes[i].text; }
    }
    return "unknown";
}
