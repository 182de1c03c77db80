/* kernels/cuda/attention.c: attention and its gradient have the bits of the CPU's, causal or not,
 * for sizes around those of a block. */
#include "kernels/portable/attention.h"
#include "tests/unit/kernels/cuda/device.h"

/* batch, heads, queries, keys, width, width of values, causal. */
static const struct cuda_attention cases[] = {
    {1, 1, 1, 1, 1, 1, true, 1, {CUDA_FLOAT32, NULL}},
    {2, 3, 5, 7, 4, 6, false, 0.5F, {CUDA_FLOAT32, NULL}},
    {1, 2, 31, 31, 8, 8, true, 0.3F, {CUDA_FLOAT32, NULL}},
    {1, 1, 32, 32, 16, 16, true, 0.25F, {CUDA_FLOAT32, NULL}},
    {2, 1, 33, 33, 7, 9, true, 0.4F, {CUDA_FLOAT32, NULL}},
    {1, 2, 70, 70, 16, 16, true, 0.25F, {CUDA_FLOAT32, NULL}},
    {1, 1, 40, 90, 16, 33, false, 0.2F, {CUDA_FLOAT32, NULL}},
    {1, 1, 97, 97, 5, 3, true, 0.25F, {CUDA_FLOAT32, NULL}},
};

enum { ATTENTION_CASES = sizeof cases / sizeof cases[0], RESULTS = 5 };

static struct attention_operand operand_of(const float *data, size_t heads, size_t rows,
                                           size_t width)
{
    return (struct attention_operand){data, heads * rows * width, rows * width, width};
}

static struct attention_result result_of(float *data, size_t heads, size_t rows, size_t width)
{
    return (struct attention_result){data, heads * rows * width, rows * width, width};
}

/* Inputs: q, k, v and the gradient of the result. */
enum { Q, K, V, DOUT, INPUTS };

/* Outputs: p, the result, and the gradients of q, k and v. */
static void run_cpu(const struct cuda_attention *c, float *const in[INPUTS],
                    float *const out[RESULTS])
{
    const struct portable *kernels = portable_fastest();
    const size_t h = c->heads;
    const struct attention task = {
        .batch = c->batch,
        .heads = h,
        .queries = c->queries,
        .keys = c->keys,
        .width = c->width,
        .value_width = c->value_width,
        .causal = c->causal,
        .scale = c->scale,
        .q = operand_of(in[Q], h, c->queries, c->width),
        .k = operand_of(in[K], h, c->keys, c->width),
        .v = operand_of(in[V], h, c->keys, c->value_width),
    };
    const struct attention_result result = result_of(out[1], h, c->queries, c->value_width);
    const struct attention_operand dout = operand_of(in[DOUT], h, c->queries, c->value_width);
    const struct attention_gradients gradients = {
        .q = result_of(out[2], h, c->queries, c->width),
        .k = result_of(out[3], h, c->keys, c->width),
        .v = result_of(out[4], h, c->keys, c->value_width),
    };
    float *workspace = allocate_floats(attention_forward_workspace(kernels, &task) +
                                       attention_backward_workspace(kernels, &task));
    attention_forward(kernels, &task, out[0], &result, workspace);
    attention_backward(kernels, &task, out[0], &dout, &gradients, workspace);
    free(workspace);
}

/* With numbers of all kinds a product has NaNs nearly everywhere, so only some values are such. */
static float *inputs(uint64_t stream, size_t count, bool has_special)
{
    float *x = random_floats(stream, count), *any = any_floats(stream, count);
    for (size_t i = 0; i < count && has_special; i++) {
        if (random_at(41, stream, i) % 29 == 0) { x[i] = any[i]; }
    }
    free(any);
    return x;
}

static void compare_attention(const struct cuda_attention *c, bool has_special)
{
    static const char *const names[RESULTS] = {"p", "out", "dq", "dk", "dv"};
    const size_t heads = c->batch * c->heads, p = heads * c->queries * c->keys;
    const size_t q = heads * c->queries * c->width, k = heads * c->keys * c->width;
    const size_t v = heads * c->keys * c->value_width, y = heads * c->queries * c->value_width;
    const size_t in_counts[INPUTS] = {q, k, v, y}, out_counts[RESULTS] = {p, y, q, k, v};
    float *in[INPUTS], *copies[INPUTS], *expected[RESULTS], *out[RESULTS];
    for (size_t i = 0; i < INPUTS; i++) {
        in[i] = inputs(70 + i, in_counts[i], has_special);
        copies[i] = floats_to_device(in[i], in_counts[i]);
    }
    for (size_t i = 0; i < RESULTS; i++) {
        expected[i] = allocate_floats(out_counts[i]);
        out[i] = device_memory(out_counts[i] * sizeof(float));
    }
    float *ds = device_memory(p * sizeof *ds);
    library->kernels->attention(c, copies[Q], copies[K], copies[V], out[0], out[1]);
    const struct cuda_attention_gradient arrays = {
        .q = copies[Q],
        .k = copies[K],
        .v = copies[V],
        .p = out[0],
        .dout = copies[DOUT],
        .ds = ds,
        .dq = out[2],
        .dk = out[3],
        .dv = out[4],
    };
    library->kernels->attention_gradient(c, &arrays);
    run_cpu(c, in, expected);
    library->release(ds);
    for (size_t i = 0; i < RESULTS; i++) {
        expect_floats(names[i], out[i], expected[i], out_counts[i]);
        free(expected[i]);
    }
    for (size_t i = 0; i < INPUTS; i++) {
        free(in[i]);
        library->release(copies[i]);
    }
}

static void attention_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < ATTENTION_CASES; i++) {
        compare_attention(&cases[i], false);
        compare_attention(&cases[i], true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_has_the_bits_of_the_cpu),
    };
    return cmocka_run_group_tests(tests, open_library, close_library);
}
