/* kernels/cuda/launch_cublas.c: the library of the GPUs with matrix products by cuBLAS. Its
 * matrices are column-major: a row-major matrix is its transposed one, so out' = b' a'. */
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>

#include "kernels/cuda/launch_private.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/product.h"
#include "kernels/gpu/cublas.h"

/* As much as cuBLAS recommends for any GPU. The choice of its algorithm may depend on this. */
enum { WORKSPACE_BYTES = 32 << 20 };

struct gpu_products {
    bool was_opened;
    struct error opened; /* The result of the only attempt. */
    struct cublas_handle *handle;
    gpu_address workspace;
};

static struct gpu_products gpus[CUDA_GPUS_MAX];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* Set before the first handle is created, and constant from then on. */
static const struct cublas *cublas;
static const struct cuda_kernels *own;
static struct cuda_kernels kernels;

/* ------------------------------------------------------ products */

/* An operand for cuBLAS: `step` floats from column to column of its column-major matrix. */
struct matrix {
    const float *data;
    size_t step, next;
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
        return is_int(out->step);
    }
    out->as = CUBLAS_TRANSPOSED;
    out->step = columns == 1 ? rows : x->column;
    const bool has_columns = x->row == 1 || rows == 1;
    return has_columns && (x->column >= rows || columns == 1) && is_int(out->step);
}

static int multiply(const struct cuda_matmul *task, const struct matrix *a, const struct matrix *b)
{
    struct cublas_handle *handle = gpus[launch_number()].handle;
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

/* A failure is kept for the next copy or wait, as that of a kernel. */
static void start(const struct cuda_matmul *task, const struct matrix *a, const struct matrix *b)
{
    struct error text = {.status = TN_OK};
    enum tn_status status = launch_begin(&text);
    if (status == TN_OK) {
        status = cublas_check(cublas, multiply(task, a, b), &text,
                              "product of %zu matrices, %zu x %zu by %zu x %zu", task->batch,
                              task->m, task->k, task->k, task->n);
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

static void run_attention_gradient(const struct cuda_attention *task, const float *q,
                                   const float *k, const float *v, const float *p,
                                   const float *dout, float *ds, float *dq, float *dk, float *dv)
{
    attention_run_gradient(task, multiply_all, q, k, v, p, dout, ds, dq, dk, dv);
}

/* ------------------------------------------------------ convolutions */

/* Whether each output pixel has one input pixel, so that it is a product of pixels and filters. The
 * others would need their windows side by side in memory. */
static bool is_product(const struct cuda_conv *c)
{
    return c->kernel_height == 1 && c->kernel_width == 1 && c->groups == 1 &&
           c->stride_height == 1 && c->stride_width == 1 && c->top == 0 && c->left == 0 &&
           c->out_height == c->height && c->out_width == c->width;
}

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
                                     .relu = relu};
    if (is_product(conv)) {
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
                                     .out = dx};
    if (is_product(conv)) {
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
                                     .out = dw};
    if (is_product(conv)) {
        run_matmul(&task);
    } else {
        own->conv_backward_weights(conv, x, dy, dw);
    }
}

/* ------------------------------------------------------ opening */

/* A fixed workspace and mode, in the default stream, as the kernels are. */
static enum tn_status set_up(struct gpu_products *gpu, struct error *error)
{
    enum tn_status status =
        cublas_check(cublas, cublas->create(&gpu->handle), error, "cublasCreate");
    if (status != TN_OK) { return status; }
    status = cublas_check(cublas, cublas->set_math(gpu->handle, CUBLAS_PEDANTIC), error,
                          "cublasSetMathMode");
    if (status != TN_OK) { return status; }
    status = cublas_check(cublas, cublas->set_atomics(gpu->handle, CUBLAS_NO_ATOMICS), error,
                          "cublasSetAtomicsMode");
    if (status != TN_OK) { return status; }
    status = launch_check(launch_driver()->allocate(&gpu->workspace, WORKSPACE_BYTES), error,
                          "cuMemAlloc of 32 MiB for cuBLAS");
    if (status != TN_OK) { return status; }
    const int code =
        cublas->set_workspace(gpu->handle, (void *)(uintptr_t)gpu->workspace, WORKSPACE_BYTES);
    return cublas_check(cublas, code, error, "cublasSetWorkspace");
}

static void open_selected(struct gpu_products *gpu)
{
    struct error text = {.status = TN_OK};
    const struct cublas *table = NULL;
    enum tn_status status = cublas_open(&table, &gpu->opened);
    if (status == TN_OK) {
        if (cublas == NULL) { cublas = table; }
        status = launch_begin(&text);
        if (status == TN_OK) { status = set_up(gpu, &text); }
        if (status == TN_ENOMEM) {
            status = error_context(&text, "/gpu:%" PRIu32, launch_number());
        }
        status = launch_end(status, &text, &gpu->opened);
    }
    gpu->opened.status = status;
    gpu->was_opened = true;
}

static void fill_kernels(const struct cuda_library *library)
{
    if (own != NULL) { return; }
    own = library->kernels;
    kernels = *own;
    kernels.matmul = run_matmul;
    kernels.attention = run_attention;
    kernels.attention_gradient = run_attention_gradient;
    kernels.conv_forward = run_forward;
    kernels.conv_backward_data = run_backward_data;
    kernels.conv_backward_weights = run_backward_weights;
}

enum tn_status cuda_library_open_cublas(uint32_t number, const struct cuda_library **out,
                                        struct error *error)
{
    static struct cuda_library library;
    const struct cuda_library *cuda = NULL;
    assert(out != NULL);
    *out = &library;
    enum tn_status status = cuda_library_open(number, &cuda, error);
    if (status != TN_OK) { return status; }
    struct gpu_products *gpu = &gpus[number];
    (void)pthread_mutex_lock(&opening);
    if (own == NULL) {
        fill_kernels(cuda);
        library = *cuda;
        library.name = "cublas";
        library.kernels = &kernels;
    }
    if (!gpu->was_opened) { open_selected(gpu); }
    (void)pthread_mutex_unlock(&opening);
    if (gpu->opened.status == TN_OK) { return TN_OK; }
    return error_set(error, gpu->opened.status, "the kernels \"cublas\" cannot be used: %s",
                     gpu->opened.text);
}
