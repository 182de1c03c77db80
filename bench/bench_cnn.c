/*
 * bench/bench_cnn.c: a training step of a small convolutional network (cnn.h) on one thread: the
 * digest of its gradient in every class of processors, its speed as a share of the core's fused
 * multiply-adds, and beside those of PyTorch and TensorFlow in turns.
 *
 *   bench_cnn [TORCH [TENSORFLOW]]     Python interpreters that have them; "-": none
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/cnn.h"
#include "bench/fma_peak.h"
#include "bench/measure.h"
#include "bench/peer.h"
#include "common/base/random.h"
#include "tanist/program.h"

enum { ROUNDS = 15, BATCH_MAX = 512 };

static struct cnn_parameters values, gradients;
static float images[BATCH_MAX * CNN_PIXELS];
static int32_t labels[BATCH_MAX];

enum { PEERS = 2 };
static const char *const peer_names[PEERS] = {"PyTorch", "TensorFlow"};
static const char *const peer_scripts[PEERS] = {"bench/cnn_torch.py", "bench/cnn_tensorflow.py"};
static struct peer peers[PEERS];

static void make_inputs(void)
{
    const size_t convolutions = offsetof(struct cnn_parameters, w3) / sizeof(float);
    for (size_t i = 0; i < sizeof values / sizeof(float); i++) {
        float value = (random_unit_at(1, 1, i) - 0.5F) * (i < convolutions ? 0.2F : 0.05F);
        memcpy((char *)&values + i * sizeof value, &value, sizeof value);
    }
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        images[i] = random_unit_at(1, 2, i);
    }
    for (size_t i = 0; i < BATCH_MAX; i++) {
        labels[i] = (int32_t)(random_at(1, 3, i) % CNN_CLASSES);
    }
}

/* FNV-1a over the bits of the gradient. */
static uint64_t digest(void)
{
    uint64_t hash = UINT64_C(1469598103934665603);
    for (size_t i = 0; i < sizeof gradients; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, (const char *)&gradients + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(1099511628211);
    }
    return hash;
}

static void print_digests(void)
{
    static const char *const names[] = {"scalar", "avx2", "avx512", "neon"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct portable *kernels;
        struct error error;
        if (portable_open(names[i], &kernels, &error) != TN_OK) {
            printf("%s\n", error.text);
            continue;
        }
        struct cnn *net = cnn_open(kernels, 8);
        cnn_pack(net, &values);
        cnn_step(net, &values, images, labels, &gradients);
        cnn_close(net);
        printf("digest of a gradient, 8 examples: %016" PRIx64 " %s\n", digest(), names[i]);
    }
}

/* Processor seconds of one step, packing included. */
static double step_seconds(struct cnn *net, size_t repeats)
{
    double start = measure_cpu_seconds();
    for (size_t i = 0; i < repeats; i++) {
        cnn_pack(net, &values);
        cnn_step(net, &values, images, labels, &gradients);
    }
    return (measure_cpu_seconds() - start) / (double)repeats;
}

/* The same of a program. */
static double program_seconds(struct tn_program *program, size_t batch, size_t repeats)
{
    double start = measure_cpu_seconds();
    for (size_t i = 0; i < repeats; i++) { cnn_program_step(program, batch, &values, &gradients); }
    return (measure_cpu_seconds() - start) / (double)repeats;
}

/* Whether a program has the gradient of the kernels, bit for bit. */
static void compare_digests(struct cnn *net, struct tn_program *program, size_t batch)
{
    (void)step_seconds(net, 1);
    uint64_t expected = digest();
    cnn_program_step(program, batch, &values, &gradients);
    printf("  %s\n", digest() == expected ? "the program has the bits of the kernels"
                                          : "THE PROGRAM HAS OTHER BITS THAN THE KERNELS");
}

static void print_row(const char *name, double *numbers, const char *unit)
{
    measure_sort(numbers, ROUNDS);
    printf("  %-22s %9.2f [%.2f %.2f] %s\n", name, measure_quantile(numbers, ROUNDS, 0.5),
           measure_quantile(numbers, ROUNDS, 0.25), measure_quantile(numbers, ROUNDS, 0.75), unit);
}

/* Multiplications and additions of one example. */
static double operations(void)
{
    double first = 2.0 * CNN_PIXELS * 9 * CNN_CHANNELS1;
    double second = 2.0 * (CNN_PIXELS / 4) * 9 * CNN_CHANNELS1 * CNN_CHANNELS2;
    double dense = 2.0 * (CNN_FLAT + CNN_CLASSES) * CNN_HIDDEN;
    return 2 * first + 3 * second + 3 * dense;
}

static void bench(const struct portable *kernels, size_t batch)
{
    double rates[ROUNDS], shares[ROUNDS], costs[ROUNDS], ratios[PEERS][ROUNDS];
    size_t repeats = 512 / batch;
    float sink;
    struct cnn *net = cnn_open(kernels, batch);
    struct tn_program *program = cnn_program_create(batch, images, labels);
    printf("%zu examples\n", batch);
    compare_digests(net, program, batch);
    for (int round = 0; round < ROUNDS; round++) {
        double seconds = step_seconds(net, repeats), start = measure_cpu_seconds();
        double peak = peak_run(kernels->name, &sink) / (measure_cpu_seconds() - start);
        costs[round] = program_seconds(program, batch, repeats) / seconds;
        for (size_t i = 0; i < PEERS; i++) {
            ratios[i][round] = peer_seconds(&peers[i], batch, repeats) / seconds;
        }
        rates[round] = (double)batch / seconds * 1e-3;
        shares[round] = operations() * (double)batch / seconds / peak;
    }
    cnn_close(net);
    tn_program_destroy(program);
    print_row("portable", rates, "1000 examples/s");
    print_row("share of the fma peak", shares, "");
    print_row("time of a program", costs, "of that of the kernels");
    for (size_t i = 0; i < PEERS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "time of %s", peer_names[i]);
        if (peers[i].ask != NULL) { print_row(name, ratios[i], "times that of the kernels"); }
    }
}

int main(int argc, char **argv)
{
    const struct portable *kernels;
    struct error error;
    measure_require(portable_open(NULL, &kernels, &error), &error);
    make_inputs();
    print_digests();
    for (int i = 0; i < PEERS; i++) {
        if (i + 1 < argc && strcmp(argv[i + 1], "-") != 0) {
            peers[i] = peer_start(argv[i + 1], peer_scripts[i]);
        } else {
            printf("%s is skipped: name an interpreter that has it\n", peer_names[i]);
        }
    }
    printf("portable: %s; one thread, processor time, medians of %d rounds with quartiles\n",
           kernels->name, ROUNDS);
    for (size_t batch = 8; batch <= BATCH_MAX; batch *= 8) { bench(kernels, batch); }
    return 0;
}
