/* Tables of a local run: rows train as those of a variable do, and files bring them back. */
#include "local/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/files.h"
#include "data/job_columns.h"
#include "local/trainer.h"

enum { HASH = 13, WIDTH = 3, STEPS = 40, FEATURES = 2, PATH_BYTES = 128, SAVES = 4 };

#define HASHED "{\"as\": \"category\", \"hash\": 13, \"embed\": 3"
#define KEYED  "{\"as\": \"category\", \"embed\": 3, \"table\": true}"

static const char dense_columns[] =
    "data.columns={\"I1\": \"number\", \"C1\": " HASHED "}, \"C2\": " HASHED "}}";
static const char sparse_columns[] = "data.columns={\"I1\": \"number\", \"C1\": " HASHED
                                     ", \"table\": true}, \"C2\": " HASHED ", \"table\": true}}";
static const char keyed_columns[] =
    "data.columns={\"C1\": " KEYED ", \"C2\": " KEYED ", \"C3\": " KEYED ", \"C4\": " KEYED "}";

static const char *const names[FEATURES] = {"columns/C1/rows", "columns/C2/rows"};
static struct error error;

/* A job with its model, data and trainer. */
struct scene {
    struct job job;
    struct model *model;
    struct dataset *train;
    struct trainer trainer;
};

static void set(struct job *job, const char *assignment)
{
    if (job_set(job, assignment, &error) != TN_OK) { fail_msg("%s", error.text); }
}

static void open_model(struct scene *scene, const char *columns, const char *optimizer)
{
    static const char *const settings[] = {
        "strategy.type=local",
        "model.type=layers",
        "model.layers=[{\"dense\": {\"units\": 4, \"activation\": \"relu\"}}, {\"dense\": 1}]",
        "model.outputs=1",
        "model.loss=sigmoid_cross_entropy",
        "data.type=criteo-like",
        "data.examples=300",
        "train.batch=20",
        "train.slices=5",
        "train.learning_rate=0.5",
    };
    job_init(&scene->job);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        set(&scene->job, settings[i]);
    }
    set(&scene->job, columns);
    set(&scene->job, optimizer);
    if (job_columns_settle(&scene->job, &error) != TN_OK ||
        model_open(&scene->job, &scene->model, &error) != TN_OK ||
        dataset_open(&scene->job, DATASET_TRAIN, &scene->train, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
}

static void open_trainer(struct scene *scene)
{
    const struct compute_config config = {.job = &scene->job,
                                          .model = scene->model,
                                          .programs = "portable",
                                          .kernels = kernels_reference(),
                                          .train = scene->train};
    assert_int_equal(trainer_open(&scene->trainer, &config, &error), TN_OK);
}

static struct scene *open_scene(const char *columns, const char *optimizer)
{
    struct scene *scene = calloc(1, sizeof *scene);
    open_model(scene, columns, optimizer);
    open_trainer(scene);
    return scene;
}

static void close_scene(struct scene *scene)
{
    trainer_close(&scene->trainer);
    dataset_close(scene->train);
    model_close(scene->model);
    free(scene);
}

static void train_to(struct scene *scene, uint64_t step)
{
    while (scene->trainer.step < step) {
        assert_int_equal(trainer_step(&scene->trainer, &error), TN_OK);
    }
}

/* All rows of a table with hashed keys, at the present step. */
static void read_all(const struct scene *scene, uint32_t table, float out[static HASH * WIDTH])
{
    uint64_t keys[HASH];
    const struct row_source *source = &scene->trainer.tables.source;
    for (uint64_t k = 0; k < HASH; k++) { keys[k] = k; }
    source->read(source->ctx, table, keys, HASH, out);
}

static struct variable *rows_of(struct scene *scene, const char *name)
{
    struct variable_table *variables = &scene->model->table;
    for (uint32_t v = 0; v < variables->count; v++) {
        if (strcmp(variables->variables[v].name, name) == 0) { return &variables->variables[v]; }
    }
    fail_msg("no variable %s", name);
    return NULL;
}

/* Exact, but for the sign of zeros: the sums of a variable add 0 for the rows of other slices. */
static void expect_equal(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) { assert_true(a[i] == b[i]); }
}

static void begin_with(struct variable *variable, const float *values)
{
    variable->init = VARIABLE_VALUES;
    variable->values = values;
}

/* The variables of `dense` begin with the values of `sparse`, those of tables as `rows`. */
static void begin_alike(struct scene *dense, const struct scene *sparse,
                        float rows[static FEATURES][HASH * WIDTH])
{
    const struct variable_table *variables = &sparse->model->table;
    for (uint32_t t = 0; t < FEATURES; t++) {
        read_all(sparse, t, rows[t]);
        begin_with(rows_of(dense, names[t]), rows[t]);
    }
    for (uint32_t v = 0; v < variables->count; v++) {
        const struct variable *variable = &variables->variables[v];
        begin_with(rows_of(dense, variable->name),
                   trainer_values(&sparse->trainer) + variable->offset);
    }
}

static void train_both(const char *optimizer)
{
    static float rows[FEATURES][HASH * WIDTH];
    float trained[HASH * WIDTH];
    struct scene *sparse = open_scene(sparse_columns, optimizer);
    struct scene *dense = calloc(1, sizeof *dense);
    open_model(dense, dense_columns, optimizer);
    assert_int_equal(sparse->trainer.tables.set.count, FEATURES);
    begin_alike(dense, sparse, rows);
    open_trainer(dense);
    for (uint64_t step = 1; step <= STEPS; step++) {
        train_to(sparse, step);
        train_to(dense, step);
        assert_true(sparse->trainer.loss == dense->trainer.loss);
    }
    for (uint32_t t = 0; t < FEATURES; t++) {
        read_all(sparse, t, trained);
        assert_true(memcmp(trained, rows[t], sizeof trained) != 0);
        const uint64_t offset = rows_of(dense, names[t])->offset;
        expect_equal(trained, trainer_values(&dense->trainer) + offset, HASH * WIDTH);
    }
    close_scene(sparse);
    close_scene(dense);
}

/* A variable with the same rows has the same loss at every step, and the same rows at the end. */
static void rows_train_as_those_of_a_variable(void **state)
{
    (void)state;
    train_both("train.optimizer=sgd");
    train_both("train.optimizer=adagrad");
}

static struct digest digest_of_scene(const struct scene *scene)
{
    struct digest digest;
    assert_int_equal(
        row_set_digest(&scene->trainer.tables.set, (struct digest){1, 2}, &digest, &error), TN_OK);
    return digest;
}

static void save(struct scene *scene, const char *dir, uint64_t checkpoint, struct manifest *out)
{
    struct tables *tables = &scene->trainer.tables;
    *out = (struct manifest){.id = checkpoint, .step = scene->trainer.step};
    assert_int_equal(tables_begin_save(tables, checkpoint, &error), TN_OK);
    const uint64_t bytes = tables_save_bytes(tables, out->step);
    assert_int_equal(tables_write(tables, dir, out, NULL, &error), TN_OK);
    assert_int_equal(out->chain[out->chain_count - 1].bytes, bytes);
    tables_end_save(tables, true);
}

/* The first one is full, deltas follow; each brings the rows of its step back. */
static void test_saves_bring_rows_back(void **state)
{
    const char *dir = *state;
    struct manifest manifests[SAVES];
    struct digest digests[SAVES];
    struct scene *scene = open_scene(keyed_columns, "train.optimizer=adam");
    struct scene *loaded = open_scene(keyed_columns, "train.optimizer=adam");
    for (uint32_t s = 0; s < SAVES; s++) {
        train_to(scene, STEPS + s);
        save(scene, dir, s + 1, &manifests[s]);
        digests[s] = digest_of_scene(scene);
        assert_int_equal(manifests[s].chain_count, s + 1);
        assert_true(s == 0 || manifests[s].chain[s].bytes < manifests[0].chain[0].bytes / 2);
    }
    for (uint32_t s = SAVES; s-- > 0;) {
        struct tables *tables = &loaded->trainer.tables;
        assert_int_equal(tables_load(tables, dir, &manifests[s], &error), TN_OK);
        assert_int_equal(row_table_step(tables->set.tables[0]), STEPS + s);
        assert_true(digest_equal(digest_of_scene(loaded), digests[s]));
    }
    assert_false(digest_equal(digests[0], digests[1]));
    close_scene(scene);
    close_scene(loaded);
}

/* The bytes of a save are known before it is written, those of the counts of keys, too. */
static void test_saves_have_counts(void **state)
{
    const char *dir = *state, *rule = "train.tables=[{\"match\": \"*\", \"admit_after\": 3, "
                                      "\"admit_within_steps\": 100}]";
    struct manifest manifest;
    struct scene *scene = open_scene(keyed_columns, rule);
    struct scene *loaded = open_scene(keyed_columns, rule);
    const struct row_set *set = &scene->trainer.tables.set, *again = &loaded->trainer.tables.set;
    for (uint32_t s = 0; s < SAVES; s++) {
        train_to(scene, STEPS + s);
        save(scene, dir, s + 1, &manifest);
    }
    assert_int_equal(tables_load(&loaded->trainer.tables, dir, &manifest, &error), TN_OK);
    assert_true(digest_equal(digest_of_scene(loaded), digest_of_scene(scene)));
    assert_int_equal(set->all, 2 * set->count);
    for (uint32_t t = set->count; t < set->all; t++) {
        const uint64_t counts = row_table_stats(set->tables[t]).rows;
        assert_true(counts > 0);
        assert_int_equal(row_table_stats(again->tables[t]).rows, counts);
    }
    close_scene(scene);
    close_scene(loaded);
}

/* Rows of a save that failed are in the next one. */
static void test_a_failed_save_leaves_its_rows(void **state)
{
    const char *dir = *state;
    struct manifest manifest;
    struct scene *scene = open_scene(keyed_columns, "train.optimizer=sgd");
    struct scene *loaded = open_scene(keyed_columns, "train.optimizer=sgd");
    struct tables *tables = &scene->trainer.tables;
    train_to(scene, STEPS);
    save(scene, dir, 1, &manifest);
    train_to(scene, STEPS + 1);
    assert_int_equal(tables_begin_save(tables, 2, &error), TN_OK);
    assert_int_equal(tables_write(tables, "/tmp/tanist-none", &manifest, NULL, &error), TN_ENOENT);
    tables_end_save(tables, false);
    train_to(scene, STEPS + 2);
    save(scene, dir, 3, &manifest);
    assert_int_equal(manifest.chain_count, 2);
    assert_int_equal(tables_load(&loaded->trainer.tables, dir, &manifest, &error), TN_OK);
    assert_true(digest_equal(digest_of_scene(loaded), digest_of_scene(scene)));
    close_scene(scene);
    close_scene(loaded);
}

static void expect_failure(struct scene *scene, const char *dir, const struct manifest *manifest,
                           enum tn_status wanted, const char *text)
{
    assert_int_equal(tables_load(&scene->trainer.tables, dir, manifest, &error), wanted);
    if (strstr(error.text, text) == NULL) { fail_msg("%s", error.text); }
}

static void test_damage_is_refused(void **state)
{
    const char *dir = *state;
    struct manifest manifest, other;
    char path[PATH_BYTES], *bytes;
    size_t size;
    struct scene *scene = open_scene(keyed_columns, "train.optimizer=sgd");
    train_to(scene, STEPS);
    save(scene, dir, 1, &manifest);
    other = manifest;
    other.step++;
    expect_failure(scene, dir, &other, TN_ECORRUPT, "its manifest is of step 41");
    other = manifest;
    other.chain_count = 0;
    expect_failure(scene, dir, &other, TN_EINVAL, "no rows of tables");
    snprintf(path, sizeof path, "%s/tables/0000000001.rows", dir);
    assert_int_equal(files_read(path, 1 << 20, &bytes, &size, &error), TN_OK);
    bytes[size / 2] ^= 1;
    assert_int_equal(files_write_atomic(path, bytes, size, &error), TN_OK);
    expect_failure(scene, dir, &manifest, TN_ECORRUPT, "its digest is not that of its checkpoint");
    assert_int_equal(files_write_atomic(path, bytes, size - 1, &error), TN_OK);
    expect_failure(scene, dir, &manifest, TN_ECORRUPT, "but its checkpoint wrote");
    assert_int_equal(unlink(path), 0);
    expect_failure(scene, dir, &manifest, TN_ENOENT, path);
    free(bytes);
    close_scene(scene);
}

static char folder[] = "/tmp/tanist-test-XXXXXX";

static int make_folder(void **state)
{
    *state = folder;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char path[PATH_BYTES];
    (void)state;
    for (int id = 1; id <= SAVES; id++) {
        snprintf(path, sizeof path, "%s/tables/%010d.rows", folder, id);
        (void)unlink(path);
    }
    snprintf(path, sizeof path, "%s/tables", folder);
    (void)rmdir(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_train_as_those_of_a_variable),
        cmocka_unit_test(test_saves_bring_rows_back),
        cmocka_unit_test(test_saves_have_counts),
        cmocka_unit_test(test_a_failed_save_leaves_its_rows),
        cmocka_unit_test(test_damage_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
