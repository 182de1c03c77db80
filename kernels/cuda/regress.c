/*
 * kernels/cuda/regress.c: losses that compare two values element by element, and their gradients,
 * with the bits of graph/reference/regress.c and, for the sigmoid, of graph/portable/regress.c. The
 * mean of a row is a sum in double in ascending order, and so has one thread.
 */
#include "kernels/cuda/families.h"
#include "kernels/portable/isa/math.h"

struct error_task {
    size_t rows, columns;
    double width;
    const float *x, *target, *dy;
    float *out;
};

DEVICE_INLINE double sign_of(double x)
{
    return (double)(x > 0.0) - (double)(x < 0.0);
}

/* The loss of one element. */
DEVICE_INLINE double squared_error(float x, float target, double width)
{
    const double d = (double)(x - target);
    (void)width;
    return d * d;
}

DEVICE_INLINE double absolute_error(float x, float target, double width)
{
    (void)width;
    return fabs((double)(x - target));
}

DEVICE_INLINE double huber_error(float x, float target, double width)
{
    const double d = (double)(x - target), size = fabs(d);
    return size <= width ? 0.5 * d * d : width * (size - 0.5 * width);
}

/* max(x, 0) - x t + log(1 + exp(-|x|)) */
DEVICE_INLINE double sigmoid_cross_entropy(float x, float target, double width)
{
    const double logit = (double)x;
    double above = 0.0;
    (void)width;
    if (logit > 0.0) { above = logit; }
    return above - logit * (double)target + (double)math_softplus(-fabsf(x));
}

/* Its slope in x, times the gradient of the row's loss. */
DEVICE_INLINE float squared_error_slope(float x, float target, double width, float dy, float count)
{
    (void)width;
    return 2.0F * dy / count * (x - target);
}

DEVICE_INLINE float absolute_error_slope(float x, float target, double width, float dy, float count)
{
    (void)width;
    return dy / count * (float)sign_of((double)(x - target));
}

DEVICE_INLINE float huber_error_slope(float x, float target, double width, float dy, float count)
{
    const double d = (double)(x - target);
    return dy / count * (float)(fabs(d) <= width ? d : width * sign_of(d));
}

DEVICE_INLINE float sigmoid_cross_entropy_slope(float x, float target, double width, float dy,
                                                float count)
{
    (void)width;
    return dy / count * (math_sigmoid(x) - target);
}

#define ERROR(NAME, name)                                                                          \
    KERNEL(mean_##name, struct error_task)                                                         \
    {                                                                                              \
        EACH_ELEMENT(r, a.rows)                                                                    \
        {                                                                                          \
            const float *x = a.x + r * a.columns, *target = a.target + r * a.columns;              \
            double sum = 0.0;                                                                      \
            for (size_t i = 0; i < a.columns; i++) { sum = sum + name(x[i], target[i], a.width); } \
            a.out[r] = (float)(sum / (double)a.columns);                                           \
        }                                                                                          \
    }                                                                                              \
    KERNEL(mean_##name##_gradient, struct error_task)                                              \
    {                                                                                              \
        EACH_ELEMENT(i, a.rows *a.columns)                                                         \
        {                                                                                          \
            const float dy = a.dy[i / a.columns];                                                  \
            a.out[i] = name##_slope(a.x[i], a.target[i], a.width, dy, (float)a.columns);           \
        }                                                                                          \
    }                                                                                              \
    static void run_##name(size_t rows, size_t columns, double width, const float *x,              \
                           const float *target, float *out)                                        \
    {                                                                                              \
        struct error_task task = {rows, columns, width, x, target, NULL, out};                     \
        if (rows > 0) { LAUNCH(mean_##name, blocks_for(rows), ELEMENT_THREADS, task); }            \
    }                                                                                              \
    static void run_##name##_gradient(size_t rows, size_t columns, double width, const float *x,   \
                                      const float *target, const float *dy, float *dx)             \
    {                                                                                              \
        struct error_task task = {rows, columns, width, x, target, dy, dx};                        \
        const size_t count = rows * columns;                                                       \
        if (count > 0) {                                                                           \
            LAUNCH(mean_##name##_gradient, blocks_for(count), ELEMENT_THREADS, task);              \
        }                                                                                          \
    }

CUDA_ERRORS_OF(ERROR)

CUDA_EXPORT void CUDA_FILL(regress)(struct cuda_kernels *table)
{
#define ROW_OF_ERROR(NAME, name)                                                                   \
    table->error[CUDA_##NAME] = run_##name;                                                        \
    table->error_gradient[CUDA_##NAME] = run_##name##_gradient;
    CUDA_ERRORS_OF(ROW_OF_ERROR)
}
