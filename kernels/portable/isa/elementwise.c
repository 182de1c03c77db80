#include "kernels/portable/elementwise.h"

#include "kernels/portable/isa/families.h"
#include "kernels/portable/isa/rules.h"

ISA_INLINE void map(size_t count, const float *x, float *out, wide (*function)(wide))
{
    size_t i = 0;
    for (; i + WIDE <= count; i += WIDE) { wide_store(out + i, function(wide_load(x + i))); }
    size_t left = count - i;
    if (left > 0) { wide_store_some(out + i, function(wide_load_some(x + i, left)), left); }
}

ISA_INLINE void map_pairs(size_t count, const float *x, const float *y, float *out,
                          wide (*function)(wide, wide))
{
    size_t i = 0;
    for (; i + WIDE <= count; i += WIDE) {
        wide_store(out + i, function(wide_load(x + i), wide_load(y + i)));
    }
    size_t left = count - i;
    if (left > 0) {
        wide result = function(wide_load_some(x + i, left), wide_load_some(y + i, left));
        wide_store_some(out + i, result, left);
    }
}

/* With one element for all on one side. */
ISA_INLINE void map_broadcast(size_t count, const float *a, size_t a_step, const float *b,
                              size_t b_step, float *out, wide (*function)(wide, wide))
{
    wide left = wide_set(a[0]), right = wide_set(b[0]);
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        if (a_step != 0) { left = wide_load_up_to(a + i, size); }
        if (b_step != 0) { right = wide_load_up_to(b + i, size); }
        wide_store_up_to(out + i, function(left, right), size);
    }
}

#define BINARY(NAME, name, function)                                                               \
    static void name(size_t count, const float *a, size_t a_step, const float *b, size_t b_step,   \
                     float *out)                                                                   \
    {                                                                                              \
        if (a_step != 0 && b_step != 0) {                                                          \
            map_pairs(count, a, b, out, function);                                                 \
        } else if (count > 0) {                                                                    \
            map_broadcast(count, a, a_step, b, b_step, out, function);                             \
        }                                                                                          \
    }
#define UNARY(NAME, name, function)                                                                \
    static void name(size_t count, const float *x, float *out)                                     \
    {                                                                                              \
        map(count, x, out, function);                                                              \
    }
#define GRADIENT(NAME, name, function)                                                             \
    static void name##_gradient(size_t count, const float *from, const float *dy, float *dx)       \
    {                                                                                              \
        map_pairs(count, from, dy, dx, function);                                                  \
    }

RULES_BINARY(BINARY)
RULES_UNARY(UNARY)
RULES_GRADIENT(GRADIENT)

static void leaky_relu_gradient(size_t count, float slope, const float *x, const float *dy,
                                float *dx)
{
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        wide_store_up_to(
            dx + i,
            leak(wide_set(slope), wide_load_up_to(x + i, size), wide_load_up_to(dy + i, size)),
            size);
    }
}

static void leaky_relu(size_t count, float slope, const float *x, float *out)
{
    leaky_relu_gradient(count, slope, x, x, out);
}

static void scale(size_t count, float factor, const float *x, float *out)
{
    multiply(count, x, 1, &factor, 0, out);
}

static void axpy(size_t count, float factor, const float *x, const float *y, float *out)
{
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        wide_store_up_to(
            out + i,
            wide_fma(wide_set(factor), wide_load_up_to(x + i, size), wide_load_up_to(y + i, size)),
            size);
    }
}

static void clip(size_t count, float low, float high, const float *x, float *out)
{
    const wide lowest = wide_set(low), highest = wide_set(high);
    for (size_t i = 0, size; i < count; i += size) {
        size = size_min(count - i, WIDE);
        wide at = wide_load_up_to(x + i, size), y = clipped(lowest, highest, at);
        wide_store_up_to(out + i, y, size);
    }
}

#define ROW(NAME, name, function)          [ELEMENTWISE_##NAME] = name,
#define ROW_GRADIENT(NAME, name, function) [ELEMENTWISE_##NAME] = name##_gradient,

const struct elementwise_kernels ISA(elementwise_kernels) = {
    .binary = {RULES_BINARY(ROW)},
    .unary = {RULES_UNARY(ROW)},
    .gradient = {RULES_GRADIENT(ROW_GRADIENT)},
    .leaky_relu = leaky_relu,
    .leaky_relu_gradient = leaky_relu_gradient,
    .scale = scale,
    .axpy = axpy,
    .clip = clip,
};
