/* kernels/cuda/elementwise.c: functions of one or two floats; the functions are those of the CPU's
 * kernels (kernels/portable/isa/rules.h). */
#include "kernels/cuda/families.h"
#include "kernels/portable/isa/rules.h"
#include "kernels/portable/power.h"

struct unary_task {
    size_t count;
    const float *x;
    float *out;
};

#define UNARY(NAME, name, function)                                                                \
    KERNEL(unary_##name, struct unary_task)                                                        \
    {                                                                                              \
        EACH_ELEMENT(i, a.count)                                                                   \
        {                                                                                          \
            a.out[i] = function(a.x[i]);                                                           \
        }                                                                                          \
    }                                                                                              \
    static void run_##name(size_t count, const float *x, float *out)                               \
    {                                                                                              \
        struct unary_task task = {count, x, out};                                                  \
        if (count > 0) { LAUNCH(unary_##name, blocks_for(count), ELEMENT_THREADS, task); }         \
    }

RULES_UNARY(UNARY)

struct gradient_task {
    size_t count;
    const float *from, *dy;
    float *dx;
};

#define GRADIENT(NAME, name, function)                                                             \
    KERNEL(gradient_##name, struct gradient_task)                                                  \
    {                                                                                              \
        EACH_ELEMENT(i, a.count)                                                                   \
        {                                                                                          \
            a.dx[i] = function(a.from[i], a.dy[i]);                                                \
        }                                                                                          \
    }                                                                                              \
    static void run_##name##_gradient(size_t count, const float *from, const float *dy, float *dx) \
    {                                                                                              \
        struct gradient_task task = {count, from, dy, dx};                                         \
        if (count > 0) { LAUNCH(gradient_##name, blocks_for(count), ELEMENT_THREADS, task); }      \
    }

RULES_GRADIENT(GRADIENT)

struct binary_task {
    struct cuda_shape shape;
    size_t count;
    struct cuda_strides x_strides, y_strides;
    const float *x, *y;
    float *out;
};

#define BINARY(NAME, name, function)                                                               \
    KERNEL(binary_##name, struct binary_task)                                                      \
    {                                                                                              \
        EACH_ELEMENT(i, a.count)                                                                   \
        {                                                                                          \
            const float x = a.x[strided(&a.shape, &a.x_strides, i)];                               \
            a.out[i] = function(x, a.y[strided(&a.shape, &a.y_strides, i)]);                       \
        }                                                                                          \
    }                                                                                              \
    static void run_##name(const struct cuda_shape *shape, const float *x,                         \
                           const struct cuda_strides *x_strides, const float *y,                   \
                           const struct cuda_strides *y_strides, float *out)                       \
    {                                                                                              \
        const size_t count = shape_count(shape);                                                   \
        struct binary_task task = {*shape, count, *x_strides, *y_strides, x, y, out};              \
        if (count > 0) { LAUNCH(binary_##name, blocks_for(count), ELEMENT_THREADS, task); }        \
    }

RULES_BINARY(BINARY)

struct slope_task {
    size_t count;
    float low, high; /* Or the slope, and the factor. */
    const float *x, *dy;
    float *out;
};

KERNEL(leaky, struct slope_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.out[i] = leak(a.low, a.x[i], a.dy[i]);
    }
}

KERNEL(scaled, struct slope_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.out[i] = a.x[i] * a.low;
    }
}

KERNEL(clip, struct slope_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.out[i] = clipped(a.low, a.high, a.x[i]);
    }
}

KERNEL(clip_gradient, struct slope_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.out[i] = a.x[i] >= a.low && a.x[i] <= a.high ? a.dy[i] : 0.0F;
    }
}

KERNEL(powered, struct slope_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.out[i] = power_rule(a.x[i], a.low);
    }
}

KERNEL(filled, struct slope_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.out[i] = a.low;
    }
}

static void run_leaky(size_t count, float slope, const float *x, const float *dy, float *dx)
{
    struct slope_task task = {count, slope, 0, x, dy, dx};
    if (count > 0) { LAUNCH(leaky, blocks_for(count), ELEMENT_THREADS, task); }
}

static void run_scale(size_t count, float factor, const float *x, float *out)
{
    struct slope_task task = {count, factor, 0, x, NULL, out};
    if (count > 0) { LAUNCH(scaled, blocks_for(count), ELEMENT_THREADS, task); }
}

static void run_clip(size_t count, float low, float high, const float *x, float *out)
{
    struct slope_task task = {count, low, high, x, NULL, out};
    if (count > 0) { LAUNCH(clip, blocks_for(count), ELEMENT_THREADS, task); }
}

static void run_clip_gradient(size_t count, float low, float high, const float *x, const float *dy,
                              float *out)
{
    struct slope_task task = {count, low, high, x, dy, out};
    if (count > 0) { LAUNCH(clip_gradient, blocks_for(count), ELEMENT_THREADS, task); }
}

static void run_power(size_t count, float c, const float *x, float *out)
{
    struct slope_task task = {count, c, 0, x, NULL, out};
    if (count > 0) { LAUNCH(powered, blocks_for(count), ELEMENT_THREADS, task); }
}

static void run_fill(size_t count, float value, float *out)
{
    struct slope_task task = {count, value, 0, NULL, NULL, out};
    if (count > 0) { LAUNCH(filled, blocks_for(count), ELEMENT_THREADS, task); }
}

CUDA_EXPORT void CUDA_FILL(elementwise)(struct cuda_kernels *table)
{
#define ROW_UNARY(NAME, name, function) table->unary[ELEMENTWISE_##NAME] = run_##name;
#define ROW_GRADIENT(NAME, name, function)                                                         \
    table->gradient[ELEMENTWISE_##NAME] = run_##name##_gradient;
#define ROW_BINARY(NAME, name, function) table->binary[ELEMENTWISE_##NAME] = run_##name;
    RULES_UNARY(ROW_UNARY)
    RULES_GRADIENT(ROW_GRADIENT)
    RULES_BINARY(ROW_BINARY)
    table->leaky_relu = run_leaky;
    table->scale = run_scale;
    table->clip = run_clip;
    table->clip_gradient = run_clip_gradient;
    table->power = run_power;
    table->fill = run_fill;
}
