/* kernels/cuda/update.c: optimizers and sums have the bits of the CPU's, for numbers of all
 * kinds. */
#include "kernels/kernels.h"
#include "kernels/portable/tree_rows.h"
#include "tests/unit/kernels/cuda/device.h"

enum { COUNT = 40009 };

#define X(name, arrays) {#name, arrays, offsetof(struct cuda_kernels, update.name)},
static const struct {
    const char *name;
    uint32_t arrays;
    size_t offset;
} updates[] = {CUDA_UPDATES(X)};
#undef X

enum { UPDATES = sizeof updates / sizeof updates[0] };

/* The CPU's kernel with this place in CUDA_UPDATES; the last one is `average`. */
static optimizer_kernel *of_cpu(size_t update)
{
    const enum optimizer_kind kinds[] = {OPTIMIZER_SGD,     OPTIMIZER_MOMENTUM, OPTIMIZER_NESTEROV,
                                         OPTIMIZER_ADAGRAD, OPTIMIZER_RMSPROP,  OPTIMIZER_ADAM,
                                         OPTIMIZER_ADAMW,   OPTIMIZER_LARS,     OPTIMIZER_LAMB};
    const struct optimizer_kernels *kernels = kernels_cpu()->optimizers;
    return update == UPDATES - 1 ? kernels->average : kernels->update[kinds[update]];
}

static struct optimizer_constants constants_of(float decay, float limit)
{
    return (struct optimizer_constants){
        .rate = 0.013F,
        .scale = 0.77F,
        .limit = limit,
        .decay = decay,
        .momentum = 0.9F,
        .beta1 = 0.9F,
        .one_minus_beta1 = 0.1F,
        .beta2 = 0.999F,
        .one_minus_beta2 = 0.001F,
        .root = 1.3F,
        .epsilon = 1e-8F,
        .correction = 1.9F,
    };
}

static struct cuda_constants for_device(const struct optimizer_constants *c)
{
    return (struct cuda_constants){
        .rate = c->rate,
        .scale = c->scale,
        .limit = c->limit,
        .decay = c->decay,
        .momentum = c->momentum,
        .beta1 = c->beta1,
        .one_minus_beta1 = c->one_minus_beta1,
        .beta2 = c->beta2,
        .one_minus_beta2 = c->one_minus_beta2,
        .root = c->root,
        .epsilon = c->epsilon,
        .correction = c->correction,
    };
}

/* One update; all arrays are updated in place where `in_place`. */
static void compare_update(size_t number, const struct optimizer_constants *constants,
                           bool in_place)
{
    const float *in[OPTIMIZER_ARRAYS_MAX] = {NULL};
    float *arrays[CUDA_ARRAYS_MAX], *out[OPTIMIZER_ARRAYS_MAX] = {NULL};
    float *gradient = any_floats(20, COUNT);
    struct cuda_update update = {.count = COUNT, .constants = for_device(constants)};
    for (uint32_t i = 0; i < updates[number].arrays; i++) {
        in[i] = arrays[i] = any_floats(21 + i, COUNT);
        out[i] = allocate_floats(COUNT);
        update.in[i] = floats_to_device(in[i], COUNT);
        update.out[i] =
            in_place ? (float *)(uintptr_t)update.in[i] : device_memory(COUNT * sizeof(float));
    }
    update.gradient = floats_to_device(gradient, COUNT);
    of_cpu(number)(COUNT, constants, gradient, in, out);
    void (*run)(const struct cuda_update *);
    memcpy(&run, (const char *)library->kernels + updates[number].offset, sizeof run);
    run(&update);
    for (uint32_t i = 0; i < updates[number].arrays; i++) {
        if (update.in[i] != update.out[i]) { library->release((void *)(uintptr_t)update.in[i]); }
        expect_floats(updates[number].name, update.out[i], out[i], COUNT);
        free(arrays[i]);
        free(out[i]);
    }
    library->release((void *)(uintptr_t)update.gradient);
    free(gradient);
}

static void optimizers_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < UPDATES; i++) {
        struct optimizer_constants plain = constants_of(0, INFINITY);
        struct optimizer_constants limited = constants_of(0.02F, 1.5F);
        compare_update(i, &plain, false);
        compare_update(i, &limited, true);
    }
}

static void additions_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    float *from = any_floats(30, COUNT), *into = any_floats(31, COUNT);
    float *right = floats_to_device(from, COUNT), *left = floats_to_device(into, COUNT);
    library->kernels->add(COUNT, right, left);
    kernels_cpu()->add(COUNT, from, into);
    expect_floats("add", left, into, COUNT);
    library->release(right);
    free(from);
    free(into);
}

/* A random tree over all leaves, in postorder: terms, of which an operand may be an earlier sum. */
static uint32_t random_tree(struct random *random, const float *const *leaves, uint32_t count,
                            uint32_t first, struct sum_term *terms, uint32_t used)
{
    uint32_t half = count - (uint32_t)random_below(random, count / 2 + 1);
    if (half == count) { half = count - 1; }
    struct sum_term term = {NULL, NULL};
    if (half == 1) {
        term.left = leaves[first];
    } else {
        used = random_tree(random, leaves, half, first, terms, used);
    }
    if (count - half == 1) {
        term.right = leaves[first + half];
    } else {
        used = random_tree(random, leaves, count - half, first + half, terms, used);
    }
    terms[used] = term;
    return used + 1;
}

enum { LEAVES = 19, TREES = 12, TREE_COUNT = 1003 };

static void sums_over_trees_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    struct random random = {5};
    float *leaves[LEAVES], *copies[LEAVES], *expected = allocate_floats(TREE_COUNT);
    for (uint32_t i = 0; i < LEAVES; i++) {
        leaves[i] = i % 3 == 0 ? any_floats(40 + i, TREE_COUNT) : random_floats(40 + i, TREE_COUNT);
        copies[i] = floats_to_device(leaves[i], TREE_COUNT);
    }
    for (uint32_t t = 0; t < TREES; t++) {
        struct sum_term terms[LEAVES];
        struct cuda_sum_term of_device[LEAVES];
        uint32_t count = 2 + t % (LEAVES - 1);
        uint32_t used = random_tree(&random, (const float *const *)leaves, count, 0, terms, 0);
        memset(of_device, 0, sizeof of_device);
        for (uint32_t i = 0; i < used; i++) {
            for (uint32_t k = 0; k < LEAVES; k++) {
                if (terms[i].left == leaves[k]) { of_device[i].left = copies[k]; }
                if (terms[i].right == leaves[k]) { of_device[i].right = copies[k]; }
            }
        }
        struct cuda_sum_term *list = to_device(of_device, used * sizeof *of_device);
        float *out = device_memory(TREE_COUNT * sizeof *out);
        library->kernels->sum_tree(TREE_COUNT, used, list, out);
        kernels_cpu()->sum_tree(0, TREE_COUNT, used, terms, expected);
        expect_floats("sum_tree", out, expected, TREE_COUNT);
        library->release(list);
    }
    for (uint32_t i = 0; i < LEAVES; i++) {
        free(leaves[i]);
        library->release(copies[i]);
    }
    free(expected);
}

/* As many rows as slices: each is the sum of its slice. */
static void sums_over_slices_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const size_t slices[] = {1, 2, 3, 7, 8, 13, 64, 100};
    static const size_t counts[] = {1, 5, 1003};
    for (size_t s = 0; s < sizeof slices / sizeof slices[0]; s++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            const size_t count = counts[c], all = slices[s] * count;
            float *x = c == 1 ? any_floats(70 + s, all) : random_floats(70 + s, all);
            float *expected = allocate_floats(count), *in = floats_to_device(x, all);
            float *out = device_memory(count * sizeof *out);
            library->kernels->sum_slices(count, slices[s], in, out);
            tree_rows_sum(portable_fastest()->reduce, slices[s], slices[s], count, x, expected);
            expect_floats("sum_slices", out, expected, count);
            library->release(in);
            free(x);
            free(expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizers_have_the_bits_of_the_cpu),
        cmocka_unit_test(additions_have_the_bits_of_the_cpu),
        cmocka_unit_test(sums_over_trees_have_the_bits_of_the_cpu),
        cmocka_unit_test(sums_over_slices_have_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
