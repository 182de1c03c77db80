/*
 * kernels/sparse/update.h: optimizers of table rows: functions that apply the gradient of one row
 * to its values and state. Rows that a step does not touch keep both.
 *
 * As those of kernels/optimizer/update.h, they have the same bits on every processor: IEEE 754
 * operations in the order written below, without fused multiply-adds. g is the gradient, limited to
 * [-limit, limit], a' the new value of a; state begins as zeros. The gradient, velocity', m' and v'
 * count as 0 if they are very small (common/base/small_numbers.h):
 *
 *   sgd           values' = values - rate g
 *   momentum      velocity' = momentum velocity + g;  values' = values - rate velocity'
 *   adagrad       squares' = squares + g g;  values' = values - rate g / (sqrt(squares') + epsilon)
 *   row_adagrad   square' = square + (sum of g g in the order of columns) / width;
 *                 values' = values - rate g / (sqrt(square') + epsilon): one number of state for a
 *                 row (as in DLRM: Naumov et al. 2019, and in FBGEMM)
 *   lazy_adam     m' = beta1 m + (1 - beta1) g;  v' = beta2 v + (1 - beta2) g g;
 *                 values' = values - rate m' / (sqrt(v') root + epsilon), where rate and root have
 *                 the correction of the bias by the step of the run, not by the row's updates
 *   ftrl          n' = n + g g;  z' = (z + g) - ((sqrt(n') - sqrt(n)) / rate) values;
 *                 values' = 0 if |z'| <= l1, else
 *                 (sign(z') l1 - z') / ((beta + sqrt(n')) / rate + l2)
 *                 (McMahan et al. 2013, algorithm 1, alpha is the rate); a rate below FLT_MIN, such
 *                 as 0 at the end of a schedule, changes neither values nor state
 *
 * The first three, and lazy_adam of a row that every step touches, have the bits of the dense
 * optimizers. A NaN stays a NaN.
 */
#ifndef KERNELS_SPARSE_UPDATE_H
#define KERNELS_SPARSE_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

enum sparse_kind {
    SPARSE_SGD,
    SPARSE_MOMENTUM,
    SPARSE_ADAGRAD,
    SPARSE_ROW_ADAGRAD,
    SPARSE_LAZY_ADAM,
    SPARSE_FTRL,
    SPARSE_KINDS,
};

/* NULL-ended: "sgd", "momentum", "adagrad", "row_adagrad", "lazy_adam", "ftrl". */
extern const char *const sparse_kind_names[SPARSE_KINDS + 1];

/* The numbers of the state of a row of `width` values. */
uint32_t sparse_state(enum sparse_kind kind, uint32_t width);

/* The constants of one step. */
struct sparse_constants {
    float rate;  /* Adam's has the correction of the bias in it. */
    float limit; /* INFINITY: none. */
    float momentum, beta1, one_minus_beta1, beta2, one_minus_beta2, root, epsilon;
    float l1, l2, beta; /* FTRL. */
};

struct sparse_optimizer {
    enum sparse_kind kind;
    double momentum, beta1, beta2, epsilon;
    double l1, l2, beta;
    double clip_value; /* 0: none. */
};

/* The constants of the update that makes step + 1, with this learning rate, which is at least 0. */
struct sparse_constants sparse_constants_of(const struct sparse_optimizer *optimizer,
                                            double learning_rate, uint64_t step);

/* out from `in`, which are values[width] and state[] behind them, and which do not overlap. */
void sparse_update(enum sparse_kind kind, uint32_t width, const struct sparse_constants *constants,
                   const float *gradient, const float *in, float *out);

#endif
