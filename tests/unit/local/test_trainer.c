/* Training in one place has the bits of the ps, whatever nodes of the tree were pushed. */
#include "local/trainer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ps/shard.h"
#include "tests/unit/ps/pushed_gradient.h"

enum { STEPS = 12, CHUNK_BYTES = 64 };

static struct job job;
static struct model *model;
static struct dataset *train;
static struct trainer trainer;

static void set(const char *assignment)
{
    assert_int_equal(job_set(&job, assignment, NULL), TN_OK);
}

static void open_trainer(struct trainer *out)
{
    const struct compute_config config = {.job = &job,
                                          .model = model,
                                          .programs = "reference",
                                          .kernels = kernels_reference(),
                                          .train = train};
    assert_int_equal(trainer_open(out, &config, NULL), TN_OK);
}

static int setup(void **state)
{
    (void)state;
    job_init(&job);
    set("data.type=synthetic");
    set("data.examples=300");
    set("model.type=softmax");
    set("model.inputs=6");
    set("model.outputs=3");
    set("train.batch=20");
    set("train.slices=5");
    set("train.optimizer=adam");
    set("train.learning_rate=0.05");
    job.model.hidden_count = 0;
    assert_int_equal(model_open(&job, &model, NULL), TN_OK);
    assert_int_equal(dataset_open(&job, DATASET_TRAIN, &train, NULL), TN_OK);
    open_trainer(&trainer);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    trainer_close(&trainer);
    dataset_close(train);
    model_close(model);
    return 0;
}

static void train_to(struct trainer *of, uint64_t step)
{
    while (of->step < step) { assert_int_equal(trainer_step(of, NULL), TN_OK); }
}

/* A ps that owns the parameters from `first` on, fed with the gradients of single slices. */
static void train_shard(uint64_t first, uint64_t count, float *out)
{
    struct shard shard;
    struct compute *compute = &trainer.compute;
    const struct shard_config config = {.kernels = kernels_reference(),
                                        .optimizer = optimizer_of_job(&job, &model->table),
                                        .pool = trainer.pool,
                                        .first = first,
                                        .count = count,
                                        .slices = job.train.slices,
                                        .chunk_bytes = CHUNK_BYTES};
    struct slice_node parts[SLICES_MAX];
    assert_int_equal(shard_open(&shard, &config, NULL), TN_OK);
    assert_true(shard_begin_load(&shard));
    shard_load_initial(&shard, &model->table, job.seed);
    assert_true(shard_adopt(&shard, 0));
    for (uint64_t step = 0; step < STEPS; step++) {
        train_to(&trainer, step);
        for (uint32_t v = 0; v < job.train.slices; v++) {
            parts[v] = (struct slice_node){v, 1};
            const float *sum =
                compute_node(compute, trainer_values(&trainer), step, parts[v], NULL);
            shard_hold(&shard, v, pushed_gradient(trainer.pool, sum + first, count, CHUNK_BYTES));
        }
        assert_true(shard_apply(&shard, parts, job.train.slices));
    }
    memcpy(out, shard.current[0]->data, count * sizeof(float));
    shard_close(&shard);
}

/* Two ps that sum slices themselves reach the same bits. */
static void test_bits_are_those_of_ps(void **state)
{
    (void)state;
    const uint64_t parameters = trainer.parameters, half = parameters / 2;
    float *values = calloc(parameters, sizeof *values);
    train_shard(0, half, values);
    trainer_close(&trainer);
    open_trainer(&trainer);
    train_shard(half, parameters - half, values + half);
    train_to(&trainer, STEPS);
    assert_memory_equal(values, trainer_values(&trainer), parameters * sizeof *values);
    free(values);
}

/* A reference on the arrays of a step keeps them unchanged, and training continues from them. */
static void test_arrays_of_a_step_stay(void **state)
{
    (void)state;
    struct buffer *kept[OPTIMIZER_ARRAYS_MAX] = {NULL};
    struct trainer other;
    train_to(&trainer, 5);
    const float first = trainer_values(&trainer)[0];
    for (uint32_t a = 0; a < trainer.arrays; a++) { kept[a] = buffer_retain(trainer.current[a]); }
    train_to(&trainer, STEPS);
    assert_true(trainer_values(&trainer)[0] != first);
    assert_true(((const float *)kept[0]->data)[0] == first);

    struct buffer *incoming[OPTIMIZER_ARRAYS_MAX];
    open_trainer(&other);
    assert_true(trainer_begin_load(&other, incoming));
    for (uint32_t a = 0; a < other.arrays; a++) {
        memcpy(incoming[a]->data, kept[a]->data, other.parameters * sizeof(float));
    }
    trainer_adopt(&other, incoming, 5);
    assert_null(incoming[0]);
    train_to(&other, STEPS);
    assert_memory_equal(trainer_values(&other), trainer_values(&trainer),
                        other.parameters * sizeof(float));
    trainer_release_arrays(kept);
    trainer_close(&other);
}

/* An evaluation is of the present step; without a test set it has the digest alone. */
static void test_evaluation_is_of_the_step(void **state)
{
    (void)state;
    train_to(&trainer, 3);
    const struct evaluation evaluation = trainer_evaluate(&trainer, NULL);
    const struct digest digest =
        digest_of(trainer_values(&trainer), trainer.parameters * sizeof(float));
    assert_int_equal(evaluation.step, 3);
    assert_true(evaluation.digest[0] == digest.low && evaluation.digest[1] == digest.high);
    assert_true(evaluation.train_loss > 0);
}

/* A trainer that could not be opened owns nothing and may be closed. */
static void test_failed_open_owns_nothing(void **state)
{
    (void)state;
    struct trainer other;
    struct compute_config config = trainer.config;
    config.programs = "none";
    assert_int_equal(trainer_open(&other, &config, NULL), TN_ENOENT);
    trainer_close(&other);
    assert_null(other.pool);
}

/* A gradient that is not finite is refused: the parameters stay as they were. */
static void test_divergence_changes_nothing(void **state)
{
    (void)state;
    struct error error;
    train_to(&trainer, 2);
    const float before = trainer_values(&trainer)[1];
    ((float *)trainer.current[0]->data)[0] = INFINITY;
    assert_int_equal(trainer_step(&trainer, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "step 2, slice 0: "));
    assert_int_equal(trainer.step, 2);
    assert_true(trainer_values(&trainer)[1] == before);
}

/* Steps by three threads and by one, in turns and as the choice wants it, have the same bits, with
 * norms of variables and of the whole gradient. */
static void test_threads_and_one_in_turns(void **state)
{
    (void)state;
    struct trainer several;
    struct compute_config config = trainer.config;
    set("train.optimizer=lars");
    set("train.clip_norm=0.5");
    trainer_close(&trainer);
    open_trainer(&trainer);
    config.threads = 3;
    assert_int_equal(trainer_open(&several, &config, NULL), TN_OK);
    assert_true(several.choice.is_fixed); /* The number of threads is given. */
    several.choice = thread_choice_begin(false);
    for (uint64_t step = 0; step < 200; step++) {
        if (step >= 100) { several.choice.all = step % 3 == 0; }
        train_to(&several, step + 1);
    }
    train_to(&trainer, 200);
    assert_true(several.choice.has_tried);
    assert_memory_equal(trainer_values(&several), trainer_values(&trainer),
                        trainer.parameters * sizeof(float));
    trainer_close(&several);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bits_are_those_of_ps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arrays_of_a_step_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_evaluation_is_of_the_step, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failed_open_owns_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_divergence_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_and_one_in_turns, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
