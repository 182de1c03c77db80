/*
 * bench/bench_gpu.c: compares the speed of the kernels for GPUs with the limits of the GPU: copies
 * within its memory, and cuBLAS in float32 without TF32; and products with rounded operands
 * (train.precision), with their rounding, with those in float32. Times are the GPU's own (events).
 * The median of 11 rounds is printed; data is random, and the sizes are larger than the GPU's
 * cache.
 *
 *   bench_gpu [--tiny]     --tiny: sizes for the emulated driver; its times mean nothing
 *
 * Prints a line of JSON for each measurement: {"name", "value", "unit", "share", "of", "goal"}.
 * `share` is the speed over that of the limit `of`, and null without one, as cuBLAS may be missing.
 * `goal` is null if there is none.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "common/base/random.h"
#include "kernels/cuda/library.h"
#include "kernels/gpu/cublas.h"
#include "kernels/gpu/driver.h"

enum { ROUNDS_OF_GPU = 11, ARRAYS = 8, TERMS = 8, ROW = 64, FLOATS = 1 << 26 };

static const struct cuda_library *library;
static const struct gpu_driver *driver;
static const struct cublas *cublas; /* NULL: not installed. */
static struct cublas_handle *handle;
static const struct cuda_library *rounded[CUDA_PRECISIONS]; /* NULL: no cuBLAS, or float32. */
static struct gpu_event *began, *ended;

/* Floats of an array, the keys of a batch, and the sizes of products. */
static size_t count = FLOATS, keys_of_batch = 2048, side = 4096, rows_of_batch = 512;
static float *arrays[ARRAYS];
static int32_t *ids; /* count / ROW of them. */
static struct cuda_sum_term *terms;
static int rounds = ROUNDS_OF_GPU;
static double copy_speed;   /* Bytes read and written per second. */
static double cublas_speed; /* The speed of the last product. 0: unknown. */

static void require_driver(int code, const char *what)
{
    struct error error = {.status = TN_OK};
    measure_require(gpu_check(driver, code, &error, "%s", what), &error);
}

static void *on_device(const void *data, size_t bytes)
{
    struct error error = {.status = TN_OK};
    void *memory = NULL;
    measure_require(library->allocate(bytes, &memory, &error), &error);
    if (data != NULL) { measure_require(library->upload(memory, data, bytes, &error), &error); }
    return memory;
}

static void wait_kernels(void)
{
    struct error error = {.status = TN_OK};
    measure_require(library->wait(&error), &error);
}

/* ------------------------------------------------------ time */

/* Seconds of a call on the GPU, without the first one. */
static double seconds_of(void (*run)(void))
{
    double times[ROUNDS_OF_GPU];
    run();
    wait_kernels();
    for (int i = 0; i < rounds; i++) {
        float milliseconds = 0;
        require_driver(driver->event_record(began, NULL), "cuEventRecord");
        run();
        require_driver(driver->event_record(ended, NULL), "cuEventRecord");
        require_driver(driver->event_wait(ended), "cuEventSynchronize");
        require_driver(driver->event_elapsed(&milliseconds, began, ended), "cuEventElapsedTime");
        times[i] = milliseconds > 0 ? (double)milliseconds * 1e-3 : 1e-6;
    }
    wait_kernels(); /* A kernel that failed is reported here. */
    measure_sort(times, (size_t)rounds);
    return measure_quantile(times, (size_t)rounds, 0.5);
}

/* `limit` 0: unknown; `goal` 0: none. */
static void print(const char *name, double speed, const char *unit, double limit, const char *of,
                  double goal)
{
    printf("{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\", ", name, speed, unit);
    if (limit > 0) {
        printf("\"share\": %.3f, \"of\": \"%s\", ", speed / limit, of);
    } else {
        printf("\"share\": null, \"of\": \"%s\", ", of);
    }
    if (goal > 0) {
        printf("\"goal\": %.2f}\n", goal);
    } else {
        printf("\"goal\": null}\n");
    }
    (void)fflush(stdout);
}

/* A kernel that is limited by memory: the bytes that it must read and write, once each. */
static void measure_bytes(const char *name, void (*run)(void), double bytes, double goal)
{
    print(name, bytes / seconds_of(run) * 1e-9, "GB/s", copy_speed * 1e-9, "copy", goal);
}

/* ------------------------------------------------------ memory */

static void run_copy(void)
{
    require_driver(driver->copy((gpu_address)(uintptr_t)arrays[1],
                                (gpu_address)(uintptr_t)arrays[0], count * sizeof(float), NULL),
                   "cuMemcpyDtoDAsync");
}

static struct cuda_update update_of(void)
{
    return (struct cuda_update){
        .count = count,
        .constants = {.rate = 1e-6F,
                      .scale = 1,
                      .limit = 1e30F,
                      .momentum = 0.9F,
                      .beta1 = 0.9F,
                      .one_minus_beta1 = 0.1F,
                      .beta2 = 0.999F,
                      .one_minus_beta2 = 0.001F,
                      .root = 1,
                      .epsilon = 1e-8F,
                      .correction = 1},
        .gradient = arrays[0],
        .in = {arrays[1], arrays[2], arrays[3]},
        .out = {arrays[4], arrays[5], arrays[6]},
    };
}

static void run_sgd(void)
{
    const struct cuda_update update = update_of();
    library->kernels->update.sgd(&update);
}

static void run_momentum(void)
{
    const struct cuda_update update = update_of();
    library->kernels->update.momentum(&update);
}

static void run_adam(void)
{
    const struct cuda_update update = update_of();
    library->kernels->update.adam(&update);
}

static void run_add(void)
{
    library->kernels->add(count, arrays[0], arrays[1]);
}

static void run_sum_tree(void)
{
    library->kernels->sum_tree(count, TERMS - 1, terms, arrays[7]);
}

static void run_relu(void)
{
    library->kernels->unary[ELEMENTWISE_RELU](count, arrays[0], arrays[1]);
}

static void run_gelu(void)
{
    library->kernels->unary[ELEMENTWISE_GELU](count, arrays[0], arrays[1]);
}

static void run_softmax(void)
{
    const struct cuda_softmax task = {
        .rows = count / 1024, .columns = 1024, .period = 1, .visible = 1024, .scale = 1};
    library->kernels->softmax(&task, arrays[0], arrays[1]);
}

static void run_layer_norm(void)
{
    const struct cuda_norm task = {
        .rows = count / 1024,
        .columns = 1024,
        .epsilon = 1e-5,
        .x = arrays[0],
        .gain = arrays[2],
        .bias = arrays[3],
        .y = arrays[1],
        .mean = arrays[4],
        .second = arrays[5],
    };
    library->kernels->layer_norm(&task);
}

static void run_gather(void)
{
    library->kernels->gather(count / ROW, ids, sizeof *ids, count / ROW, ROW, arrays[0], arrays[1]);
}

static void run_scatter(void)
{
    library->kernels->gather_gradient(keys_of_batch, ids, sizeof *ids, count / ROW, ROW, arrays[0],
                                      arrays[7]);
}

static void measure_memory(void)
{
    const double array = (double)count * sizeof(float);
    copy_speed = 2 * array / seconds_of(run_copy);
    print("copy", copy_speed * 1e-9, "GB/s", 0, "copy", 0);
    measure_bytes("update sgd", run_sgd, 3 * array, 0.95);
    measure_bytes("update momentum", run_momentum, 5 * array, 0.95);
    measure_bytes("update adam", run_adam, 7 * array, 0.95);
    measure_bytes("add", run_add, 3 * array, 0.95);
    measure_bytes("sum of 8 slices", run_sum_tree, 9 * array, 0.95);
    measure_bytes("relu", run_relu, 2 * array, 0);
    measure_bytes("gelu", run_gelu, 2 * array, 0);
    measure_bytes("softmax of 1024", run_softmax, 2 * array, 0);
    measure_bytes("layer norm of 1024", run_layer_norm, 2 * array, 0);
    measure_bytes("embedding rows of 64", run_gather, 2 * array, 0.9);
    /* All rows become 0, and those of the keys their sums. */
    measure_bytes("gradient of an embedding", run_scatter,
                  array + 2 * (double)keys_of_batch * ROW * sizeof(float), 0.9);
}

/* ------------------------------------------------------ products */

static size_t m, n, k;

static void run_product(void)
{
    const struct cuda_matmul task = {
        .batch = 1,
        .m = m,
        .n = n,
        .k = k,
        .a = {.data = arrays[0], .row = k, .column = 1},
        .b = {.data = arrays[1], .row = n, .column = 1},
        .out = arrays[2],
    };
    library->kernels->matmul(&task);
}

/* Row-major operands are the transposed ones of column-major: out' = b' a'. */
static void run_cublas(void)
{
    static const float one = 1, zero = 0;
    const int code =
        cublas->multiply(handle, CUBLAS_AS_IS, CUBLAS_AS_IS, (int)n, (int)m, (int)k, &one,
                         arrays[1], (int)n, arrays[0], (int)k, &zero, arrays[3], (int)n);
    if (code != 0) {
        (void)fprintf(stderr, "benchmark failed: cublasSgemm: code %d\n", code);
        exit(1);
    }
}

static enum cuda_precision precision;

/* As training does it: bf16 with the rounding of both operands. */
static void run_rounded(void)
{
    const struct cuda_matmul task = {
        .batch = 1,
        .m = m,
        .n = n,
        .k = k,
        .a = {.data = arrays[0], .row = k, .column = 1},
        .b = {.data = arrays[1], .row = n, .column = 1},
        .out = arrays[3],
        .rounding = {.precision = precision, .operands = arrays[4]},
    };
    rounded[precision]->kernels->matmul(&task);
}

/* The largest difference of the two products, over the largest element; NaN is different. */
static double difference(void)
{
    struct error error = {.status = TN_OK};
    float *own = malloc(m * n * sizeof *own), *other = malloc(m * n * sizeof *other);
    double largest = 0, worst = 0;
    if (own == NULL || other == NULL) { exit(1); }
    measure_require(library->download(own, arrays[2], m * n * sizeof *own, &error), &error);
    measure_require(library->download(other, arrays[3], m * n * sizeof *other, &error), &error);
    for (size_t i = 0; i < m * n; i++) {
        const double size = other[i] < 0 ? -(double)other[i] : (double)other[i];
        const double off = (double)own[i] - (double)other[i];
        if (size > largest) { largest = size; }
        if (!(off < worst && -off < worst)) { worst = off < 0 ? -off : off; }
    }
    free(own);
    free(other);
    return worst / largest;
}

static void check_difference(const char *name, double most)
{
    const double off = difference();
    if (off < most) { return; }
    (void)fprintf(stderr, "benchmark failed: %s differs by %g\n", name, off);
    exit(1);
}

/* Beside the product in float32, which was measured before. */
static void measure_rounded(const char *product, double work)
{
    static const char *const names[CUDA_PRECISIONS] = {[CUDA_TF32] = "tf32", [CUDA_BF16] = "bf16"};
    char name[128];
    for (precision = CUDA_TF32; precision < CUDA_PRECISIONS; precision++) {
        if (rounded[precision] == NULL) { continue; }
        (void)snprintf(name, sizeof name, "%s, %s", product, names[precision]);
        print(name, work / seconds_of(run_rounded), "GFLOP/s", cublas_speed, "cuBLAS", 0);
        check_difference(name, 0.02);
    }
}

static void measure_product(const char *what, size_t rows, size_t columns, size_t depth)
{
    char name[96];
    m = rows;
    n = columns;
    k = depth;
    const double work = 2e-9 * (double)m * (double)n * (double)k;
    cublas_speed = cublas != NULL ? work / seconds_of(run_cublas) : 0;
    const double speed = work / seconds_of(run_product);
    (void)snprintf(name, sizeof name, "product %s %zu x %zu x %zu", what, m, n, k);
    print(name, speed, "GFLOP/s", cublas_speed, "cuBLAS", 0.85);
    if (cublas == NULL) { return; }
    check_difference(name, 1e-3);
    measure_rounded(name, work);
}

static struct cuda_conv conv_of(size_t batch)
{
    return (struct cuda_conv){.batch = batch,
                              .height = 14,
                              .width = 14,
                              .channels = 32,
                              .kernel_height = 3,
                              .kernel_width = 3,
                              .filters = 64,
                              .groups = 1,
                              .stride_height = 1,
                              .stride_width = 1,
                              .top = 1,
                              .left = 1,
                              .out_height = 14,
                              .out_width = 14};
}

static void run_conv(void)
{
    const struct cuda_conv conv = conv_of(rows_of_batch);
    library->kernels->conv_forward(&conv, arrays[0], arrays[1], arrays[2], true, arrays[3]);
}

static void run_conv_data(void)
{
    const struct cuda_conv conv = conv_of(rows_of_batch);
    library->kernels->conv_backward_data(&conv, arrays[0], arrays[1], arrays[3]);
}

static void run_conv_weights(void)
{
    const struct cuda_conv conv = conv_of(rows_of_batch);
    library->kernels->conv_backward_weights(&conv, arrays[0], arrays[1], arrays[3]);
}

/* The limit is the speed of cuBLAS for a large product. */
static void measure_conv(const char *name, void (*run)(void))
{
    const struct cuda_conv conv = conv_of(rows_of_batch);
    const double work = 2e-9 * (double)(conv.batch * 14 * 14) * 64.0 * 9.0 * 32.0;
    print(name, work / seconds_of(run), "GFLOP/s", cublas_speed, "cuBLAS, large product", 0.85);
}

static void measure_products(void)
{
    measure_product("of a layer, forward", rows_of_batch, side, side / 4);
    measure_product("of a layer, weights", side / 4, side, rows_of_batch);
    measure_product("of a block", rows_of_batch * 2, side / 4, side / 4);
    measure_product("large", side, side, side);
    measure_conv("convolution 3 x 3, 32 to 64", run_conv);
    measure_conv("its gradient of data", run_conv_data);
    measure_conv("its gradient of weights", run_conv_weights);
}

/* ------------------------------------------------------ opening */

/* One that cannot be opened is left out, such as TF32 that NVIDIA_TF32_OVERRIDE switches off. */
static void open_rounded(void)
{
    struct error error = {.status = TN_OK};
    for (precision = CUDA_TF32; precision < CUDA_PRECISIONS; precision++) {
        if (cuda_library_open_cublas(0, precision, &rounded[precision], &error) == TN_OK) {
            continue;
        }
        (void)fprintf(stderr, "without a precision: %s\n", error.text);
        rounded[precision] = NULL;
    }
}

static void open_cublas(void)
{
    struct error error = {.status = TN_OK};
    int version = 0;
    const enum tn_status status = cublas_open(&cublas, &error);
    if (status == TN_OK && cublas->create(&handle) == 0 &&
        cublas->set_math(handle, CUBLAS_PEDANTIC) == 0 && cublas->version(handle, &version) == 0) {
        (void)fprintf(stderr, "cuBLAS %d\n", version);
        open_rounded();
        return;
    }
    (void)fprintf(stderr, "without cuBLAS: %s\n",
                  status == TN_OK ? "it cannot be initialised" : error.text);
    cublas = NULL;
}

static void fill(void)
{
    float *host = measure_filled(count * sizeof *host);
    int32_t *keys = malloc(count / ROW * sizeof *keys);
    if (host == NULL || keys == NULL) { exit(1); }
    for (size_t i = 0; i < count; i++) { host[i] = random_unit_at(1, 1, i % 1000003) - 0.5F; }
    for (size_t i = 0; i < count / ROW; i++) {
        keys[i] = (int32_t)(random_at(1, 2, i) % (count / ROW));
    }
    for (size_t i = 0; i < ARRAYS; i++) { arrays[i] = on_device(host, count * sizeof *host); }
    ids = on_device(keys, count / ROW * sizeof *keys);
    free(host);
    free(keys);
}

/* The tree of 8 slices, of which all arrays but the last are read; as kernels/tree_sum.h. */
static void make_terms(void)
{
    const struct cuda_sum_term tree[TERMS - 1] = {
        {arrays[0], arrays[1]}, {arrays[2], arrays[3]}, {NULL, NULL}, {arrays[4], arrays[5]},
        {arrays[6], arrays[0]}, {NULL, NULL},           {NULL, NULL},
    };
    terms = on_device(tree, sizeof tree);
}

int main(int argc, char **argv)
{
    struct error error = {.status = TN_OK};
    if (argc > 1 && strcmp(argv[1], "--tiny") == 0) {
        keys_of_batch = 320; /* The filters of a convolution fit, too. */
        count = keys_of_batch * ROW;
        side = 32;
        rows_of_batch = 1;
        rounds = 1;
    }
    measure_require(cuda_library_open(0, &library, &error), &error);
    measure_require(gpu_driver_open(&driver, &error), &error);
    require_driver(driver->event_create(&began, 0), "cuEventCreate");
    require_driver(driver->event_create(&ended, 0), "cuEventCreate");
    open_cublas();
    fill();
    make_terms();
    measure_memory();
    measure_products();
    return 0;
}
