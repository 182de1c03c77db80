/* bench/transformer_plain.c: the network of transformer.h in plain C. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/transformer.h"

static const float GELU_SCALE = 0.7978845608F, GELU_CUBE = 0.044715F, EPSILON = 1e-5F;

/* The values that the backward pass of a block needs. */
struct block {
    float *x, *norm1, *mean1, *inverse1, *q, *k, *v, *p, *mixed;
    float *middle, *norm2, *mean2, *inverse2, *inner, *active;
};

struct plain {
    size_t tokens, batch;
    struct block blocks[T_BLOCKS];
    float *out, *norm, *mean, *inverse, *p;
    float *dx, *dy, *dinner, *dq, *dk, *dv;
    float *memory;
};

/* ----------------------------------------------------------------- layers */

/* out = a w + bias (NULL: none) for rows of a. */
static void dense(size_t rows, size_t in, size_t outs, const float *restrict a,
                  const float *restrict w, const float *restrict bias, float *restrict out)
{
    for (size_t r = 0; r < rows; r++, a += in, out += outs) {
        if (bias != NULL) {
            memcpy(out, bias, outs * sizeof *out);
        } else {
            memset(out, 0, outs * sizeof *out);
        }
        for (size_t k = 0; k < in; k++) {
            for (size_t j = 0; j < outs; j++) { out[j] += a[k] * w[k * outs + j]; }
        }
    }
}

/* da += dout w', dw += a' dout, dbias += the sum of the rows of dout. */
static void dense_back(size_t rows, size_t in, size_t outs, const float *restrict a,
                       const float *restrict w, const float *restrict dout, float *restrict da,
                       float *restrict dw, float *restrict dbias)
{
    for (size_t r = 0; r < rows; r++, a += in, da += in, dout += outs) {
        for (size_t k = 0; k < in; k++) {
            float sum = 0;
            for (size_t j = 0; j < outs; j++) {
                sum += dout[j] * w[k * outs + j];
                dw[k * outs + j] += a[k] * dout[j];
            }
            da[k] += sum;
        }
        for (size_t j = 0; dbias != NULL && j < outs; j++) { dbias[j] += dout[j]; }
    }
}

static void norm(size_t rows, const float *x, const float *gain, const float *bias, float *y,
                 float *mean, float *inverse)
{
    for (size_t r = 0; r < rows; r++, x += T_WIDTH, y += T_WIDTH) {
        float sum = 0, square = 0;
        for (size_t i = 0; i < T_WIDTH; i++) { sum += x[i]; }
        mean[r] = sum / T_WIDTH;
        for (size_t i = 0; i < T_WIDTH; i++) { square += (x[i] - mean[r]) * (x[i] - mean[r]); }
        inverse[r] = 1 / sqrtf(square / T_WIDTH + EPSILON);
        for (size_t i = 0; i < T_WIDTH; i++) {
            y[i] = (x[i] - mean[r]) * inverse[r] * gain[i] + bias[i];
        }
    }
}

/* dx += the gradient of the input. */
static void norm_back(size_t rows, const float *x, const float *gain, const float *mean,
                      const float *inverse, const float *dy, float *dx, float *dgain, float *dbias)
{
    for (size_t r = 0; r < rows; r++, x += T_WIDTH, dy += T_WIDTH, dx += T_WIDTH) {
        float sum = 0, product = 0;
        for (size_t i = 0; i < T_WIDTH; i++) {
            float unit = (x[i] - mean[r]) * inverse[r], g = dy[i] * gain[i];
            sum += g;
            product += g * unit;
            dgain[i] += dy[i] * unit;
            dbias[i] += dy[i];
        }
        for (size_t i = 0; i < T_WIDTH; i++) {
            float unit = (x[i] - mean[r]) * inverse[r];
            dx[i] += inverse[r] * (dy[i] * gain[i] - sum / T_WIDTH - unit * product / T_WIDTH);
        }
    }
}

static float dot(const float *a, const float *b)
{
    float sum = 0;
    for (size_t i = 0; i < T_HEAD; i++) { sum += a[i] * b[i]; }
    return sum;
}

static void softmax(size_t count, float *x)
{
    float most = x[0], sum = 0;
    for (size_t i = 1; i < count; i++) { most = fmaxf(most, x[i]); }
    for (size_t i = 0; i < count; i++) { sum += x[i] = expf(x[i] - most); }
    for (size_t i = 0; i < count; i++) { x[i] /= sum; }
}

/* One query of one head; q, k, v and y are rows of T_WIDTH. */
static void attend(size_t query, const float *q, const float *k, const float *v, float *p, float *y)
{
    const float scale = 1 / sqrtf(T_HEAD);
    for (size_t j = 0; j <= query; j++) { p[j] = scale * dot(q, k + j * T_WIDTH); }
    softmax(query + 1, p);
    memset(y, 0, T_HEAD * sizeof *y);
    for (size_t j = 0; j <= query; j++) {
        for (size_t i = 0; i < T_HEAD; i++) { y[i] += p[j] * v[j * T_WIDTH + i]; }
    }
}

static void attend_back(size_t query, const float *q, const float *k, const float *v,
                        const float *p, const float *dy, float *dq, float *dk, float *dv)
{
    const float scale = 1 / sqrtf(T_HEAD);
    float dp[T_TIME], sum = 0;
    for (size_t j = 0; j <= query; j++) {
        dp[j] = dot(dy, v + j * T_WIDTH);
        sum += p[j] * dp[j];
        for (size_t i = 0; i < T_HEAD; i++) { dv[j * T_WIDTH + i] += p[j] * dy[i]; }
    }
    for (size_t j = 0; j <= query; j++) {
        float ds = scale * p[j] * (dp[j] - sum);
        for (size_t i = 0; i < T_HEAD; i++) {
            dq[i] += ds * k[j * T_WIDTH + i];
            dk[j * T_WIDTH + i] += ds * q[i];
        }
    }
}

static float gelu(float x)
{
    return 0.5F * x * (1 + tanhf(GELU_SCALE * (x + GELU_CUBE * x * x * x)));
}

static float gelu_slope(float x)
{
    float t = tanhf(GELU_SCALE * (x + GELU_CUBE * x * x * x));
    return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * GELU_SCALE * (1 + 3 * GELU_CUBE * x * x);
}

/* ----------------------------------------------------------------- blocks */

/* The offset of query t of head h of example b in rows of T_WIDTH, and in the probabilities. */
static size_t row_of(size_t b, size_t h, size_t t)
{
    return (b * T_TIME + t) * T_WIDTH + h * T_HEAD;
}

static size_t weights_of(size_t b, size_t h, size_t t)
{
    return ((b * T_HEADS + h) * T_TIME + t) * T_TIME;
}

static void block_forward(const struct plain *net, const struct plain_block *w,
                          const struct block *at, float *out)
{
    const size_t n = net->tokens, c = T_WIDTH;
    norm(n, at->x, w->gain1, w->bias1, at->norm1, at->mean1, at->inverse1);
    dense(n, c, c, at->norm1, w->q, NULL, at->q);
    dense(n, c, c, at->norm1, w->k, NULL, at->k);
    dense(n, c, c, at->norm1, w->v, NULL, at->v);
    for (size_t i = 0; i < net->batch * T_HEADS * T_TIME; i++) {
        size_t t = i % T_TIME, h = i / T_TIME % T_HEADS, b = i / T_TIME / T_HEADS;
        attend(t, at->q + row_of(b, h, t), at->k + row_of(b, h, 0), at->v + row_of(b, h, 0),
               at->p + weights_of(b, h, t), at->mixed + row_of(b, h, t));
    }
    dense(n, c, c, at->mixed, w->o, NULL, at->middle);
    for (size_t i = 0; i < n * c; i++) { at->middle[i] += at->x[i]; }
    norm(n, at->middle, w->gain2, w->bias2, at->norm2, at->mean2, at->inverse2);
    dense(n, c, T_INNER, at->norm2, w->up, w->up_bias, at->inner);
    for (size_t i = 0; i < n * T_INNER; i++) { at->active[i] = gelu(at->inner[i]); }
    dense(n, T_INNER, c, at->active, w->down, w->down_bias, out);
    for (size_t i = 0; i < n * c; i++) { out[i] += at->middle[i]; }
}

/* net->dx: the gradient of the result, and then that of x. */
static void block_backward(struct plain *net, const struct plain_block *w, const struct block *at,
                           struct plain_block *d)
{
    const size_t n = net->tokens, c = T_WIDTH, size = n * c * sizeof(float);
    float *dx = net->dx, *dy = net->dy;
    memset(net->dinner, 0, n * T_INNER * sizeof(float));
    dense_back(n, T_INNER, c, at->active, w->down, dx, net->dinner, d->down, d->down_bias);
    for (size_t i = 0; i < n * T_INNER; i++) { net->dinner[i] *= gelu_slope(at->inner[i]); }
    memset(dy, 0, size);
    dense_back(n, c, T_INNER, at->norm2, w->up, net->dinner, dy, d->up, d->up_bias);
    norm_back(n, at->middle, w->gain2, at->mean2, at->inverse2, dy, dx, d->gain2, d->bias2);
    memset(dy, 0, size);
    dense_back(n, c, c, at->mixed, w->o, dx, dy, d->o, NULL);
    memset(net->dq, 0, size), memset(net->dk, 0, size), memset(net->dv, 0, size);
    for (size_t i = 0; i < net->batch * T_HEADS * T_TIME; i++) {
        size_t t = i % T_TIME, h = i / T_TIME % T_HEADS, b = i / T_TIME / T_HEADS;
        size_t row = row_of(b, h, t), first = row_of(b, h, 0);
        attend_back(t, at->q + row, at->k + first, at->v + first, at->p + weights_of(b, h, t),
                    dy + row, net->dq + row, net->dk + first, net->dv + first);
    }
    memset(dy, 0, size);
    dense_back(n, c, c, at->norm1, w->q, net->dq, dy, d->q, NULL);
    dense_back(n, c, c, at->norm1, w->k, net->dk, dy, d->k, NULL);
    dense_back(n, c, c, at->norm1, w->v, net->dv, dy, d->v, NULL);
    norm_back(n, at->x, w->gain1, at->mean1, at->inverse1, dy, dx, d->gain1, d->bias1);
}

/* ---------------------------------------------------------------- network */

static float *take(float **next, size_t count)
{
    float *memory = *next;
    *next += count;
    return memory;
}

/* Let all arrays begin behind `next`, and return the end of the last one. */
static float *divide(struct plain *net, float *next)
{
    const size_t n = net->tokens, rows = n * T_WIDTH;
    for (size_t i = 0; i < T_BLOCKS; i++) {
        struct block *at = &net->blocks[i];
        float **const wide[] = {&at->x, &at->norm1, &at->q,      &at->k,
                                &at->v, &at->mixed, &at->middle, &at->norm2};
        float **const numbers[] = {&at->mean1, &at->inverse1, &at->mean2, &at->inverse2};
        for (size_t k = 0; k < sizeof wide / sizeof *wide; k++) { *wide[k] = take(&next, rows); }
        for (size_t k = 0; k < 4; k++) { *numbers[k] = take(&next, n); }
        at->p = take(&next, n * T_HEADS * T_TIME);
        at->inner = take(&next, n * T_INNER);
        at->active = take(&next, n * T_INNER);
    }
    float **const wide[] = {&net->out, &net->norm, &net->dx, &net->dy,
                            &net->dq,  &net->dk,   &net->dv};
    for (size_t k = 0; k < sizeof wide / sizeof *wide; k++) { *wide[k] = take(&next, rows); }
    net->mean = take(&next, n);
    net->inverse = take(&next, n);
    net->p = take(&next, n * T_VOCABULARY);
    net->dinner = take(&next, n * T_INNER);
    return next;
}

struct plain *plain_open(size_t batch)
{
    struct plain *net = calloc(1, sizeof *net);
    if (net == NULL) { return NULL; }
    net->batch = batch;
    net->tokens = batch * T_TIME;
    const size_t blocks = 8 * T_WIDTH + 4 + T_HEADS * T_TIME + 2 * T_INNER;
    const size_t floats = T_BLOCKS * blocks + 7 * T_WIDTH + 2 + T_VOCABULARY + T_INNER;
    net->memory = calloc(net->tokens * floats, sizeof *net->memory);
    if (net->memory == NULL) {
        free(net);
        return NULL;
    }
    const float *end = divide(net, net->memory);
    assert(end == net->memory + net->tokens * floats);
    (void)end;
    return net;
}

void plain_close(struct plain *net)
{
    free(net->memory);
    free(net);
}

static void embed(const struct plain *net, const struct plain_parameters *values,
                  const int32_t *ids, float *x)
{
    for (size_t n = 0; n < net->tokens; n++, x += T_WIDTH) {
        const float *row = values->rows + (size_t)ids[n] * T_WIDTH;
        const float *position = values->positions + n % T_TIME * T_WIDTH;
        for (size_t i = 0; i < T_WIDTH; i++) { x[i] = row[i] + position[i]; }
    }
}

/* The loss, and its gradient in the place of the logits. */
static double loss_of(struct plain *net, const int32_t *next)
{
    double loss = 0;
    for (size_t n = 0; n < net->tokens; n++) {
        float *p = net->p + n * T_VOCABULARY;
        softmax(T_VOCABULARY, p);
        loss -= log((double)p[next[n]]);
        p[next[n]] -= 1;
        for (size_t i = 0; i < T_VOCABULARY; i++) { p[i] /= (float)net->tokens; }
    }
    return loss / (double)net->tokens;
}

double plain_step(struct plain *net, const struct plain_parameters *values, const int32_t *ids,
                  const int32_t *next, struct plain_parameters *gradients)
{
    const size_t n = net->tokens, c = T_WIDTH;
    embed(net, values, ids, net->blocks[0].x);
    for (size_t i = 0; i < T_BLOCKS; i++) {
        float *out = i + 1 < T_BLOCKS ? net->blocks[i + 1].x : net->out;
        block_forward(net, &values->blocks[i], &net->blocks[i], out);
    }
    norm(n, net->out, values->gain, values->bias, net->norm, net->mean, net->inverse);
    dense(n, c, T_VOCABULARY, net->norm, values->head, values->head_bias, net->p);
    const double loss = loss_of(net, next);
    memset(gradients, 0, sizeof *gradients);
    memset(net->dy, 0, n * c * sizeof(float));
    memset(net->dx, 0, n * c * sizeof(float));
    dense_back(n, c, T_VOCABULARY, net->norm, values->head, net->p, net->dy, gradients->head,
               gradients->head_bias);
    norm_back(n, net->out, values->gain, net->mean, net->inverse, net->dy, net->dx, gradients->gain,
              gradients->bias);
    for (size_t i = T_BLOCKS; i-- > 0;) {
        block_backward(net, &values->blocks[i], &net->blocks[i], &gradients->blocks[i]);
    }
    for (size_t t = 0; t < n; t++) {
        float *row = gradients->rows + (size_t)ids[t] * c;
        float *position = gradients->positions + t % T_TIME * c;
        for (size_t i = 0; i < c; i++) {
            row[i] += net->dx[t * c + i];
            position[i] += net->dx[t * c + i];
        }
    }
    return loss;
}
