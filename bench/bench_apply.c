/*
 * bench/bench_apply.c: compares the update of a ps, from pushed gradients of eight slices to new
 * values with Adam, with fused_apply.h on the same memory. Every round checks that both have the
 * same bits.
 *
 *   bench_apply [ROUNDS [PARAMETERS [kept]]]     default: 15 16777216
 *
 * With `kept` the arrays are in memory that outlives a ps, as under an agent.
 * Prints for each round the speeds of both, in millions of parameters per second of processor time,
 * of which programs beside it take nothing away.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/fused_apply.h"
#include "bench/measure.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/base/random.h"
#include "common/net/wire.h"
#include "kernels/optimizer/real.h"
#include "ps/kept_file.h"
#include "ps/shard.h"

enum { COLUMNS = 1024, ARRAYS = 3 };

static size_t count;
static struct job job;
static struct variable_table variables;
static struct buffer_pool *pool;
static struct shard shard;
static struct kept_memory kept;
static void *kept_file; /* NULL: not in kept memory. */
static struct buffer *gradients[FUSED_SLICES];
static float *fused[OPTIMIZER_ARRAYS_MAX];

static void require(bool condition, const char *what)
{
    if (condition) { return; }
    (void)fprintf(stderr, "bench_apply: %s\n", what);
    exit(1);
}

static void open_kept(void)
{
    struct error error = {.text = ""};
    int fd = memfd_create("bench-apply", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    require(fd >= 0, "no memory file");
    kept_file = kept_file_map(fd, kept_memory_bytes(count * sizeof(float)), &error);
    require(kept_file != NULL, error.text);
    require(kept_memory_open(&kept, kept_file, count * sizeof(float), count, ARRAYS,
                             (struct digest){1, 2}),
            "out of memory");
}

/* As a ps does it before an update, and behind one. */
static void note(void)
{
    struct kept_record record = {.generation = 1, .step = shard.updates};
    if (kept_file == NULL) { return; }
    require(shard_describe(&shard, &record), "an array is not in kept memory");
    kept_memory_write(&kept, &record);
}

static void set_up(bool keeps)
{
    struct error error;
    const uint32_t shape[] = {(uint32_t)(count / COLUMNS), COLUMNS};
    measure_require(variable_table_add(&variables, "w", 2, shape, VARIABLE_ZEROS, 0, &error),
                    &error);
    job_init(&job);
    job.train.optimizer = OPTIMIZER_ADAM;
    pool = buffer_pool_create(0);
    require(pool != NULL, "out of memory");
    if (keeps) { open_kept(); }
    struct shard_config config = {.kernels = kernels_cpu(),
                                  .optimizer = optimizer_of_job(&job, &variables),
                                  .pool = pool,
                                  .kept = keeps ? &kept : NULL,
                                  .count = count,
                                  .slices = FUSED_SLICES,
                                  .chunk_bytes = WIRE_CHUNK_BYTES};
    measure_require(shard_open(&shard, &config, &error), &error);
    require(shard_begin_load(&shard), "out of memory");
    shard_load_initial(&shard, &variables, 1);
    require(shard_adopt(&shard, 0), "out of memory");
    for (int s = 0; s < FUSED_SLICES; s++) {
        gradients[s] = buffer_acquire(pool, count * sizeof(float));
        require(gradients[s] != NULL, "out of memory");
        float *values = gradients[s]->data;
        for (size_t i = 0; i < count; i++) {
            values[i] = random_unit_at(1, (uint64_t)s, i % 65536) - 0.5F;
        }
    }
    for (int a = 0; a < ARRAYS; a++) {
        fused[a] = kernels_allocate(count);
        require(fused[a] != NULL, "out of memory");
        memset(fused[a], 0, count * sizeof(float));
    }
}

/* The gradients arrive as chunks; nothing is copied. */
static void push_all(void)
{
    size_t bytes = count * sizeof(float);
    for (uint32_t s = 0; s < FUSED_SLICES; s++) {
        struct pushed_gradient *sum = pushed_gradient_create(shard_chunks(&shard));
        require(sum != NULL, "out of memory");
        for (size_t c = sum->capacity; c > 0; c--) {
            size_t at = (c - 1) * WIRE_CHUNK_BYTES;
            struct buffer *part =
                buffer_part(gradients[s], at, size_min(bytes - at, WIRE_CHUNK_BYTES));
            require(part != NULL, "out of memory");
            pushed_gradient_add(sum, part);
        }
        shard_hold(&shard, s, sum);
    }
}

/* The constants of kernels/optimizer.c for the update from `step`. */
static struct optimizer_constants constants_at(uint64_t step)
{
    double beta1 = job.train.beta1, beta2 = job.train.beta2;
    return (struct optimizer_constants){
        .rate = (float)(optimizer_rate(&shard.config.optimizer, step) /
                        (1 - real_power(beta1, step + 1))),
        .beta1 = (float)beta1,
        .one_minus_beta1 = (float)(1 - beta1),
        .beta2 = (float)beta2,
        .one_minus_beta2 = (float)(1 - beta2),
        .root = (float)(1 / sqrt(1 - real_power(beta2, step + 1))),
        .epsilon = (float)job.train.epsilon,
    };
}

static double rate_since(uint64_t start_ns)
{
    return (double)count * 1e3 / (double)(clock_thread_cpu_ns() - start_ns);
}

static void one_round(bool print)
{
    const float *in[OPTIMIZER_ARRAYS_MAX], *slices[FUSED_SLICES];
    struct slice_node parts[FUSED_SLICES];
    struct optimizer_constants constants = constants_at(shard.updates);
    for (int a = 0; a < ARRAYS; a++) { in[a] = shard.current[a]->data; }
    for (uint32_t s = 0; s < FUSED_SLICES; s++) {
        parts[s] = (struct slice_node){s, 1};
        slices[s] = gradients[s]->data;
    }
    push_all();
    /* First, because the shard updates its state in place. */
    uint64_t start = clock_thread_cpu_ns();
    fused_apply(count, &constants, slices, in, fused);
    double limit = rate_since(start);
    start = clock_thread_cpu_ns();
    require(shard_begin_update(&shard), "out of memory");
    note();
    require(shard_apply(&shard, parts, FUSED_SLICES), "out of memory");
    note();
    double ours = rate_since(start);
    for (int a = 0; a < ARRAYS; a++) {
        require(memcmp(fused[a], shard.current[a]->data, count * sizeof(float)) == 0,
                "the fused update has other bits");
    }
    if (print) { printf("%.6g %.6g\n", ours, limit); }
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 15;
    count = argc > 2 ? strtoul(argv[2], NULL, 10) : 16 << 20;
    if (rounds < 1 || rounds > ROUNDS_MAX || count < COLUMNS || count % COLUMNS != 0) {
        return 128;
    }
    set_up(argc > 3 && strcmp(argv[3], "kept") == 0);
    for (int i = 0; i < 2; i++) { one_round(false); } /* All buffers exist afterwards. */
    for (unsigned long i = 0; i < rounds; i++) { one_round(true); }
    for (int a = 0; a < ARRAYS; a++) { free(fused[a]); }
    for (int s = 0; s < FUSED_SLICES; s++) { buffer_release(gradients[s]); }
    shard_close(&shard);
    if (kept_file != NULL) {
        kept_memory_close(&kept);
        kept_file_unmap(kept_file, kept_memory_bytes(count * sizeof(float)));
    }
    buffer_pool_destroy(pool);
    return 0;
}
