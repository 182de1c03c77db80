/*
 * kernels/cuda/update.c: optimizers, and sums of gradients over a tree.
 *
 * The formulas are those of kernels/optimizer/update.h, in the order written there. Nothing here is
 * fused: each operation is rounded by itself.
 */
#include "common/base/small_numbers.h"
#include "kernels/cuda/families.h"

DEVICE_INLINE float state_of(float x)
{
    return ZERO_IF_BELOW(SMALLEST_STATE, x);
}

DEVICE_INLINE float limited(const struct cuda_constants *c, float gradient)
{
    const float g = c->scale * ZERO_IF_BELOW(SMALLEST_GRADIENT, gradient);
    if (g > c->limit) { return c->limit; }
    if (g < -c->limit) { return -c->limit; }
    return g;
}

DEVICE_INLINE float decayed(const struct cuda_constants *c, float gradient, float value)
{
    const float g = limited(c, gradient);
    return c->decay != 0.0F ? g + c->decay * value : g;
}

/* The new moments of Adam, AdamW and LAMB. */
DEVICE_INLINE void next_moments(const struct cuda_constants *c, float g, float *m, float *v)
{
    *m = state_of(c->beta1 * *m + c->one_minus_beta1 * g);
    *v = state_of(c->beta2 * *v + c->one_minus_beta2 * (g * g));
}

/* A kernel NAME_update; `body` computes the values w from g, w and the state p, q of element i. */
#define UPDATE(name, ...)                                                                          \
    KERNEL(update_##name, struct cuda_update)                                                      \
    {                                                                                              \
        const struct cuda_constants *c = &a.constants;                                             \
        EACH_ELEMENT(i, a.count)                                                                   \
        {                                                                                          \
            const float gradient = a.gradient[i];                                                  \
            float w = a.in[0][i];                                                                  \
            __VA_ARGS__                                                                            \
            a.out[0][i] = w;                                                                       \
        }                                                                                          \
    }                                                                                              \
    static void run_##name(const struct cuda_update *update)                                       \
    {                                                                                              \
        if (update->count == 0) { return; }                                                        \
        LAUNCH(update_##name, blocks_for(update->count), ELEMENT_THREADS, *update);                \
    }

UPDATE(sgd, { w = w - c->rate * decayed(c, gradient, w); })

UPDATE(momentum, {
    const float next = state_of(c->momentum * a.in[1][i] + decayed(c, gradient, w));
    a.out[1][i] = next;
    w = w - c->rate * next;
})

UPDATE(nesterov, {
    const float g = decayed(c, gradient, w), next = state_of(c->momentum * a.in[1][i] + g);
    a.out[1][i] = next;
    w = w - c->rate * (c->momentum * next + g);
})

UPDATE(adagrad, {
    const float g = decayed(c, gradient, w), next = a.in[1][i] + g * g;
    a.out[1][i] = next;
    w = w - c->rate * g / (sqrtf(next) + c->epsilon);
})

UPDATE(rmsprop, {
    const float g = decayed(c, gradient, w);
    const float next = state_of(c->beta2 * a.in[1][i] + c->one_minus_beta2 * (g * g));
    a.out[1][i] = next;
    w = w - c->rate * g / (sqrtf(next) + c->epsilon);
})

UPDATE(adam, {
    float m = a.in[1][i], v = a.in[2][i];
    next_moments(c, decayed(c, gradient, w), &m, &v);
    a.out[1][i] = m;
    a.out[2][i] = v;
    w = w - c->rate * m / (sqrtf(v) * c->root + c->epsilon);
})

UPDATE(adamw, {
    float m = a.in[1][i], v = a.in[2][i];
    next_moments(c, limited(c, gradient), &m, &v);
    a.out[1][i] = m;
    a.out[2][i] = v;
    w = (w - c->decay * w) - c->rate * m / (sqrtf(v) * c->root + c->epsilon);
})

UPDATE(lars, {
    const float next = state_of(c->momentum * a.in[1][i] + c->rate * decayed(c, gradient, w));
    a.out[1][i] = next;
    w = w - next;
})

UPDATE(lamb, {
    float m = a.in[1][i], v = a.in[2][i];
    next_moments(c, limited(c, gradient), &m, &v);
    a.out[1][i] = m;
    a.out[2][i] = v;
    float change = m * c->correction / (sqrtf(v) * c->root + c->epsilon);
    if (c->decay != 0.0F) { change = change + c->decay * w; }
    w = w - c->rate * change;
})

UPDATE(average, { w = c->beta1 * w + c->one_minus_beta1 * gradient; })

struct add_task {
    size_t count;
    const float *from;
    float *into;
};

KERNEL(added, struct add_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.into[i] = a.into[i] + a.from[i];
    }
}

static void run_add(size_t count, const float *from, float *into)
{
    struct add_task task = {count, from, into};
    if (count > 0) { LAUNCH(added, blocks_for(count), ELEMENT_THREADS, task); }
}

/* kernels/tree_sum.h: sums that wait at the same time. */
enum { WAITING_MAX = 12 };

struct tree_task {
    size_t count;
    uint32_t term_count;
    const struct cuda_sum_term *terms;
    float *out;
};

/* A thread takes an element through the whole tree, so that each array is read once. */
KERNEL(tree, struct tree_task)
{
    EACH_ELEMENT(i, a.count)
    {
        float waiting[WAITING_MAX] = {0};
        uint32_t depth = 0;
        for (uint32_t t = 0; t < a.term_count; t++) {
            const float *left = a.terms[t].left, *right = a.terms[t].right;
            if (left != NULL && right != NULL) {
                waiting[depth++] = left[i] + right[i];
            } else if (left != NULL || right != NULL) {
                waiting[depth - 1] += left != NULL ? left[i] : right[i];
            } else {
                depth--;
                waiting[depth - 1] += waiting[depth];
            }
        }
        a.out[i] = waiting[0];
    }
}

static void run_tree(size_t count, uint32_t term_count, const struct cuda_sum_term *terms,
                     float *out)
{
    struct tree_task task = {count, term_count, terms, out};
    if (count > 0) { LAUNCH(tree, blocks_for(count), ELEMENT_THREADS, task); }
}

/* Sums of slices that wait at the same time: enough for 2^16 slices. */
enum { SLICES_WAITING_MAX = 17 };

struct slices_task {
    size_t count, slices;
    const float *x;
    float *out;
};

/* A sum waits until its right sibling is complete. With slice s as many sums are complete as s ends
 * with bits that are set. */
KERNEL(slices_tree, struct slices_task)
{
    EACH_ELEMENT(i, a.count)
    {
        float waiting[SLICES_WAITING_MAX] = {0};
        uint32_t depth = 0;
        for (size_t s = 0; s < a.slices; s++) {
            const bool is_last = s + 1 == a.slices;
            waiting[depth] = a.x[s * a.count + i];
            for (size_t bits = s; depth > 0 && (is_last || (bits & 1) != 0); bits >>= 1) {
                waiting[depth - 1] = waiting[depth - 1] + waiting[depth];
                depth--;
            }
            depth++;
        }
        a.out[i] = waiting[0];
    }
}

static void run_slices(size_t count, size_t slices, const float *x, float *out)
{
    struct slices_task task = {count, slices, x, out};
    if (count > 0) { LAUNCH(slices_tree, blocks_for(count), ELEMENT_THREADS, task); }
}

CUDA_EXPORT void CUDA_FILL(update)(struct cuda_kernels *table)
{
#define X(name, arrays) table->update.name = run_##name;
    CUDA_UPDATES(X)
#undef X
    table->add = run_add;
    table->sum_tree = run_tree;
    table->sum_slices = run_slices;
}
