/* Shared by tests that load the emulated driver as a program loads NVIDIA's. */
#ifndef TESTS_UNIT_KERNELS_GPU_EMULATED_SKIP_H
#define TESTS_UNIT_KERNELS_GPU_EMULATED_SKIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SKIPPED = 77 };

/* Whether the test cannot run here; prints the reason. `any_driver`: any CUDA driver will do. */
static inline bool is_skipped(bool any_driver)
{
    const char *libraries = getenv("LD_LIBRARY_PATH");
    if (!any_driver && (libraries == NULL || strstr(libraries, "emulated-gpu") == NULL)) {
        print_message("skipped: LD_LIBRARY_PATH does not name the emulated driver\n");
        return true;
    }
#if defined(__SANITIZE_THREAD__)
    print_message("skipped: one thread with fibers, which take minutes under ThreadSanitizer\n");
    return true;
#endif
    return false;
}

#endif
