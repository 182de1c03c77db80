#include "kernels/portable/attention.h"

#include <assert.h>

#include "common/base/minmax.h"

/* One head: pointers to its rows. */
struct head {
    const float *q, *k, *v, *p, *dout;
    float *out_p, *out, *dq, *dk, *dv;
};

size_t attention_p_size(const struct attention *task)
{
    return task->batch * task->heads * task->queries * task->keys;
}

static size_t transposed_size(const struct portable *kernels, const struct attention *task,
                              size_t width)
{
    return product_packed_size(kernels->product, width, task->keys);
}

size_t attention_forward_workspace(const struct portable *kernels, const struct attention *task)
{
    return transposed_size(kernels, task, task->width);
}

size_t attention_backward_workspace(const struct portable *kernels, const struct attention *task)
{
    return transposed_size(kernels, task, task->value_width) + task->queries * task->keys;
}

/* The queries first to first + ATTENTION_BLOCK - 1 see keys below the result. */
static size_t keys_seen(const struct attention *task, size_t first)
{
    return task->causal ? size_min(first + ATTENTION_BLOCK, task->keys) : task->keys;
}

/* The number of queries that are computed at once. */
static size_t block_of(const struct attention *task)
{
    return task->causal ? ATTENTION_BLOCK : task->queries;
}

static struct softmax_rows softmax_of(const struct attention *task, size_t first, size_t rows)
{
    return (struct softmax_rows){
        .rows = rows,
        .columns = task->keys,
        .stride = task->keys,
        .visible = task->causal ? first + 1 : task->keys,
        .more = task->causal ? 1 : 0,
        .scale = task->scale,
    };
}

/* out = a b' for some rows of queries of `width`; `panels` is the packed b'. */
static void multiply_transposed(const struct portable *kernels, const struct attention *task,
                                size_t rows, size_t seen, size_t width, struct attention_operand a,
                                const float *panels, float *out)
{
    struct product_matrix matrix = {.data = a.data, .row = a.row, .column = 1};
    struct product product =
        product_packed(kernels->product, rows, seen, width, matrix, panels, out, task->keys);
    kernels->product->run(&product);
}

/* out = a b: a[rows][seen] within rows of `keys`, b[seen][width] in place. */
static void multiply_rows(const struct portable *kernels, const struct attention *task, size_t rows,
                          size_t seen, size_t width, const float *a, const float *b, size_t b_row,
                          struct attention_result out)
{
    struct product_matrix matrix = {.data = a, .row = task->keys, .column = 1};
    struct product product =
        product_plain(kernels->product, rows, width, seen, matrix, b, b_row, out.data, out.row);
    kernels->product->run(&product);
}

/* out = a' b: the keys are rows, k runs over the queries that see them. */
static void multiply_keys(const struct portable *kernels, const struct attention *task,
                          size_t width, const float *a, const float *b, size_t b_row,
                          struct attention_result out)
{
    size_t block = task->causal ? ATTENTION_BLOCK : task->keys;
    for (size_t first = 0; first < task->keys; first += block) {
        size_t from = task->causal ? first : 0;
        struct product_matrix matrix = {
            .data = a + from * task->keys + first,
            .row = 1,
            .column = task->keys,
        };
        struct product product = product_plain(
            kernels->product, size_min(block, task->keys - first), width, task->queries - from,
            matrix, b + from * b_row, b_row, out.data + first * out.row, out.row);
        kernels->product->run(&product);
    }
}

static void forward_head(const struct portable *kernels, const struct attention *task,
                         const struct head *head, size_t out_row, float *panels)
{
    kernels->product->pack(task->width, task->keys, head->k, 1, task->k.row, panels);
    size_t block = block_of(task);
    for (size_t first = 0; first < task->queries; first += block) {
        size_t rows = size_min(block, task->queries - first), seen = keys_seen(task, first);
        float *p = head->out_p + first * task->keys;
        struct softmax_rows softmax = softmax_of(task, first, rows);
        struct attention_operand q = {.data = head->q + first * task->q.row, .row = task->q.row};
        struct attention_result out = {.data = head->out + first * out_row, .row = out_row};
        multiply_transposed(kernels, task, rows, seen, task->width, q, panels, p);
        kernels->softmax->forward(&softmax, p, p);
        multiply_rows(kernels, task, rows, seen, task->value_width, p, head->v, task->v.row, out);
    }
}

/* dp = dout v', then ds in its place; dq = ds k, dk = ds' q, dv = p' dout. */
static void backward_head(const struct portable *kernels, const struct attention *task,
                          const struct head *head, size_t dout_row,
                          const struct attention_gradients *gradients, float *workspace)
{
    float *ds = workspace, *panels = workspace + task->queries * task->keys;
    kernels->product->pack(task->value_width, task->keys, head->v, 1, task->v.row, panels);
    size_t block = block_of(task);
    for (size_t first = 0; first < task->queries; first += block) {
        size_t rows = size_min(block, task->queries - first), seen = keys_seen(task, first);
        const float *p = head->p + first * task->keys;
        float *rows_of_ds = ds + first * task->keys;
        struct softmax_rows softmax = softmax_of(task, first, rows);
        struct attention_operand dout = {.data = head->dout + first * dout_row, .row = dout_row};
        struct attention_result dq = {
            .data = head->dq + first * gradients->q.row,
            .row = gradients->q.row,
        };
        multiply_transposed(kernels, task, rows, seen, task->value_width, dout, panels, rows_of_ds);
        kernels->softmax->backward(&softmax, p, rows_of_ds, rows_of_ds);
        multiply_rows(kernels, task, rows, seen, task->width, rows_of_ds, head->k, task->k.row, dq);
    }
    struct attention_result dk = {.data = head->dk, .row = gradients->k.row};
    struct attention_result dv = {.data = head->dv, .row = gradients->v.row};
    multiply_keys(kernels, task, task->width, ds, head->q, task->q.row, dk);
    multiply_keys(kernels, task, task->value_width, head->p, head->dout, dout_row, dv);
}

static const float *operand_at(const struct attention_operand *x, size_t b, size_t h)
{
    return x->data + b * x->batch + h * x->head;
}

static float *result_at(const struct attention_result *x, size_t b, size_t h)
{
    return x->data + b * x->batch + h * x->head;
}

static struct head head_at(const struct attention *task, size_t b, size_t h)
{
    return (struct head){
        .q = operand_at(&task->q, b, h),
        .k = operand_at(&task->k, b, h),
        .v = operand_at(&task->v, b, h),
    };
}

void attention_forward(const struct portable *kernels, const struct attention *task, float *p,
                       const struct attention_result *out, float *workspace)
{
    assert(!task->causal || task->queries == task->keys);
    for (size_t i = 0; i < task->batch * task->heads; i++) {
        size_t b = i / task->heads, h = i % task->heads;
        struct head head = head_at(task, b, h);
        head.out_p = p + i * task->queries * task->keys;
        head.out = result_at(out, b, h);
        forward_head(kernels, task, &head, out->row, workspace);
    }
}

void attention_backward(const struct portable *kernels, const struct attention *task,
                        const float *p, const struct attention_operand *dout,
                        const struct attention_gradients *gradients, float *workspace)
{
    assert(!task->causal || task->queries == task->keys);
    for (size_t i = 0; i < task->batch * task->heads; i++) {
        size_t b = i / task->heads, h = i % task->heads;
        struct head head = head_at(task, b, h);
        head.p = p + i * task->queries * task->keys;
        head.dout = operand_at(dout, b, h);
        head.dq = result_at(&gradients->q, b, h);
        head.dk = result_at(&gradients->k, b, h);
        head.dv = result_at(&gradients->v, b, h);
        backward_head(kernels, task, &head, dout->row, gradients, workspace);
    }
}
