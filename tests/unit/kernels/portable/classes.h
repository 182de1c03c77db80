/* Shared by the tests of the portable kernels: the classes of this machine, random inputs, and the
 * comparison of bits. */
#ifndef TESTS_UNIT_KERNELS_PORTABLE_CLASSES_H
#define TESTS_UNIT_KERNELS_PORTABLE_CLASSES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "kernels/portable/portable.h"

enum { CLASSES_MAX = 4, GUARD = 19 };

/* The classes that this machine can run, plain C first. */
static const struct portable *classes[CLASSES_MAX];
static size_t class_count;

static inline int find_classes(void **state)
{
    (void)state;
    static const char *const names[CLASSES_MAX] = {"scalar", "avx2", "avx512", "neon"};
    struct error error;
    class_count = 0;
    for (size_t i = 0; i < CLASSES_MAX; i++) {
        const struct portable *found;
        if (portable_open(names[i], &found, &error) == TN_OK) { classes[class_count++] = found; }
    }
    return 0;
}

static inline float *allocate_floats(size_t count)
{
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(values);
    return values;
}

/* Uniform in [-1, 1). */
static inline float *random_floats(uint64_t stream, size_t count)
{
    float *values = allocate_floats(count);
    for (size_t i = 0; i < count; i++) { values[i] = 2.0F * random_unit_at(11, stream, i) - 1.0F; }
    return values;
}

static inline float *copy_floats(const float *from, size_t count)
{
    float *values = allocate_floats(count);
    memcpy(values, from, count * sizeof *values);
    return values;
}

/* The bits of a float, with one pattern for all NaNs. */
static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fc00000U : bits;
}

/* The floats of `text` (the name of a case) have equal bits. */
static inline void assert_same_bits(const float *found, const float *expected, size_t count,
                                    const char *class_name, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (bits_of(found[i]) != bits_of(expected[i])) {
            fail_msg("%s, %s: element %zu is %.9g (%08x), not %.9g (%08x)", class_name, text, i,
                     (double)found[i], bits_of(found[i]), (double)expected[i],
                     bits_of(expected[i]));
        }
    }
}

/* A size that is often an edge of a tile or of a vector. */
static inline size_t random_size(struct random *random, size_t limit)
{
    static const size_t edges[] = {1,  2,  3,  5,  6,  7,  8,  9,  13, 14, 15, 16,
                                   17, 23, 31, 32, 33, 47, 48, 49, 63, 64, 65, 97};
    enum { EDGES = sizeof edges / sizeof edges[0] };
    size_t size = random_below(random, 2) == 0 ? edges[random_below(random, EDGES)]
                                               : 1 + random_below(random, limit);
    return size_min(size, limit);
}

#endif
