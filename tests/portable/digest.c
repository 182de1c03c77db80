/*
 * tests/portable/digest.c: prints one digest of each family of portable kernels and three of each
 * network (losses, gradients, variables after three steps of SGD), for the class that TANIST_ISA
 * names. compare.py compares the output of several builds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/random.h"
#include "graph/cuda/backend.h"
#include "graph/openblas/backend.h"
#include "kernels/portable/attention.h"
#include "kernels/portable/conv.h"
#include "kernels/portable/matmul.h"
#include "tests/portable/networks.h"

/* This program has no other kernels. */
enum tn_status backend_openblas(const struct backend **out, struct error *error)
{
    *out = NULL;
    return error_set(error, TN_ENOENT, "OpenBLAS is not part of this program");
}

bool backend_cuda_knows(const char *name)
{
    (void)name;
    return false;
}

enum tn_status backend_cuda_named(const char *name, const struct backend **out, struct error *error)
{
    *out = NULL;
    return error_set(error, TN_ENOENT, "%s is not part of this program", name);
}

enum tn_status backend_cuda_planned(const char *name, const struct backend **out,
                                    struct error *error)
{
    return backend_cuda_named(name, out, error);
}

enum { SIZE = 1 << 15 };

static const struct portable *kernels;
static float a[SIZE], b[SIZE], c[SIZE], out[SIZE], workspace[4 * SIZE];
static uint8_t which[SIZE];
static uint64_t hash = UINT64_C(1469598103934665603);

/* FNV-1a over the bits, with one pattern for all NaNs. */
static void add_digest(const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        if (x[i] != x[i]) { bits = 0x7fc00000U; }
        hash = (hash ^ bits) * UINT64_C(1099511628211);
    }
}

static void fill(float *x, uint64_t stream)
{
    for (size_t i = 0; i < SIZE; i++) { x[i] = 2.0F * random_unit_at(7, stream, i) - 1.0F; }
}

static void start(void)
{
    fill(a, 1);
    fill(b, 2);
    fill(c, 3);
    memset(out, 0, sizeof out);
}

static void matmuls(void)
{
    struct random random = {.state = 1};
    for (int i = 0; i < 60; i++) {
        size_t m = 1 + random_below(&random, 60), n = 1 + random_below(&random, 90);
        size_t k = i % 10 == 0 ? 300 : 1 + random_below(&random, 80);
        bool ta = i % 2 == 1, tb = i % 4 > 1;
        struct matmul task = {
            .batch = 1,
            .m = m,
            .n = n,
            .k = k,
            .a = {.data = a, .row = ta ? 1 : k, .column = ta ? m : 1},
            .b = {.data = b, .row = tb ? 1 : n, .column = tb ? k : 1},
            .out = out,
            .out_row = n,
            .bias = i % 3 == 0 ? c : NULL,
            .relu = i % 3 == 0,
        };
        matmul_run(kernels, &task, workspace);
        add_digest(out, m * n);
    }
}

/* All exponents, both signs. */
static void elementwise(void)
{
    for (uint32_t i = 0; i < SIZE; i++) {
        uint32_t bits = i << 17 | (uint32_t)(random_at(7, 4, i) & 0x1ffff);
        memcpy(&c[i], &bits, sizeof bits);
    }
    for (size_t u = 0; u < ELEMENTWISE_UNARIES; u++) {
        kernels->elementwise->unary[u](SIZE, c, out);
        add_digest(out, SIZE);
        if (kernels->elementwise->gradient[u] == NULL) { continue; }
        kernels->elementwise->gradient[u](SIZE - 3, c, b, out);
        add_digest(out, SIZE);
    }
    for (size_t u = 0; u < ELEMENTWISE_BINARIES; u++) {
        kernels->elementwise->binary[u](SIZE, c, 1, b, u % 2, out);
        add_digest(out, SIZE);
    }
    kernels->elementwise->axpy(SIZE, 0.3F, a, b, out);
    add_digest(out, SIZE);
}

static void rows(void)
{
    int32_t labels[200];
    for (int32_t r = 0; r < 200; r++) { labels[r] = r % 37; }
    for (size_t columns = 37; columns <= 150; columns += 28) {
        const size_t count = SIZE / 150;
        struct softmax_rows softmax = {count, columns, columns, 1, 1, 0.25F};
        struct layer_norm norm = {count, columns, a, b, c, c + count};
        kernels->softmax->forward(&softmax, a, out);
        add_digest(out, count * columns);
        kernels->softmax->backward(&softmax, out, b, out);
        add_digest(out, count * columns);
        kernels->softmax->cross_entropy(200, columns, a, labels, workspace, out);
        add_digest(workspace, 200);
        kernels->softmax->cross_entropy_backward(200, columns, out, labels, b, out);
        add_digest(out, 200 * columns);
        kernels->normalize->layer_forward(&norm, b, 1e-5F, out);
        add_digest(out, count * columns);
        kernels->normalize->layer_backward(&norm, b, out, workspace, workspace + columns);
        add_digest(out, count * columns);
        kernels->reduce->sum_rows(count, columns, a, columns, false, out);
        kernels->reduce->sum_columns(count, columns, a, columns, out + columns);
        add_digest(out, columns + count);
        float norm2 = (float)kernels->reduce->dot(count * columns, a, a);
        add_digest(&norm2, 1);
    }
}

static void dropout(void)
{
    const struct dropout_stream stream = {UINT64_C(0x123456789), 77, 5};
    kernels->dropout->apply(&stream, 1001, 0.4F, a, out);
    add_digest(out, 1001);
}

static void convolve(size_t channels, size_t filters, size_t groups, size_t kernel, size_t stride)
{
    struct conv2d v = {2,      11,     9,      channels, kernel, kernel, filters,
                       groups, stride, stride, 1,        0,      1,      1};
    float *packed = workspace, *image = workspace + 2 * SIZE;
    size_t outputs = 2 * conv2d_out_height(&v) * conv2d_out_width(&v) * filters;
    conv2d_pack(kernels, &v, b, packed);
    conv2d_forward(kernels, &v, a, packed, (struct conv2d_epilogue){c, true}, out, image);
    add_digest(out, outputs);
    conv2d_pack_backward(kernels, &v, b, packed, image);
    conv2d_backward_data(kernels, &v, a, packed, out, image);
    add_digest(out, (size_t)2 * 11 * 9 * channels);
    conv2d_backward_weights(kernels, &v, a, c, false, out, image);
    add_digest(out, kernel * kernel * channels / groups * filters);
    struct pool2d pool = {2, 11, 9, channels, 3, 2, 2, 2, 1, 0, 5, 4};
    kernels->pool->max_forward(&pool, a, out, which);
    kernels->pool->max_backward(&pool, out, which, workspace);
    add_digest(workspace, (size_t)2 * 11 * 9 * channels);
    kernels->pool->mean_forward(&pool, a, out);
    add_digest(out, (size_t)2 * 5 * 4 * channels);
}

static void convolutions(void)
{
    convolve(3, 33, 1, 3, 1);
    convolve(8, 20, 2, 3, 2);
    convolve(21, 21, 21, 3, 1);
    convolve(17, 40, 1, 1, 1);
    convolve(1, 32, 1, 3, 1);
}

static void attentions(void)
{
    enum { TIME = 45, WIDTH = 13, ROW = 3 * 2 * WIDTH };
    struct attention task = {
        .batch = 1,
        .heads = 2,
        .queries = TIME,
        .keys = TIME,
        .width = WIDTH,
        .value_width = WIDTH,
        .causal = true,
        .scale = 0.3F,
        .q = {a, 0, WIDTH, ROW},
        .k = {a + 2 * WIDTH, 0, WIDTH, ROW},
        .v = {a + 4 * WIDTH, 0, WIDTH, ROW},
    };
    float *p = workspace + SIZE;
    struct attention_result result = {out, 0, WIDTH, 2 * WIDTH};
    attention_forward(kernels, &task, p, &result, workspace);
    add_digest(out, (size_t)TIME * 2 * WIDTH);
    struct attention_operand dout = {b, 0, WIDTH, 2 * WIDTH};
    struct attention_gradients gradients = {
        {c, 0, WIDTH, ROW},
        {c + 2 * WIDTH, 0, WIDTH, ROW},
        {c + 4 * WIDTH, 0, WIDTH, ROW},
    };
    attention_backward(kernels, &task, p, &dout, &gradients, workspace);
    add_digest(c, (size_t)TIME * ROW);
}

static void print_network(const struct network *network)
{
    struct tn_graph *graph = network_graph(network);
    struct tn_program *program = NULL;
    struct tn_error error = {.text = ""};
    struct tn_program_options options = {
        .struct_size = sizeof options,
        .mode = TN_TRAIN,
        .examples = NETWORK_EXAMPLES,
        .kernels = "portable",
    };
    if (tn_program_create(graph, &options, &program, &error) != TN_OK) {
        (void)fprintf(stderr, "%s: %s\n", network->name, error.text);
        exit(1);
    }
    struct network_digests digests = network_train(program);
    printf("%s %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", network->name, digests.loss,
           digests.gradient, digests.values);
    tn_program_destroy(program);
    tn_graph_destroy(graph);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } families[] = {
        {"matmul", matmuls},  {"elementwise", elementwise},  {"rows", rows},
        {"dropout", dropout}, {"convolution", convolutions}, {"attention", attentions},
    };
    struct error error;
    if (portable_open(NULL, &kernels, &error) != TN_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return 77;
    }
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        start();
        families[i].run();
        printf("%s %016" PRIx64 "\n", families[i].name, hash);
    }
    for (size_t i = 0; i < NETWORKS; i++) { print_network(&networks[i]); }
    return 0;
}
