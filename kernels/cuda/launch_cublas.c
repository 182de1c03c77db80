/* kernels/cuda/launch_cublas.c: the library of the GPUs with matrix products by cuBLAS. Its
 * matrices are column-major: a row-major matrix is its transposed one, so out' = b' a'. */
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/launch_private.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/product.h"
#include "kernels/gpu/cublas.h"

struct gpu_products {
    bool was_opened;
    struct error opened; /* The result of the only attempt. */
    struct cublas_handle *handle;
    gpu_address workspace;
};

/* A handle has one mode of arithmetic, so each precision has its own. */
static struct gpu_products gpus[CUDA_PRECISIONS][CUDA_GPUS_MAX];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* Set before the first handle is created, and constant from then on. */
static const struct cublas *cublas;
static const struct cuda_kernels *own;
static struct cuda_kernels kernels[CUDA_PRECISIONS];

/* ------------------------------------------------------ products */

/* An operand for cuBLAS: `step` elements from column to column of its column-major matrix, of which
 * it stores `lines` columns of `length`. */
struct matrix {
    const void *data;
    size_t step, next, lines, length;
    cublas_operation as;
};

static bool is_int(size_t number)
{
    return number <= INT_MAX;
}

/* False: neither its rows nor its columns are contiguous. */
static bool find_matrix(const struct cuda_operand *x, size_t rows, size_t columns,
                        struct matrix *out)
{
    *out = (struct matrix){.data = x->data, .next = x->batch};
    if ((x->column == 1 || columns == 1) && (x->row >= columns || rows == 1)) {
        out->as = CUBLAS_AS_IS;
        out->step = rows == 1 ? columns : x->row;
        out->lines = rows;
        out->length = columns;
        return is_int(out->step);
    }
    out->as = CUBLAS_TRANSPOSED;
    out->step = columns == 1 ? rows : x->column;
    out->lines = columns;
    out->length = rows;
    const bool has_columns = x->row == 1 || rows == 1;
    return has_columns && (x->column >= rows || columns == 1) && is_int(out->step);
}

/* In float32. */
static int multiply(const struct cuda_matmul *task, const struct matrix *a, const struct matrix *b)
{
    struct cublas_handle *handle = gpus[CUDA_FLOAT32][launch_number()].handle;
    const float one = 1.0F, kept = task->accumulate ? 1.0F : 0.0F;
    const int m = (int)task->m, n = (int)task->n, k = (int)task->k;
    assert(handle != NULL);
    if (task->batch == 1) {
        return cublas->multiply(handle, b->as, a->as, n, m, k, &one, b->data, (int)b->step, a->data,
                                (int)a->step, &kept, task->out, n);
    }
    return cublas->multiply_pairs(handle, b->as, a->as, n, m, k, &one, b->data, (int)b->step,
                                  (cublas_stride)b->next, a->data, (int)a->step,
                                  (cublas_stride)a->next, &kept, task->out, n,
                                  (cublas_stride)(task->m * task->n), (int)task->batch);
}

/* With operands of another format, and float32 results. */
static int multiply_as(const struct cuda_matmul *task, const struct matrix *a,
                       const struct matrix *b)
{
    const bool is_bf16 = task->rounding.precision == CUDA_BF16;
    struct cublas_handle *handle = gpus[task->rounding.precision][launch_number()].handle;
    const cublas_type type = is_bf16 ? CUBLAS_BF16 : CUBLAS_FLOAT;
    const cublas_compute compute = is_bf16 ? CUBLAS_IN_FLOAT : CUBLAS_IN_TF32;
    const float one = 1.0F, kept = task->accumulate ? 1.0F : 0.0F;
    const int m = (int)task->m, n = (int)task->n, k = (int)task->k;
    assert(handle != NULL);
    if (task->batch == 1) {
        return cublas->multiply_as(handle, b->as, a->as, n, m, k, &one, b->data, type, (int)b->step,
                                   a->data, type, (int)a->step, &kept, task->out, CUBLAS_FLOAT, n,
                                   compute, CUBLAS_ANY_ALGORITHM);
    }
    return cublas->multiply_pairs_as(
        handle, b->as, a->as, n, m, k, &one, b->data, type, (int)b->step, (cublas_stride)b->next,
        a->data, type, (int)a->step, (cublas_stride)a->next, &kept, task->out, CUBLAS_FLOAT, n,
        (cublas_stride)(task->m * task->n), (int)task->batch, compute, CUBLAS_ANY_ALGORITHM);
}

/* Round an operand to bf16, to `out`, without gaps between its columns and matrices. */
static void round_operand(struct matrix *x, size_t batch, uint16_t *out)
{
    const size_t pairs = x->next == 0 ? 1 : batch, each = x->lines * x->length;
    own->round_to_bf16(pairs, x->lines, x->length, x->next, x->step, x->data, out);
    x->data = out;
    x->step = x->length;
    x->next = x->next == 0 ? 0 : each;
}

/* The stream has the order of the calls, so the next product may use the same memory. */
static void round_operands(const struct cuda_matmul *task, struct matrix *a, struct matrix *b)
{
    uint8_t *memory = task->rounding.operands;
    assert(memory != NULL);
    const size_t count = (a->next == 0 ? 1 : task->batch) * a->lines * a->length;
    round_operand(a, task->batch, (uint16_t *)(void *)memory);
    round_operand(b, task->batch, (uint16_t *)(void *)(memory + cuda_rounded_operand(count)));
}

/* A failure is kept for the next copy or wait, as that of a kernel. */
static void start(const struct cuda_matmul *task, const struct matrix *a, const struct matrix *b)
{
    struct error text = {.status = TN_OK};
    enum tn_status status = launch_begin(&text);
    if (status == TN_OK) {
        const bool is_float = task->rounding.precision == CUDA_FLOAT32;
        const int code = is_float ? multiply(task, a, b) : multiply_as(task, a, b);
        status =
            cublas_check(cublas, code, &text, "product of %zu matrices, %zu x %zu by %zu x %zu",
                         task->batch, task->m, task->k, task->k, task->n);
    }
    if (status != TN_OK && status != TN_EDEVICE) {
        status = error_set(&text, TN_EDEVICE, "%s", text.text);
    }
    (void)launch_end(status, &text, NULL);
}

/* Pairs with the same right operand, whose left rows continue from pair to pair, are one pair. */
static void merge_pairs(struct cuda_matmul *task)
{
    const bool continues = task->a.column == 1 && task->a.batch == task->m * task->a.row;
    if (task->b.batch != 0 || !continues) { return; }
    task->m *= task->batch;
    task->batch = 1;
}

static void add_bias(const struct cuda_matmul *task)
{
    const size_t rows = task->batch * task->m;
    const struct cuda_shape shape = {.rank = 2, .dims = {rows, task->n}};
    const struct cuda_strides each = {.stride = {task->n, 1}}, by_column = {.stride = {0, 1}};
    if (task->bias != NULL) {
        own->binary[ELEMENTWISE_ADD](&shape, task->out, &each, task->bias, &by_column, task->out);
    }
    if (task->relu) { own->unary[ELEMENTWISE_RELU](rows * task->n, task->out, task->out); }
}

/* Tanist's own kernel computes what cuBLAS does not: this depends on the shape alone. */
static void run_matmul(const struct cuda_matmul *task)
{
    struct cuda_matmul all = *task;
    struct matrix a, b;
    if (all.batch > 1) { merge_pairs(&all); }
    const bool fits = is_int(all.batch) && is_int(all.m) && is_int(all.n) && is_int(all.k);
    const bool is_empty = all.batch == 0 || all.m == 0 || all.n == 0 || all.k == 0;
    if (!fits || is_empty || !find_matrix(&all.a, all.m, all.k, &a) ||
        !find_matrix(&all.b, all.k, all.n, &b)) {
        own->matmul(task);
        return;
    }
    if (all.batch == 1) { a.next = b.next = 0; }
    if (all.rounding.precision == CUDA_BF16) { round_operands(&all, &a, &b); }
    start(&all, &a, &b);
    add_bias(&all);
}

/* ------------------------------------------------------ attention */

/* The places of k that may be left out are zeros. */
static void multiply_all(const struct cuda_matmul *task, enum product_places places)
{
    (void)places;
    run_matmul(task);
}

static void run_attention(const struct cuda_attention *task, const float *q, const float *k,
                          const float *v, float *p, float *out)
{
    attention_run(task, multiply_all, q, k, v, p, out);
}

static void run_attention_gradient(const struct cuda_attention *task,
                                   const struct cuda_attention_gradient *arrays)
{
    attention_run_gradient(task, multiply_all, arrays);
}

/* ------------------------------------------------------ convolutions */

/* Others than products would need their windows side by side in memory. */
static size_t pixels_of(const struct cuda_conv *c)
{
    return c->batch * c->height * c->width;
}

static void run_forward(const struct cuda_conv *conv, const float *x, const float *weights,
                        const float *bias, bool relu, float *y)
{
    const struct cuda_matmul task = {.batch = 1,
                                     .m = pixels_of(conv),
                                     .n = conv->filters,
                                     .k = conv->channels,
                                     .a = product_rows(x, pixels_of(conv), conv->channels),
                                     .b = product_rows(weights, conv->channels, conv->filters),
                                     .out = y,
                                     .bias = bias,
                                     .relu = relu,
                                     .rounding = conv->rounding};
    if (cuda_conv_is_product(conv)) {
        run_matmul(&task);
    } else {
        own->conv_forward(conv, x, weights, bias, relu, y);
    }
}

static void run_backward_data(const struct cuda_conv *conv, const float *dy, const float *weights,
                              float *dx)
{
    const struct cuda_matmul task = {.batch = 1,
                                     .m = pixels_of(conv),
                                     .n = conv->channels,
                                     .k = conv->filters,
                                     .a = product_rows(dy, pixels_of(conv), conv->filters),
                                     .b = product_columns(weights, conv->channels, conv->filters),
                                     .out = dx,
                                     .rounding = conv->rounding};
    if (cuda_conv_is_product(conv)) {
        run_matmul(&task);
    } else {
        own->conv_backward_data(conv, dy, weights, dx);
    }
}

static void run_backward_weights(const struct cuda_conv *conv, const float *x, const float *dy,
                                 float *dw)
{
    const struct cuda_matmul task = {.batch = 1,
                                     .m = conv->channels,
                                     .n = conv->filters,
                                     .k = pixels_of(conv),
                                     .a = product_columns(x, pixels_of(conv), conv->channels),
                                     .b = product_rows(dy, pixels_of(conv), conv->filters),
                                     .out = dw,
                                     .rounding = conv->rounding};
    if (cuda_conv_is_product(conv)) {
        run_matmul(&task);
    } else {
        own->conv_backward_weights(conv, x, dy, dw);
    }
}

/* ------------------------------------------------------ opening */

/* A fixed workspace and mode, in the default stream, as the kernels are. */
static enum tn_status set_up(struct gpu_products *gpu, enum cuda_precision precision,
                             struct error *error)
{
    const cublas_math math = precision == CUDA_FLOAT32 ? CUBLAS_PEDANTIC : CUBLAS_AS_CALLED;
    enum tn_status status =
        cublas_check(cublas, cublas->create(&gpu->handle), error, "cublasCreate");
    if (status != TN_OK) { return status; }
    status = cublas_check(cublas, cublas->set_math(gpu->handle, math), error, "cublasSetMathMode");
    if (status != TN_OK) { return status; }
    status = cublas_check(cublas, cublas->set_atomics(gpu->handle, CUBLAS_NO_ATOMICS), error,
                          "cublasSetAtomicsMode");
    if (status != TN_OK) { return status; }
    status = launch_check(launch_driver()->allocate(&gpu->workspace, CUDA_CUBLAS_WORKSPACE_BYTES),
                          error, "cuMemAlloc of 32 MiB for cuBLAS");
    if (status != TN_OK) { return status; }
    const int code = cublas->set_workspace(gpu->handle, (void *)(uintptr_t)gpu->workspace,
                                           CUDA_CUBLAS_WORKSPACE_BYTES);
    return cublas_check(cublas, code, error, "cublasSetWorkspace");
}

/* With this variable, NVIDIA's libraries never use TF32. */
static enum tn_status check_environment(enum cuda_precision precision, struct error *error)
{
    const char *value = getenv("NVIDIA_TF32_OVERRIDE");
    if (precision != CUDA_TF32 || value == NULL || strcmp(value, "0") != 0) { return TN_OK; }
    return error_set(error, TN_ENOENT,
                     "NVIDIA_TF32_OVERRIDE is 0, so cuBLAS would not use TF32: remove it from the "
                     "environment of the workers, or give --set train.precision=float32 in a new "
                     "run");
}

static void open_selected(struct gpu_products *gpu, enum cuda_precision precision)
{
    struct error text = {.status = TN_OK};
    const struct cublas *table = NULL;
    enum tn_status status = check_environment(precision, &gpu->opened);
    if (status == TN_OK) { status = cublas_open(&table, &gpu->opened); }
    if (status == TN_OK) {
        if (cublas == NULL) { cublas = table; }
        status = launch_begin(&text);
        if (status == TN_OK) { status = set_up(gpu, precision, &text); }
        if (status == TN_ENOMEM) {
            status = error_context(&text, "/gpu:%" PRIu32, launch_number());
        }
        status = launch_end(status, &text, &gpu->opened);
    }
    gpu->opened.status = status;
    gpu->was_opened = true;
}

static void fill_kernels(struct cuda_kernels *table, enum cuda_precision precision)
{
    *table = *own;
    table->matmul = run_matmul;
    table->attention = run_attention;
    table->attention_gradient = run_attention_gradient;
    table->conv_forward = run_forward;
    table->conv_backward_data = run_backward_data;
    table->conv_backward_weights = run_backward_weights;
    table->precision = precision;
}

/* All precisions at once: other threads may read them later. */
static void fill_libraries(const struct cuda_library *cuda, struct cuda_library *libraries)
{
    if (own != NULL) { return; }
    own = cuda->kernels;
    for (int i = 0; i < CUDA_PRECISIONS; i++) {
        fill_kernels(&kernels[i], (enum cuda_precision)i);
        libraries[i] = *cuda;
        libraries[i].name = "cublas";
        libraries[i].kernels = &kernels[i];
        libraries[i].graphs = NULL; /* Products would cut them into graphs of one to three. */
    }
}

enum tn_status cuda_library_open_cublas(uint32_t number, enum cuda_precision precision,
                                        const struct cuda_library **out, struct error *error)
{
    static struct cuda_library libraries[CUDA_PRECISIONS];
    const struct cuda_library *cuda = NULL;
    assert(out != NULL && precision < CUDA_PRECISIONS);
    *out = &libraries[precision];
    enum tn_status status = cuda_library_open(number, &cuda, error);
    if (status != TN_OK) { return status; }
    struct gpu_products *gpu = &gpus[precision][number];
    (void)pthread_mutex_lock(&opening);
    fill_libraries(cuda, libraries);
    if (!gpu->was_opened) { open_selected(gpu, precision); }
    (void)pthread_mutex_unlock(&opening);
    if (gpu->opened.status == TN_OK) { return TN_OK; }
    return error_set(error, gpu->opened.status, "the kernels \"cublas\" cannot be used: %s",
                     gpu->opened.text);
}
