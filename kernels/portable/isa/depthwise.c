#include "kernels/portable/depthwise.h"

#include "kernels/portable/isa/families.h"
#include "kernels/portable/isa/vector.h"

/* One output of up to 16 channels. */
ISA_INLINE wide pixel(const struct depthwise_row *row, const float *x, const float *weights,
                      size_t size)
{
    wide sum = wide_zero();
    for (size_t ky = 0; ky < row->kernel_height; ky++, x += row->pitch) {
        for (size_t kx = 0; kx < row->kernel_width; kx++, weights += row->channels) {
            wide at = wide_load_up_to(x + kx * row->channels, size);
            sum = wide_fma(at, wide_load_up_to(weights, size), sum);
        }
    }
    return sum;
}

static void forward(const struct depthwise_row *row, const float *weights, const float *bias,
                    bool relu, float *y)
{
    const float *x = row->x;
    for (size_t i = 0; i < row->width; i++, x += row->step, y += row->channels) {
        for (size_t c = 0, size; c < row->channels; c += size) {
            size = size_min(row->channels - c, WIDE);
            wide sum = pixel(row, x + c, weights + c, size);
            if (bias != NULL) { sum = wide_add(sum, wide_load_up_to(bias + c, size)); }
            wide_store_up_to(y + c, relu ? wide_relu(sum) : sum, size);
        }
    }
}

static void backward_weights(const struct depthwise_row *row, const float *dy, float *dw)
{
    const size_t channels = row->channels;
    for (size_t k = 0; k < row->kernel_height * row->kernel_width; k++, dw += channels) {
        size_t ky = k / row->kernel_width, kx = k % row->kernel_width;
        const float *x = row->x + ky * row->pitch + kx * channels;
        for (size_t c = 0, size; c < channels; c += size) {
            size = size_min(channels - c, WIDE);
            wide sum = wide_load_up_to(dw + c, size);
            for (size_t i = 0; i < row->width; i++) {
                wide at = wide_load_up_to(x + i * row->step + c, size);
                sum = wide_fma(at, wide_load_up_to(dy + i * channels + c, size), sum);
            }
            wide_store_up_to(dw + c, sum, size);
        }
    }
}

const struct depthwise_kernels ISA(depthwise_kernels) = {
    .forward = forward,
    .backward_weights = backward_weights,
};
