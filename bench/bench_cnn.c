/*
 * bench/bench_cnn.c: a training step of a small convolutional network (cnn.h) on one thread: the
 * digest of its gradient in every class of processors, its speed as a share of the core's fused
 * multiply-adds, and, if there is one, beside PyTorch's in turns.
 *
 *   bench_cnn [PYTHON]     PYTHON: an interpreter that has torch
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/cnn.h"
#include "bench/fma_peak.h"
#include "bench/measure.h"
#include "common/base/random.h"
#include "tanist/program.h"

enum { ROUNDS = 15, BATCH_MAX = 512 };

static struct cnn_parameters values, gradients;
static float images[BATCH_MAX * CNN_PIXELS];
static int32_t labels[BATCH_MAX];
static FILE *ask, *answer; /* The process of PyTorch. NULL: there is none. */

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
    static const char *const names[] = {"scalar", "avx2", "avx512"};
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

static double torch_seconds(size_t batch, size_t repeats)
{
    char line[64];
    if (ask == NULL) { return 0; }
    (void)fprintf(ask, "%zu %zu\n", batch, repeats);
    (void)fflush(ask);
    return fgets(line, sizeof line, answer) != NULL ? strtod(line, NULL) : 0;
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
    double rates[ROUNDS], shares[ROUNDS], torch[ROUNDS], ratios[ROUNDS], costs[ROUNDS];
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
        double other = torch_seconds(batch, repeats);
        rates[round] = (double)batch / seconds * 1e-3;
        shares[round] = operations() * (double)batch / seconds / peak;
        torch[round] = other > 0 ? (double)batch / other * 1e-3 : 0;
        ratios[round] = other / seconds;
    }
    cnn_close(net);
    tn_program_destroy(program);
    print_row("portable", rates, "1000 examples/s");
    print_row("share of the fma peak", shares, "");
    print_row("time of a program", costs, "of that of the kernels");
    if (ask == NULL) { return; }
    print_row("PyTorch", torch, "1000 examples/s");
    print_row("portable / PyTorch", ratios, "");
}

/* Start PyTorch's process with a pipe in each direction. */
static void start_torch(const char *python)
{
    int to[2], from[2];
    char version[64];
    if (pipe(to) != 0 || pipe(from) != 0) { return; }
    if (fork() == 0) {
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)close(to[1]);
        (void)execlp(python, python, "-B", "bench/cnn_torch.py", (char *)NULL);
        _exit(127);
    }
    (void)close(from[1]);
    ask = fdopen(to[1], "w");
    answer = fdopen(from[0], "r");
    if (ask == NULL || answer == NULL || fgets(version, sizeof version, answer) == NULL) {
        printf("PyTorch is skipped: %s cannot run bench/cnn_torch.py\n", python);
        ask = NULL;
        return;
    }
    printf("PyTorch %s", version);
}

int main(int argc, char **argv)
{
    const struct portable *kernels;
    struct error error;
    measure_require(portable_open(NULL, &kernels, &error), &error);
    make_inputs();
    print_digests();
    if (argc > 1) {
        start_torch(argv[1]);
    } else {
        printf("PyTorch is skipped: name an interpreter that has torch\n");
    }
    printf("portable: %s; one thread, processor time, medians of %d rounds with quartiles\n",
           kernels->name, ROUNDS);
    for (size_t batch = 8; batch <= BATCH_MAX; batch *= 8) { bench(kernels, batch); }
    return 0;
}
