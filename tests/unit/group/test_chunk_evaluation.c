/* group/chunk_evaluation.h: two members evaluate the test set chunk by chunk, with the results of
 * one program. */
#include "group/chunk_evaluation.h"

#include "group/examples.h"
#include "tests/unit/group/group_job.h"

enum { CHUNK = 8, EXAMPLES = 23, CHUNKS = 3, GENERATION = 2, STEP = 5, PENDING_MAX = 64 };

/* A value on its way to another member. */
struct pending {
    uint32_t to, edge;
    struct schedule_label label;
    struct buffer *value;
};

struct scene {
    struct job job;
    struct model *model;
    struct dataset *train, *test;
    struct group_examples examples;
    struct training_cut cut;
    struct evaluation_cut evaluation;
    struct buffer_pool *pool;
    struct chunk_evaluation *members[MEMBERS];
    float *values[MEMBERS];
    struct pending pending[PENDING_MAX];
    uint32_t pending_count;
};

static enum tn_status fill(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error)
{
    const struct scene *scene = ctx;
    const uint32_t count = (uint32_t)view.shape.dims[0];
    return group_examples_test(&scene->examples, (uint64_t)label->slice * CHUNK, count, field, view,
                               error);
}

static void keep(void *ctx, uint32_t to, const struct schedule_label *label, uint32_t edge,
                 struct buffer *value)
{
    struct scene *scene = ctx;
    assert_true(scene->pending_count < PENDING_MAX);
    scene->pending[scene->pending_count++] =
        (struct pending){to, edge, *label, buffer_retain(value)};
}

/* Values by position in the model, so that each member has its own part of one vector. */
static void place_values(struct scene *scene)
{
    for (uint32_t m = 0; m < MEMBERS; m++) {
        scene->values[m] = calloc(scene->cut.floats[m] + 1, sizeof(float));
        assert_non_null(scene->values[m]);
    }
    for (uint32_t i = 0; i < scene->cut.variable_count; i++) {
        const struct cut_variable *variable = &scene->cut.variables[i];
        for (uint64_t k = 0; k < variable->count; k++) {
            scene->values[variable->task][variable->task_offset + k] =
                sinf((float)(variable->offset + k));
        }
    }
}

static void open_scene(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    group_job_init(&scene->job);
    scene->model = group_job_model(&scene->job);
    assert_int_equal(dataset_open(&scene->job, DATASET_TRAIN, &scene->train, NULL), TN_OK);
    assert_int_equal(dataset_open(&scene->job, DATASET_TEST, &scene->test, NULL), TN_OK);
    assert_int_equal(
        group_examples_open(&scene->examples, &scene->job, scene->train, scene->test, NULL), TN_OK);
    scene->pool = buffer_pool_create(0);
    assert_int_equal(training_cut_create(scene->model->graph, MEMBERS, &scene->cut, NULL), TN_OK);
    assert_int_equal(evaluation_cut_create(&scene->cut, &scene->evaluation, NULL), TN_OK);
    place_values(scene);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        const struct chunk_evaluation_config config = {
            .cut = &scene->cut,
            .evaluation = &scene->evaluation,
            .task = m,
            .examples = EXAMPLES,
            .chunk = CHUNK,
            .kernels = "portable",
            .pool = scene->pool,
            .fill = fill,
            .send = keep,
            .ctx = scene,
        };
        assert_int_equal(chunk_evaluation_create(&config, &scene->members[m], NULL), TN_OK);
    }
}

static void drop_pending(struct scene *scene)
{
    for (uint32_t i = 0; i < scene->pending_count; i++) { buffer_release(scene->pending[i].value); }
    scene->pending_count = 0;
}

static void close_scene(struct scene *scene)
{
    drop_pending(scene);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        chunk_evaluation_destroy(scene->members[m]);
        free(scene->values[m]);
    }
    evaluation_cut_free(&scene->evaluation);
    training_cut_free(&scene->cut);
    buffer_pool_destroy(scene->pool);
    group_examples_close(&scene->examples);
    dataset_close(scene->train);
    dataset_close(scene->test);
    model_close(scene->model);
}

static struct schedule_label label_of(uint32_t chunk)
{
    return (struct schedule_label){GENERATION, STEP, chunk};
}

static bool order(struct scene *scene, uint32_t member, uint32_t chunk)
{
    const struct schedule_label label = label_of(chunk);
    return chunk_evaluation_order(scene->members[member], &label, scene->values[member], 1);
}

/* Deliver all values until nothing moves. Returns whether the head has its results. */
static bool settle(struct scene *scene)
{
    bool head_done = false, done;
    for (uint32_t m = 0; m < MEMBERS; m++) {
        assert_int_equal(chunk_evaluation_advance(scene->members[m], &done, NULL), TN_OK);
        head_done = head_done || (done && m == 0);
    }
    while (scene->pending_count > 0) {
        const struct pending next = scene->pending[0];
        memmove(scene->pending, scene->pending + 1, --scene->pending_count * sizeof next);
        struct chunk_evaluation *to = scene->members[next.to];
        assert_int_equal(chunk_evaluation_expects(to, next.label.slice, next.edge),
                         next.value->size);
        assert_true(chunk_evaluation_arrived(to, &next.label, next.edge, next.value));
        buffer_release(next.value);
        assert_int_equal(chunk_evaluation_advance(to, &done, NULL), TN_OK);
        head_done = head_done || (done && next.to == 0);
    }
    return head_done;
}

/* The loss of a chunk by one program with all values. */
static float expected_loss(struct scene *scene, uint32_t chunk, uint32_t count)
{
    float *values = calloc(scene->model->table.parameter_count, sizeof *values);
    struct tn_program *program = NULL;
    struct tn_error text;
    assert_non_null(values);
    for (uint64_t i = 0; i < scene->model->table.parameter_count; i++) {
        values[i] = sinf((float)i);
    }
    const struct tn_program_options options = {.struct_size = sizeof options,
                                               .mode = TN_EVALUATE,
                                               .examples = count,
                                               .kernels = "portable"};
    assert_int_equal(tn_program_create(scene->model->graph, &options, &program, &text), TN_OK);
    for (uint32_t i = 0; i < 2; i++) {
        const char *field = i == 0 ? "inputs" : "labels";
        assert_int_equal(group_examples_test(&scene->examples, (uint64_t)chunk * CHUNK, count,
                                             field, tn_program_field(program, field), NULL),
                         TN_OK);
    }
    struct tn_run run = {.struct_size = sizeof run, .values = values, .version = 1, .scale = 1};
    assert_int_equal(tn_program_run(program, &run, &text), TN_OK);
    tn_program_destroy(program);
    free(values);
    return (float)run.loss_sum;
}

static float loss_of(const struct scene *scene, uint32_t count)
{
    const struct cut_result *result = &scene->evaluation.results[0];
    assert_int_equal(result->kind, MARK_LOSS);
    const struct tn_view view = chunk_evaluation_result(scene->members[0], result);
    assert_int_equal(view.shape.dims[0], count);
    double sum = 0;
    for (uint32_t e = 0; e < count; e++) { sum += (double)((const float *)view.data)[e]; }
    return (float)sum;
}

static void check_loss(struct scene *scene, uint32_t chunk, uint32_t count)
{
    const float expected = expected_loss(scene, chunk, count), found = loss_of(scene, count);
    assert_memory_equal(&expected, &found, sizeof expected);
}

/* Two whole chunks and a shorter one; each has the loss of one program. */
static void chunks_have_the_results_of_one_program(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene);
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        const uint32_t count = chunk_evaluation_examples(scene.members[0], chunk);
        assert_int_equal(count, chunk + 1 < CHUNKS ? CHUNK : EXAMPLES % CHUNK);
        assert_true(order(&scene, 0, chunk) && order(&scene, 1, chunk));
        assert_true(settle(&scene));
        check_loss(&scene, chunk, count);
    }
    assert_int_equal(chunk_evaluation_examples(scene.members[0], CHUNKS), 0);
    assert_false(order(&scene, 0, CHUNKS));
    close_scene(&scene);
}

/* Values that arrive before the order are kept for it; those of another chunk are not valid. */
static void values_may_come_before_the_order(void **state)
{
    (void)state;
    struct scene scene;
    bool done;
    open_scene(&scene);
    assert_true(order(&scene, 0, 1));
    assert_false(order(&scene, 0, 1));
    assert_int_equal(chunk_evaluation_advance(scene.members[0], &done, NULL), TN_OK);
    assert_false(done);
    assert_true(scene.pending_count > 0);
    assert_false(settle(&scene));
    assert_false(order(&scene, 1, 0));
    assert_true(order(&scene, 1, 1));
    assert_true(settle(&scene));
    close_scene(&scene);
}

/* After a reset, another chunk begins from nothing. */
static void a_reset_forgets_the_chunk(void **state)
{
    (void)state;
    struct scene scene;
    bool done;
    open_scene(&scene);
    assert_true(order(&scene, 0, 0));
    assert_int_equal(chunk_evaluation_advance(scene.members[0], &done, NULL), TN_OK);
    assert_false(settle(&scene)); /* Member 1 has the values of chunk 0, but no order. */
    for (uint32_t m = 0; m < MEMBERS; m++) { chunk_evaluation_reset(scene.members[m]); }
    assert_true(order(&scene, 0, 2) && order(&scene, 1, 2));
    assert_true(settle(&scene));
    check_loss(&scene, 2, EXAMPLES % CHUNK);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_have_the_results_of_one_program),
        cmocka_unit_test(values_may_come_before_the_order),
        cmocka_unit_test(a_reset_forgets_the_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
