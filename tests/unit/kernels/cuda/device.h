/*
 * Shared by the tests of the CUDA kernels: the library under test, memory of its device, inputs and
 * the comparison of bits with the CPU's kernels.
 */
#ifndef TESTS_UNIT_KERNELS_CUDA_DEVICE_H
#define TESTS_UNIT_KERNELS_CUDA_DEVICE_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulation.h"
#include "kernels/cuda/library.h"
#include "tests/unit/kernels/portable/classes.h"

static const struct cuda_library *library;
static size_t compared, different;

/* TANIST_TEST_GPU=1: the GPU's, through its driver, which may be the emulated one. */
static inline int open_library(void **state)
{
    (void)state;
    struct error error = {.status = TN_OK};
    const char *gpu = getenv("TANIST_TEST_GPU");
    library = cuda_emulated();
    if (gpu == NULL || strcmp(gpu, "1") != 0) { return 0; }
    if (cuda_library_open(0, &library, &error) == TN_OK) { return 0; }
    print_error("%s\n", error.text);
    return -1;
}

/* Print the number of comparisons. */
static inline int close_library(void **state)
{
    (void)state;
    print_message("cuda: %s: %zu results compared, %zu differ\n", library->name, compared,
                  different);
    return 0;
}

static inline void check_device(enum tn_status status, const struct error *error)
{
    if (status != TN_OK) { fail_msg("%s: %s", library->name, error->text); }
}

static inline void *device_memory(size_t bytes)
{
    struct error error = {.status = TN_OK};
    void *memory = NULL;
    check_device(library->allocate(bytes > 0 ? bytes : 1, &memory, &error), &error);
    return memory;
}

/* A copy of `data` in the device's memory. */
static inline void *to_device(const void *data, size_t bytes)
{
    struct error error = {.status = TN_OK};
    void *memory = device_memory(bytes);
    check_device(library->upload(memory, data, bytes, &error), &error);
    return memory;
}

static inline float *floats_to_device(const float *data, size_t count)
{
    return to_device(data, count * sizeof *data);
}

/* Wait, and release the device's copy. */
static inline void *from_device(void *memory, size_t bytes)
{
    struct error error = {.status = TN_OK};
    void *data = malloc(bytes + 1);
    assert_non_null(data);
    check_device(library->wait(&error), &error);
    check_device(library->download(data, memory, bytes, &error), &error);
    library->release(memory);
    return data;
}

/* Compare the device's floats with `expected`, and release them. */
static inline void expect_floats(const char *name, float *memory, const float *expected,
                                 size_t count)
{
    float *found = from_device(memory, count * sizeof *found);
    compared += count;
    for (size_t i = 0; i < count; i++) { different += bits_of(found[i]) != bits_of(expected[i]); }
    assert_same_bits(found, expected, count, library->name, name);
    free(found);
}

/* Finite numbers of all magnitudes, infinities, NaNs, subnormal numbers and both zeros. */
static inline float *any_floats(uint64_t stream, size_t count)
{
    static const float special[] = {0.0F,       -0.0F,          INFINITY,      -INFINITY,
                                    NAN,        FLT_TRUE_MIN,   -FLT_TRUE_MIN, 0x1.fffffcp-127F,
                                    -0x1p-127F, FLT_MIN,        -FLT_MIN,      FLT_MAX,
                                    -FLT_MAX,   1.0F,           -1.0F,         89.0F,
                                    -104.0F,    0.625F,         0.9277F,       4.0F,
                                    15.0F,      0x1.fffffep-1F, 0x1.62e43p-1F, 88.72284F,
                                    -87.33655F, -103.97208F};
    enum { SPECIAL = sizeof special / sizeof special[0] };
    float *values = allocate_floats(count);
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = random_at(17, stream, i);
        const uint32_t bits = (uint32_t)number;
        memcpy(&values[i], &bits, sizeof bits);
        if (number >> 62 == 0) { values[i] = special[(number >> 32) % SPECIAL]; }
        if (number >> 62 == 1) { values[i] = 20.0F * random_unit_at(18, stream, i) - 10.0F; }
    }
    return values;
}

#endif
