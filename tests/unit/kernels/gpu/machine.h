/* Shared by the tests of kernels/gpu and of the emulated driver: an emulated machine, and a context
 * on one of its devices. */
#ifndef TESTS_UNIT_KERNELS_GPU_MACHINE_H
#define TESTS_UNIT_KERNELS_GPU_MACHINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cuda/emulated_driver.h"

/* A new machine; `settings` as in TANIST_EMULATED_GPU, `visible` as in CUDA_VISIBLE_DEVICES. NULL:
 * not set. Returns the code of cuInit. */
static inline int machine(const char *settings, const char *visible)
{
    assert_int_equal(setenv("TANIST_EMULATED_GPU", settings != NULL ? settings : "", 1), 0);
    assert_int_equal(unsetenv("CUDA_VISIBLE_DEVICES"), 0);
    if (visible != NULL) { assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", visible, 1), 0); }
    return emulated_driver()->init(0);
}

static inline void use_device(int device)
{
    struct gpu_context *context = NULL;
    assert_int_equal(emulated_driver()->context_retain(&context, device), GPU_SUCCESS);
    assert_int_equal(emulated_driver()->context_set(context), GPU_SUCCESS);
}

#endif
