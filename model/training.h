/*
 * model/training.h: programs of a model: the gradient of a slice, and sums over the test set.
 *
 * All programs and their memory exist before the first run, but for those of several slices
 * (training_joins()). The gradient of a slice is the sum over
 * its examples of d loss / d values, times `scale`. With scale = 1 / (global batch), summing slices
 * over the tree of common/cluster/slices.h gives the mean gradient. Equal inputs give equal bits
 * with equal kernels (A4).
 *
 * A run reads the examples from the fields of its program: take them by training_fields(), fill
 * them, run.
 *
 * Threads: a training belongs to one thread at a time. Nothing blocks; only training_open() and
 * training_joins() allocate.
 */
#ifndef MODEL_TRAINING_H
#define MODEL_TRAINING_H

#include "model/evaluation_sum.h"
#include "model/model.h"
#include "model/slice_rows.h"
#include "tanist/program.h"

enum { TRAINING_SIZES_MAX = 2, TRAINING_JOINED_MAX = 8 };

struct training_config {
    const struct model *model; /* Outlives the training. */
    const char *kernels;       /* As in struct tn_program_options. */
    /* The kernels for each GPU that devices of the model name, and for the CPU
     * (graph/placed_program.h). Outlives the training. NULL: `kernels` compute all operations. */
    const char *const *placed;
    /* Numbers of examples of the runs, by mode; 0: none. */
    uint32_t gradient[TRAINING_SIZES_MAX], evaluation[TRAINING_SIZES_MAX];
    /* The rows of the model's tables at the time of a run. Outlives the training; NULL: there are
     * no tables, or nothing is run. */
    const struct row_source *rows;
};

/* Memory for examples, row by row: inputs [count][inputs], as floats or as bytes, labels
 * [count][labels_each], as bytes or wide, targets [count][targets_each], keys of tables
 * [count][keys_each]. NULL: the model does not read this field. */
struct fields {
    float *inputs;
    uint8_t *input_bytes;
    uint8_t *labels;
    int32_t *wide_labels;
    float *targets;
    int64_t *keys;
    uint32_t labels_each; /* 1, or one for each element of a sequence. */
    uint32_t targets_each;
    uint32_t keys_each;
};

/* The examples of one run are at positions [first, first + count) of the batch of `step`. */
struct slice_run {
    const float *values;
    uint64_t version; /* As in struct tn_run. */
    uint64_t seed, step;
    uint32_t first, count; /* `count` is 0 or one of the sizes for gradients. */
    uint32_t slices;       /* Several slices of equal sizes at once, `count` examples in all, for
                            * which training_joins() was true; their tree is that of A5. 0: one. */
    float scale;
    float *gradient;          /* Out; unused with `sums`. */
    struct device_sums *sums; /* Out: the gradient becomes vector `vector`. NULL: `gradient`. */
    uint32_t vector;
    struct row_sums *row_sums; /* Out: the gradients of rows. NULL: the model has no tables. */
    double loss_sum;           /* Out: the sum of the losses of the examples, not scaled. */
    /* As in struct tn_run. */
    void (*became_final)(void *user, uint64_t first);
    void *user;
};

struct training;
struct device_sums; /* graph/device_sums.h */

/*
 *   TN_EINVAL  a field of the model is unknown or has another type; the model cannot be trained
 *   TN_ENOENT  no kernels have this name, or their library is not installed
 *   TN_ENOMEM  out of memory; the error has the number of bytes
 */
MUST_CHECK enum tn_status training_open(const struct training_config *config, struct training **out,
                                        struct error *error);
void training_close(struct training *training); /* NULL is allowed. */

/* The fields of the program for `examples`, one of the sizes of `mode`. */
struct fields training_fields(const struct training *training, enum tn_mode mode,
                              uint32_t examples);

/* Whether the gradients of `slices` slices of `examples` each can be computed in one run, with the
 * bits of their tree (graph/joined_slices.h). Compiles a program when these numbers come for the
 * first time; false for all numbers but the first TRAINING_JOINED_MAX, and without memory. */
bool training_joins(struct training *training, uint32_t examples, uint32_t slices);
/* The fields of that program, and the loss_sum of one slice of its last run. */
struct fields training_joined_fields(const struct training *training, uint32_t examples,
                                     uint32_t slices);
double training_joined_loss(const struct training *training, uint32_t examples, uint32_t slices,
                            uint32_t slice);

/* The arithmetic operations of a gradient of the first size; 0: the training has none. */
double training_flops(const struct training *training);

/* Whether the model has a metric "accuracy". */
bool training_is_classifier(const struct training *training);

/* The names of the model's other metrics, in the order of tn_metric(), at most METRICS_OWN_MAX.
 * NULL: `index` is behind the last one. */
const char *training_metric(const struct training *training, uint32_t index);

/* TN_EINVAL: with TANIST_CHECK_NUMERICS=1, the first value that is not finite. */
MUST_CHECK enum tn_status training_gradient(struct training *training, struct slice_run *run,
                                            struct error *error);

/* Sums in the memory of the GPU of these programs (graph/device_sums.h), for runs with `sums`,
 * whose `became_final` is NULL. `*out` is NULL with programs on the CPU. */
MUST_CHECK enum tn_status training_open_sums(const struct training *training, uint32_t vectors,
                                             struct device_sums **out, struct error *error);

/* While a GPU computes the next gradient of `examples`, call `fill` once to fill their fields for
 * the gradient after it (graph/next_fields.h), before which training_use_next() is called. With
 * CPUs or tables `fill` is not called. */
void training_fill_next(struct training *training, uint32_t examples, bool (*fill)(void *user),
                        void *user);
void training_use_next(struct training *training, uint32_t examples);

/* Name the rows of tables that a run of `examples` would ask for; the keys are in its fields.
 * Errors as slice_rows_list(). */
MUST_CHECK enum tn_status training_list_rows(struct training *training, enum tn_mode mode,
                                             uint32_t examples, const struct row_sink *sink,
                                             struct error *error);

/* The value that the model names `name`, of the last evaluation of `examples`; `data` is NULL: it
 * has none. */
struct tn_view training_output(const struct training *training, uint32_t examples,
                               const char *name);

/* Add the examples in the fields of an evaluation of `examples`. Errors as training_gradient(). */
MUST_CHECK enum tn_status training_evaluate(struct training *training, const float *values,
                                            uint32_t examples, struct evaluation_sum *add_to,
                                            struct error *error);

#endif
