/*
 * bench/bench_matmul.c: matrix products of the portable kernels on one thread, compared with
 * OpenBLAS and with the fused multiply-adds that the core can do. All alternate; times are those of
 * the processor.
 *
 *   bench_matmul [TEXT]     only the shapes whose name contains TEXT
 *
 * TANIST_ISA selects the class of the portable kernels.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fma_peak.h"
#include "bench/measure.h"
#include "common/base/random.h"
#include "kernels/kernels.h"
#include "kernels/portable/matmul.h"

enum { ROUNDS = 15 };

struct shape {
    const char *name;
    size_t m, n, k;
    bool transpose_a, transpose_b;
};

static const struct shape shapes[] = {
    {"dense forward", 8, 128, 784, false, false},
    {"dense forward", 64, 128, 784, false, false},
    {"dense forward", 512, 128, 3136, false, false},
    {"dense dX", 64, 3136, 128, false, true},
    {"dense dW", 784, 128, 8, true, false},
    {"dense dW", 784, 128, 64, true, false},
    {"dense dW", 3136, 128, 512, true, false},
    {"logits", 64, 10, 128, false, false},
    {"logits dW", 128, 10, 64, true, false},
    {"qkv", 1024, 384, 128, false, false},
    {"mlp up", 1024, 512, 128, false, false},
    {"mlp down", 1024, 128, 512, false, false},
    {"mlp down dW", 512, 128, 1024, true, false},
    {"q k'", 128, 128, 32, false, true},
    {"p v", 128, 32, 128, false, false},
    {"vocabulary", 1024, 96, 128, false, false},
    {"square", 256, 256, 256, false, false},
    {"square", 1024, 1024, 1024, false, false},
};

/* The contenders. "packed": `b` was packed before, as weights are; "call": it is packed or read in
 * place within the call. */
enum way { OPENBLAS, PACKED, CALL, PEAK_OF_CORE, WAYS };

struct timing {
    const struct shape *shape;
    const struct portable *kernels;
    const struct kernels *blas;
    struct matmul task;
    const float *packed;
    float *workspace, sink;
};

static float *floats(size_t count)
{
    float *memory = kernels_allocate(count);
    if (memory == NULL) { exit(1); }
    for (size_t i = 0; i < count; i++) { memory[i] = random_unit_at(1, 1, i % 65536) - 0.5F; }
    return memory;
}

/* Run once. Returns the number of floating-point operations. */
static double run_once(struct timing *run, enum way way)
{
    const struct shape *s = run->shape;
    struct matmul task = run->task;
    switch (way) {
    case OPENBLAS:
        run->blas->multiply(s->transpose_a, s->transpose_b, s->m, s->n, s->k, task.a.data,
                            task.b.data, task.out);
        break;
    case PACKED:
        task.packed = run->packed;
        matmul_run(run->kernels, &task, NULL);
        break;
    case CALL: matmul_run(run->kernels, &task, run->workspace); break;
    case PEAK_OF_CORE: return peak_run(run->kernels->name, &run->sink);
    case WAYS: break;
    }
    return 2.0 * (double)s->m * (double)s->n * (double)s->k;
}

static double rate_of(struct timing *run, enum way way, size_t repeats)
{
    double operations = 0;
    double start = measure_cpu_seconds();
    for (size_t i = 0; i < repeats; i++) { operations += run_once(run, way); }
    return operations * 1e-9 / (measure_cpu_seconds() - start);
}

static struct matmul_operand operand(const float *data, size_t rows, size_t columns,
                                     bool is_transposed)
{
    return (struct matmul_operand){
        .data = data,
        .row = is_transposed ? 1 : columns,
        .column = is_transposed ? rows : 1,
    };
}

static void print_ratio(double *ratios)
{
    measure_sort(ratios, ROUNDS);
    printf("  %5.2f [%.2f %.2f]", measure_quantile(ratios, ROUNDS, 0.5),
           measure_quantile(ratios, ROUNDS, 0.25), measure_quantile(ratios, ROUNDS, 0.75));
}

/* All rounds of one shape, and its line of the table. */
static void measure_shape(struct timing *run)
{
    static double rates[WAYS][ROUNDS], ratios[3][ROUNDS];
    double work = 2.0 * (double)(run->shape->m * run->shape->n * run->shape->k);
    size_t repeats = (size_t)(2e8 / work) + 1;
    for (int way = 0; way < WAYS; way++) { (void)rate_of(run, (enum way)way, 1); }
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++) {
            rates[way][round] = rate_of(run, (enum way)way, way == PEAK_OF_CORE ? 1 : repeats);
        }
        ratios[0][round] = rates[PACKED][round] / rates[OPENBLAS][round];
        ratios[1][round] = rates[CALL][round] / rates[OPENBLAS][round];
        ratios[2][round] = rates[PACKED][round] / rates[PEAK_OF_CORE][round];
    }
    for (int way = 0; way < WAYS; way++) {
        measure_sort(rates[way], ROUNDS);
        printf(" %8.1f", measure_quantile(rates[way], ROUNDS, 0.5));
    }
    for (int i = 0; i < 3; i++) { print_ratio(ratios[i]); }
    printf("\n");
}

static void bench(const struct portable *kernels, const struct kernels *blas,
                  const struct shape *shape)
{
    size_t m = shape->m, n = shape->n, k = shape->k;
    struct timing run = {.shape = shape, .kernels = kernels, .blas = blas};
    float *a = floats(m * k), *b = floats(k * n), *out = floats(m * n);
    float *packed = floats(matmul_packed_size(kernels, k, n));
    run.task = (struct matmul){
        .batch = 1,
        .m = m,
        .n = n,
        .k = k,
        .a = operand(a, m, k, shape->transpose_a),
        .b = operand(b, k, n, shape->transpose_b),
        .out = out,
        .out_row = n,
    };
    run.workspace = floats(matmul_workspace(kernels, &run.task));
    run.packed = packed;
    matmul_pack(kernels, k, n, &run.task.b, packed);
    printf("%-13s %5zu x%5zu x%5zu", shape->name, m, n, k);
    measure_shape(&run);
    free(a), free(b), free(out), free(packed), free(run.workspace);
}

int main(int argc, char **argv)
{
    const struct portable *kernels;
    const struct kernels *blas;
    struct error error;
    measure_require(portable_open(NULL, &kernels, &error), &error);
    measure_require(kernels_open("cpu", &blas, &error), &error);
    char fingerprint[256];
    blas->fingerprint(fingerprint, sizeof fingerprint);
    printf("%s\nportable: %s; GFLOP/s, medians of %d rounds; ratios with quartiles\n", fingerprint,
           kernels->name, ROUNDS);
    printf("%-34s %8s %8s %8s %8s  %-17s  %-17s  %s\n", "m x n x k", "openblas", "packed", "call",
           "fma peak", "packed/openblas", "call/openblas", "packed/peak");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (argc > 1 && strstr(shapes[i].name, argv[1]) == NULL) { continue; }
        bench(kernels, blas, &shapes[i]);
    }
    return 0;
}
