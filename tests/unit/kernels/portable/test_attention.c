/* Attention: near the result in double, forward and backward, and equal bits in every class. */
#include "kernels/portable/attention.h"

#include <math.h>
#include <stdio.h>

#include "tests/unit/kernels/portable/classes.h"

/* q, k and v beside each other in one array, as a layer computes them: [batch][time][3][heads]
 * [width]; `out` and its gradient are [batch][time][heads][width]. */
struct layout {
    size_t all, out;
};

static struct attention task_of(size_t batch, size_t heads, size_t time, size_t keys, size_t width,
                                bool causal)
{
    return (struct attention){
        .batch = batch,
        .heads = heads,
        .queries = time,
        .keys = keys,
        .width = width,
        .value_width = width,
        .causal = causal,
        .scale = 1.0F / sqrtf((float)width),
    };
}

static struct attention_result result_of(float *data, size_t time, size_t row, size_t width)
{
    return (struct attention_result){data, time * row, width, row};
}

static struct attention_operand operand_of(const float *data, size_t time, size_t row, size_t width)
{
    return (struct attention_operand){data, time * row, width, row};
}

static struct layout set_operands(struct attention *task, const float *qkv)
{
    size_t out_row = task->heads * task->width, row = 3 * out_row;
    size_t time = size_max(task->queries, task->keys);
    task->q = operand_of(qkv, time, row, task->width);
    task->k = operand_of(qkv + out_row, time, row, task->width);
    task->v = operand_of(qkv + 2 * out_row, time, row, task->width);
    return (struct layout){task->batch * time * row, task->batch * task->queries * out_row};
}

/* out, then dqkv, then p: one class. */
static float *run(const struct portable *kernels, const struct attention *task,
                  struct layout layout, const float *dout)
{
    size_t out_row = task->heads * task->width, row = 3 * out_row;
    size_t time = layout.all / row / task->batch;
    float *out = calloc(layout.out + layout.all + attention_p_size(task), sizeof *out);
    float *dqkv = out + layout.out, *p = dqkv + layout.all;
    float *workspace = allocate_floats(attention_forward_workspace(kernels, task) +
                                       attention_backward_workspace(kernels, task));
    struct attention_result result = result_of(out, task->queries, out_row, task->width);
    struct attention_operand gradient = operand_of(dout, task->queries, out_row, task->width);
    struct attention_gradients gradients = {
        .q = result_of(dqkv, time, row, task->width),
        .k = result_of(dqkv + out_row, time, row, task->width),
        .v = result_of(dqkv + 2 * out_row, time, row, task->width),
    };
    attention_forward(kernels, task, p, &result, workspace);
    attention_backward(kernels, task, p, &gradient, &gradients, workspace);
    free(workspace);
    return out;
}

/* The sum of out * dout in double, by the definition: its derivatives are dqkv. */
static double objective(const struct attention *task, const double *qkv, size_t time,
                        const float *dout)
{
    size_t out_row = task->heads * task->width, row = 3 * out_row;
    double total = 0, *p = malloc(task->keys * sizeof *p);
    for (size_t i = 0; i < task->batch * task->heads * task->queries; i++) {
        size_t b = i / (task->heads * task->queries), h = i / task->queries % task->heads;
        size_t query = i % task->queries, seen = task->causal ? query + 1 : task->keys;
        const double *q = qkv + (b * time + query) * row + h * task->width;
        const double *k = qkv + b * time * row + out_row + h * task->width, *v = k + out_row;
        double sum = 0;
        for (size_t j = 0; j < seen; j++) {
            double score = 0;
            for (size_t c = 0; c < task->width; c++) { score += q[c] * k[j * row + c]; }
            sum += p[j] = exp(score * (double)task->scale);
        }
        const float *d = dout + (b * task->queries + query) * out_row + h * task->width;
        for (size_t j = 0; j < seen; j++) {
            for (size_t c = 0; c < task->width; c++) {
                total += p[j] / sum * v[j * row + c] * (double)d[c];
            }
        }
    }
    free(p);
    return total;
}

/* The value, and central differences at some elements of q, k and v. */
static void check_values(const struct attention *task, struct layout layout, const float *qkv,
                         const float *dout, const float *out)
{
    size_t time = layout.all / (3 * task->heads * task->width) / task->batch;
    double *exact = malloc(layout.all * sizeof *exact), found = 0;
    const float *dqkv = out + layout.out;
    for (size_t i = 0; i < layout.all; i++) { exact[i] = (double)qkv[i]; }
    for (size_t i = 0; i < layout.out; i++) { found += (double)out[i] * (double)dout[i]; }
    double size = sqrt((double)layout.out);
    assert_true(fabs(found - objective(task, exact, time, dout)) <= 1e-5 * size);
    for (size_t n = 0; n < 9; n++) {
        size_t i = (n * 7919 + 13) % layout.all;
        double before = exact[i], h = 1e-4;
        exact[i] = before + h;
        double up = objective(task, exact, time, dout);
        exact[i] = before - h;
        double slope = (up - objective(task, exact, time, dout)) / (2 * h);
        exact[i] = before;
        assert_true(fabs(slope - (double)dqkv[i]) <= 2e-5 * (1 + fabs(slope)));
    }
    free(exact);
}

static void check(struct attention task)
{
    size_t time = size_max(task.queries, task.keys);
    float *qkv = random_floats(1, 3 * task.batch * time * task.heads * task.width);
    struct layout layout = set_operands(&task, qkv);
    float *dout = random_floats(2, layout.out), *expected = run(classes[0], &task, layout, dout);
    char text[96];
    (void)snprintf(text, sizeof text, "%zu x %zu heads, %zu x %zu, width %zu%s", task.batch,
                   task.heads, task.queries, task.keys, task.width, task.causal ? ", causal" : "");
    check_values(&task, layout, qkv, dout, expected);
    for (size_t c = 1; c < class_count; c++) {
        float *found = run(classes[c], &task, layout, dout);
        assert_same_bits(found, expected, layout.out + layout.all + attention_p_size(&task),
                         classes[c]->name, text);
        free(found);
    }
    free(qkv), free(dout), free(expected);
}

/* 60 random shapes; causal ones below, at and above a block. */
static void test_attention_is_accurate_and_portable(void **state)
{
    (void)state;
    struct random random = {.state = 90};
    for (size_t i = 0; i < 60; i++) {
        size_t time = random_size(&random, 70), keys = random_size(&random, 70);
        bool causal = i % 2 == 0;
        check(task_of(1 + random_below(&random, 2), 1 + random_below(&random, 3), time,
                      causal ? time : keys, random_size(&random, 40), causal));
    }
}

/* A causal query does not depend on later keys. */
static void test_later_keys_do_not_matter(void **state)
{
    (void)state;
    enum { TIME = 40, WIDTH = 8 };
    struct attention task = task_of(1, 1, TIME, TIME, WIDTH, true);
    float *qkv = random_floats(1, 3 * TIME * WIDTH), *dout = random_floats(2, TIME * WIDTH);
    struct layout layout = set_operands(&task, qkv);
    for (size_t c = 0; c < class_count; c++) {
        float *before = run(classes[c], &task, layout, dout);
        for (size_t i = 33 * 3 * WIDTH + WIDTH; i < 34 * 3 * WIDTH; i++) { qkv[i] += 1.0F; }
        float *after = run(classes[c], &task, layout, dout);
        assert_same_bits(after, before, (size_t)33 * WIDTH, classes[c]->name, "earlier queries");
        assert_memory_not_equal(after + (size_t)33 * WIDTH, before + (size_t)33 * WIDTH,
                                WIDTH * sizeof *after);
        free(before), free(after);
    }
    free(qkv), free(dout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_is_accurate_and_portable),
        cmocka_unit_test(test_later_keys_do_not_matter),
    };
    return cmocka_run_group_tests(tests, find_classes, NULL);
}
