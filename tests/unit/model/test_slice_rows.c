/* model/slice_rows.h: rows of tables and the sums of their gradients, against a dense variable. */
#include "model/slice_rows.h"

#include <math.h>

#include "common/base/random.h"
#include "graph/lookups.h"
#include "tests/unit/support/graphs.h"

enum { EXAMPLES = 6, KEYS = 4, IDS = 5, WIDTH = 3, BAG = 3 };

struct scene {
    struct model *model;
    struct tn_program *program;
    struct slice_rows *rows;
    struct row_sums sums;
    float gradient[IDS * WIDTH + 1];
    uint32_t reads;
    uint64_t asked[EXAMPLES * KEYS], asked_count; /* In the last read. */
};

/* Element `c` of the row of a key. */
static float element(uint64_t key, uint32_t c)
{
    return random_unit_at(4, key, c) - 0.5F;
}

static void read_rows(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count, float *out)
{
    struct scene *scene = ctx;
    assert_int_equal(table, 0);
    assert_true(count <= EXAMPLES * KEYS);
    scene->reads++;
    scene->asked_count = count;
    memcpy(scene->asked, keys, count * sizeof *keys);
    for (uint64_t i = 0; i < count * WIDTH; i++) {
        out[i] = element(keys[i / WIDTH], (uint32_t)(i % WIDTH));
    }
}

/* The loss is that of a bag of three keys times the row of another one, through exp(). */
static void add_loss(struct tn_graph *graph, tn_tensor bag, tn_tensor one)
{
    const uint32_t columns = 1;
    tn_tensor scale = tn_variable(graph, "scale", TN_SHAPE(1),
                                  &(struct tn_variable_options){.init = TN_INIT_ONES});
    tn_tensor product = tn_multiply(graph, tn_exp(graph, tn_multiply(graph, bag, one)), scale);
    tn_loss(graph, tn_sum(graph, product, &columns, 1), 1);
}

static struct tn_graph *sparse_graph(uint64_t rows, enum tn_pooling pooling)
{
    struct tn_graph *graph = new_graph();
    const struct tn_table_options options = {.rows = rows};
    const tn_table table = tn_table_create(graph, "items", WIDTH, &options);
    tn_tensor keys = tn_placeholder(graph, "keys", TN_INT64, TN_SHAPE(TN_BATCH, KEYS));
    add_loss(graph, tn_lookup(graph, table, keys, 0, BAG, pooling),
             tn_lookup(graph, table, keys, BAG, 1, TN_POOL_SUM));
    return graph;
}

/* The same rows as a variable. */
static struct tn_graph *dense_graph(void)
{
    struct tn_graph *graph = new_graph();
    float values[IDS * WIDTH];
    const uint32_t columns = 1;
    for (uint32_t i = 0; i < IDS * WIDTH; i++) { values[i] = element(i / WIDTH, i % WIDTH); }
    const struct tn_variable_options options = {.init = TN_INIT_VALUES, .values = values};
    tn_tensor rows = tn_variable(graph, "items", TN_SHAPE(IDS, WIDTH), &options);
    tn_tensor bag = tn_placeholder(graph, "bag", TN_INT64, TN_SHAPE(TN_BATCH, BAG));
    tn_tensor one = tn_placeholder(graph, "one", TN_INT64, TN_SHAPE(TN_BATCH));
    add_loss(graph, tn_sum(graph, tn_gather(graph, rows, bag), &columns, 1),
             tn_gather(graph, rows, one));
    return graph;
}

static struct tn_program *program_of(const struct tn_graph *graph, uint32_t examples)
{
    struct tn_program *program = NULL;
    const struct tn_program_options options = {
        .struct_size = sizeof options, .mode = TN_TRAIN, .examples = examples};
    struct tn_error error;
    if (tn_program_create(graph, &options, &program, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    return program;
}

static void open_scene(struct scene *scene, struct tn_graph *graph, uint32_t examples)
{
    *scene = (struct scene){0};
    assert_int_equal(model_open_graph(graph, &scene->model, NULL), TN_OK);
    scene->program = program_of(scene->model->graph, examples);
    assert_int_equal(slice_rows_open(scene->model, examples, &scene->rows, NULL), TN_OK);
    assert_int_equal(row_sums_open(&scene->model->table, &scene->sums, NULL), TN_OK);
}

static void close_scene(struct scene *scene)
{
    row_sums_close(&scene->sums);
    slice_rows_close(scene->rows);
    tn_program_destroy(scene->program);
    model_close(scene->model);
}

/* Keys of place `place` of an example. */
static int64_t key_of(uint32_t example, uint32_t place)
{
    return (int64_t)((example * 3 + place * place + 1) % IDS);
}

static void put_keys(const struct scene *scene, uint32_t first, uint32_t examples)
{
    int64_t *keys = tn_program_field(scene->program, "keys").data;
    for (uint32_t i = 0; i < examples * KEYS; i++) { keys[i] = key_of(first + i / KEYS, i % KEYS); }
}

static double run(struct scene *scene)
{
    const float scale = 1;
    const struct row_source source = {.read = read_rows, .ctx = scene};
    struct tn_run run = {
        .struct_size = sizeof run, .values = &scale, .scale = 1, .gradient = scene->gradient};
    assert_int_equal(slice_rows_fill(scene->rows, scene->program, &source, NULL), TN_OK);
    assert_int_equal(tn_program_run(scene->program, &run, NULL), TN_OK);
    assert_int_equal(slice_rows_collect(scene->rows, scene->program, &scene->sums, NULL), TN_OK);
    return run.loss_sum;
}

/* Loss, rows and gradients are those of a variable that holds all rows. */
static void rows_are_those_of_a_variable(void **state)
{
    (void)state;
    struct scene scene;
    float values[IDS * WIDTH + 1], gradient[IDS * WIDTH + 1];
    open_scene(&scene, sparse_graph(0, TN_POOL_SUM), EXAMPLES);
    put_keys(&scene, 0, EXAMPLES);
    const double loss = run(&scene);
    struct tn_graph *graph = dense_graph();
    struct tn_program *dense = program_of(graph, EXAMPLES);
    int64_t *bag = tn_program_field(dense, "bag").data, *one = tn_program_field(dense, "one").data;
    for (uint32_t e = 0; e < EXAMPLES; e++) {
        for (uint32_t k = 0; k < BAG; k++) { bag[e * BAG + k] = key_of(e, k); }
        one[e] = key_of(e, BAG);
    }
    tn_program_initialize(dense, 1, values);
    struct tn_run wanted = {
        .struct_size = sizeof wanted, .values = values, .scale = 1, .gradient = gradient};
    assert_int_equal(tn_program_run(dense, &wanted, NULL), TN_OK);
    assert_true(loss == wanted.loss_sum);
    const struct row_sum *sum = &scene.sums.tables[0];
    assert_int_equal(sum->count, IDS);
    for (uint32_t i = 0; i < IDS * WIDTH; i++) {
        assert_int_equal(sum->keys[i / WIDTH], i / WIDTH);
        assert_true(fabsf(sum->values[i] - gradient[i]) <= 1e-5F * (1 + fabsf(gradient[i])));
    }
    tn_program_destroy(dense);
    tn_graph_destroy(graph);
    close_scene(&scene);
}

/* The source is asked once, for ascending keys without repetition. */
static void rows_are_asked_for_once(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, sparse_graph(0, TN_POOL_SUM), EXAMPLES);
    put_keys(&scene, 0, EXAMPLES);
    (void)run(&scene);
    assert_int_equal(scene.reads, 1);
    assert_int_equal(scene.asked_count, IDS);
    for (uint64_t i = 0; i < scene.asked_count; i++) { assert_int_equal(scene.asked[i], i); }
    close_scene(&scene);
}

/* Padding has no row, and the mean is that of the other keys. */
static void padding_takes_no_part(void **state)
{
    (void)state;
    struct scene scene;
    open_scene(&scene, sparse_graph(0, TN_POOL_MEAN), 1);
    int64_t *keys = tn_program_field(scene.program, "keys").data;
    const int64_t wanted[KEYS] = {7, TN_KEY_NONE, 9, 7};
    memcpy(keys, wanted, sizeof wanted);
    const double loss = run(&scene);
    double expected = 0;
    for (uint32_t c = 0; c < WIDTH; c++) {
        const float mean = (element(7, c) + element(9, c)) / 2;
        expected += exp((double)(mean * element(7, c)));
    }
    assert_true(fabs(loss - expected) < 1e-5);
    assert_int_equal(scene.sums.tables[0].count, 2);
    assert_int_equal(scene.sums.tables[0].keys[0], 7);
    assert_int_equal(scene.sums.tables[0].keys[1], 9);
    for (uint32_t k = 0; k < KEYS; k++) { keys[k] = TN_KEY_NONE; }
    (void)run(&scene);
    assert_int_equal(scene.reads, 1);
    assert_int_equal(scene.sums.tables[0].count, 0);
    close_scene(&scene);
}

/* A table of two rows has no third one, for any keys. */
static void keys_are_hashed_into_rows(void **state)
{
    (void)state;
    struct scene scene;
    bool seen[2] = {false};
    open_scene(&scene, sparse_graph(2, TN_POOL_SUM), EXAMPLES);
    int64_t *keys = tn_program_field(scene.program, "keys").data;
    for (int64_t i = 0; i < EXAMPLES * KEYS; i++) { keys[i] = INT64_MAX - i; }
    (void)run(&scene);
    for (uint64_t i = 0; i < scene.asked_count; i++) {
        assert_true(scene.asked[i] < 2);
        seen[scene.asked[i]] = true;
    }
    assert_true(seen[0] && seen[1]);
    close_scene(&scene);
}

static void negative_keys_are_refused(void **state)
{
    (void)state;
    struct scene scene;
    struct error error;
    const struct row_source source = {.read = read_rows, .ctx = &scene};
    open_scene(&scene, sparse_graph(0, TN_POOL_SUM), 1);
    ((int64_t *)tn_program_field(scene.program, "keys").data)[2] = -2;
    assert_int_equal(slice_rows_fill(scene.rows, scene.program, &source, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "table 'items': a key is -2"));
    close_scene(&scene);
}

static uint32_t bits_of(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* A row that one side lacks keeps its bits: -0.0 stays. */
static void absent_rows_add_nothing(void **state)
{
    (void)state;
    struct scene scene;
    struct row_sums right = {0}, spare = {0};
    open_scene(&scene, sparse_graph(0, TN_POOL_SUM), 1);
    assert_int_equal(row_sums_open(&scene.model->table, &right, NULL), TN_OK);
    assert_int_equal(row_sums_open(&scene.model->table, &spare, NULL), TN_OK);
    struct row_sum *a = &scene.sums.tables[0], *b = &right.tables[0];
    assert_int_equal(row_sum_reserve(a, 2, NULL), TN_OK);
    assert_int_equal(row_sum_reserve(b, 2, NULL), TN_OK);
    const uint64_t left_keys[] = {1, 5}, right_keys[] = {5, 8};
    memcpy(a->keys, left_keys, sizeof left_keys);
    memcpy(b->keys, right_keys, sizeof right_keys);
    for (uint32_t i = 0; i < 2 * WIDTH; i++) {
        a->values[i] = i < WIDTH ? -0.0F : 1;
        b->values[i] = i < WIDTH ? 2 : -0.0F;
    }
    a->count = b->count = 2;
    assert_int_equal(row_sums_add(&scene.sums, &right, &spare, NULL), TN_OK);
    a = &scene.sums.tables[0];
    assert_int_equal(a->count, 3);
    assert_int_equal(bits_of(a->values[0]), bits_of(-0.0F));
    assert_true(a->values[WIDTH] == 3);
    assert_int_equal(bits_of(a->values[2 * WIDTH]), bits_of(-0.0F));
    assert_true(row_sums_are_finite(&scene.sums));
    a->values[1] = NAN;
    assert_false(row_sums_are_finite(&scene.sums));
    row_sums_close(&right);
    row_sums_close(&spare);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_a_variable), cmocka_unit_test(rows_are_asked_for_once),
        cmocka_unit_test(padding_takes_no_part),        cmocka_unit_test(keys_are_hashed_into_rows),
        cmocka_unit_test(negative_keys_are_refused),    cmocka_unit_test(absent_rows_add_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
