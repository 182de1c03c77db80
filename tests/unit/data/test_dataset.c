/* Data sets: valid and invalid IDX folders, and synthetic examples. */
#include "data/dataset.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/tanist-test-XXXXXX";

static void write_file(const char *name, const uint8_t *bytes, size_t size)
{
    char path[128];
    assert_true(snprintf(path, sizeof path, "%s/%s", folder, name) > 0);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_images(uint8_t count)
{
    const uint8_t bytes[] = {0, 0, 8, 3, 0, 0, 0,  count, 0,   0, 0,
                             1, 0, 0, 0, 2, 0, 51, 102,   255, 9, 9};
    write_file("train-images-idx3-ubyte", bytes, 16 + 2 * (size_t)count);
}

static void write_labels(uint8_t first, uint8_t second)
{
    const uint8_t bytes[] = {0, 0, 8, 1, 0, 0, 0, 2, first, second};
    write_file("train-labels-idx1-ubyte", bytes, sizeof bytes);
}

static struct job job_with_folder(void)
{
    struct job job;
    job_init(&job);
    memcpy(job.data.path, folder, sizeof folder);
    job.model.inputs = 2;
    job.model.outputs = 3;
    write_images(2);
    write_labels(2, 0);
    return job;
}

/* Equal examples have equal digests; one label or one pixel makes a difference. */
static void test_digest_covers_every_byte(void **state)
{
    (void)state;
    const struct job job = job_with_folder();
    struct dataset *data[4];
    for (int i = 0; i < 4; i++) {
        const uint8_t pixel = i == 3 ? 103 : 102;
        const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0,  2,     0,   0, 0,
                                  1, 0, 0, 0, 2, 0, 51, pixel, 255, 9, 9};
        write_file("train-images-idx3-ubyte", images, 20);
        write_labels(2, i == 2 ? 1 : 0);
        assert_int_equal(dataset_open(&job, DATASET_TRAIN, &data[i], NULL), TN_OK);
    }
    const struct digest first = dataset_digest(data[0], data[0]);
    assert_true(digest_equal(first, dataset_digest(data[1], data[1])));
    assert_false(digest_equal(first, dataset_digest(data[2], data[0])));
    assert_false(digest_equal(first, dataset_digest(data[3], data[0])));
    assert_false(digest_equal(first, dataset_digest(data[0], data[3])));
    for (int i = 0; i < 4; i++) { dataset_close(data[i]); }
}

static void expect_refusal(const struct job *job, enum tn_status status, const char *text)
{
    struct dataset *dataset;
    struct error error = {0};
    assert_int_equal(dataset_open(job, DATASET_TRAIN, &dataset, &error), status);
    if (strstr(error.text, text) == NULL) { fail_msg("'%s' is not in '%s'", text, error.text); }
    assert_null(dataset);
}

/* Bytes become floats in [0, 1], in the order of the indices, with repetitions. */
static void test_files_are_gathered(void **state)
{
    (void)state;
    struct job job = job_with_folder();
    struct dataset *dataset;
    struct error error;
    assert_int_equal(dataset_open(&job, DATASET_TRAIN, &dataset, &error), TN_OK);
    assert_int_equal(dataset->examples, 2);
    float inputs[9];
    uint8_t labels[3];
    uint8_t bytes[9];
    struct fields fields = {.inputs = inputs, .labels = labels};
    assert_int_equal(dataset_gather(dataset, (uint64_t[]){1, 0, 1}, 3, NULL, &fields, NULL), TN_OK);
    assert_memory_equal(inputs, ((float[]){0.4F, 1, 0, 0.2F, 0.4F, 1}), 6 * sizeof(float));
    assert_memory_equal(labels, ((uint8_t[]){0, 2, 0}), 3);
    fields.input_bytes = bytes;
    assert_int_equal(dataset_gather_range(dataset, 0, 2, &fields, NULL), TN_OK);
    assert_memory_equal(bytes, ((uint8_t[]){0, 51, 102, 255}), 4);
    fields.labels = NULL; /* Fields that a model does not read are left out. */
    assert_int_equal(dataset_gather_range(dataset, 1, 1, &fields, NULL), TN_OK);
    assert_true(inputs[0] == 0.4F && labels[0] == 2);
    dataset_close(dataset);
}

/* Every byte has the bits of its division by 255. */
static void test_bytes_are_divided(void **state)
{
    (void)state;
    enum { EXAMPLES = 20 };
    uint8_t bytes[EXAMPLES + 256];
    uint64_t indices[EXAMPLES];
    float inputs[EXAMPLES][256], expected[EXAMPLES][256];
    const struct dataset dataset = {
        .examples = EXAMPLES, .inputs = 256, .input_step = 1, .input_bytes = bytes};
    for (int i = 0; i < EXAMPLES + 256; i++) { bytes[i] = (uint8_t)i; }
    for (int i = 0; i < EXAMPLES; i++) {
        const int from = 7 * i % EXAMPLES;
        indices[i] = (uint64_t)from;
        for (int j = 0; j < 256; j++) { expected[i][j] = (float)bytes[from + j] / 255.0F; }
    }
    const struct fields fields = {.inputs = inputs[0]};
    assert_int_equal(dataset_gather(&dataset, indices, EXAMPLES, NULL, &fields, NULL), TN_OK);
    assert_memory_equal(inputs, expected, sizeof inputs);
}

/* The error for a missing file names it and the remedy. */
static void test_missing_files_are_named(void **state)
{
    (void)state;
    struct job job = job_with_folder();
    struct dataset *dataset;
    struct error error;
    assert_int_equal(dataset_open(&job, DATASET_TEST, &dataset, &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "has no file t10k-labels-idx1-ubyte or "
                                       "t10k-labels-idx1-ubyte.gz: install Debian's "
                                       "dataset-fashion-mnist, or set data.path"));
    strcpy(job.data.path, "/nonexistent");
    expect_refusal(&job, TN_ENOENT, "data.path '/nonexistent' has no file train-labels");
}

/* Files that do not fit each other or the model are refused; the error names the key to set. */
static void test_misfits_are_refused(void **state)
{
    (void)state;
    struct job job = job_with_folder();
    job.model.inputs = 784;
    expect_refusal(&job, TN_EINVAL,
                   "model.inputs is 784, but each image of train-images has 2 "
                   "pixels: set model.inputs to 2");
    job.model.inputs = 2;
    write_images(3);
    expect_refusal(&job, TN_EINVAL, "train-images has 3 images, but train-labels has 2 labels");
    write_images(2);
    write_labels(2, 3);
    expect_refusal(&job, TN_EINVAL, "train-labels: label 1 is 3, but model.outputs is 3");
    write_file("train-images-idx3-ubyte", (uint8_t[]){0, 0, 8}, 3);
    expect_refusal(&job, TN_EINVAL, "/train-images-idx3-ubyte: too short: 3 of 4 bytes");
    strcpy(job.model.type, "linear");
    expect_refusal(&job, TN_EINVAL, "a regression (model.type 'linear') needs targets");
    strcpy(job.data.type, "csv");
    expect_refusal(&job, TN_EINVAL,
                   "unknown data.type 'csv': one of idx, text, synthetic, matches");
}

static struct dataset *open_synthetic(const char *model_type, enum dataset_split split,
                                      double noise)
{
    struct job job;
    struct dataset *dataset;
    struct error error;
    job_init(&job);
    strcpy(job.data.type, "synthetic");
    strcpy(job.model.type, model_type);
    job.model.inputs = 20;
    job.model.outputs = 4;
    job.data.noise = noise;
    assert_int_equal(dataset_open(&job, split, &dataset, &error), TN_OK);
    return dataset;
}

/* Synthetic examples are a pure function of the seed; test examples differ from them. */
static void test_synthetic_is_a_function_of_the_seed(void **state)
{
    (void)state;
    struct dataset *a = open_synthetic("mlp", DATASET_TRAIN, 0.1);
    struct dataset *b = open_synthetic("mlp", DATASET_TRAIN, 0.1);
    struct dataset *test = open_synthetic("mlp", DATASET_TEST, 0.1);
    assert_int_equal(a->examples, 4096);
    assert_int_equal(test->examples, 1024);
    assert_memory_equal(a->input_floats, b->input_floats, 4096 * 20 * sizeof(float));
    assert_memory_equal(a->labels, b->labels, 4096);
    assert_memory_not_equal(a->input_floats, test->input_floats, 1024 * 20 * sizeof(float));
    dataset_close(a), dataset_close(b), dataset_close(test);
}

/* Without noise, all examples of a class are equal, in training and in test. */
static void test_synthetic_classes_have_centres(void **state)
{
    (void)state;
    struct dataset *sets[] = {open_synthetic("softmax", DATASET_TRAIN, 0),
                              open_synthetic("softmax", DATASET_TEST, 0)};
    const float *centres[4] = {0};
    for (int s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < sets[s]->examples; i++) {
            const float *row = sets[s]->input_floats + i * 20;
            const float **centre = &centres[sets[s]->labels[i]];
            if (*centre == NULL) { *centre = row; }
            assert_memory_equal(row, *centre, 20 * sizeof *row);
        }
    }
    dataset_close(sets[0]), dataset_close(sets[1]);
}

static struct job job_of_text(const char *text, const char *inputs)
{
    struct job job;
    struct error error;
    write_file("text", (const uint8_t *)text, strlen(text));
    job_init(&job);
    strcpy(job.model.type, "layers");
    strcpy(job.data.type, "text");
    job.model.outputs = 128;
    assert_true(snprintf(job.data.path, sizeof job.data.path, "%s/text", folder) > 0);
    assert_int_equal(job_set(&job, inputs, &error), TN_OK);
    return job;
}

/* Training windows begin at each byte but those of the last tenth, which has the test windows one
 * after another; the labels are the bytes behind. */
static void test_text_is_cut_into_windows(void **state)
{
    (void)state;
    char text[52];
    struct dataset *train, *test;
    uint8_t bytes[8], labels[8];
    for (size_t i = 0; i < 51; i++) { text[i] = (char)('A' + i); }
    text[51] = '\0';
    const struct job job = job_of_text(text, "model.inputs=2");
    assert_int_equal(dataset_open(&job, DATASET_TRAIN, &train, NULL), TN_OK);
    assert_int_equal(dataset_open(&job, DATASET_TEST, &test, NULL), TN_OK);
    const struct fields fields = {.input_bytes = bytes, .labels = labels};
    assert_int_equal(train->examples, 44); /* The last one ends at byte 45, its label. */
    assert_int_equal(dataset_gather(train, (uint64_t[]){0, 1, 43}, 3, NULL, &fields, NULL), TN_OK);
    assert_memory_equal(bytes, "ABBClm", 6);
    assert_memory_equal(labels, "BCCDmn", 6);
    assert_int_equal(test->examples, 2);
    assert_int_equal(dataset_gather_range(test, 0, 2, &fields, NULL), TN_OK);
    assert_memory_equal(bytes, "opqr", 4);
    assert_memory_equal(labels, "pqrs", 4);
    const struct digest digest = dataset_digest(train, test);
    test->labels[3] ^= 1;
    assert_false(digest_equal(digest, dataset_digest(train, test)));
    dataset_close(train), dataset_close(test);
}

static void test_wrong_texts_are_refused(void **state)
{
    (void)state;
    struct job job = job_of_text("too short", "model.inputs=2");
    expect_refusal(&job, TN_EINVAL, "/text has 9 bytes, but windows of 2 need at least 30");
    job = job_of_text("A text that is long enough for two, but \xe9 is not one of 128 bytes.",
                      "model.inputs=2");
    expect_refusal(&job, TN_EINVAL, "byte 40 of ");
    expect_refusal(&job, TN_EINVAL, "is 233, but model.outputs is 128: set it");
    strcpy(job.data.path, folder);
    expect_refusal(&job, TN_EINVAL, " is not a file: give a text file");
    strcpy(job.data.path, "/nonexistent");
    expect_refusal(&job, TN_ENOENT, "data.path: cannot read /nonexistent: No such file");
    job.model.loss = LOSS_SQUARED_ERROR;
    expect_refusal(&job, TN_EINVAL, "data.type 'text' has labels, but a regression");
}

/* Matches are a function of the seed; both labels are about as frequent, and are not those of the
 * test set. */
static void test_matches_are_a_function_of_the_seed(void **state)
{
    (void)state;
    struct job job;
    struct dataset *sets[3];
    uint32_t ones = 0;
    job_init(&job);
    strcpy(job.model.type, "layers");
    strcpy(job.data.type, "matches");
    job.model.inputs = 5;
    job.model.outputs = 1;
    job.model.loss = LOSS_SIGMOID_CROSS_ENTROPY;
    job.data.test_examples = job.data.examples;
    for (int i = 0; i < 3; i++) {
        const enum dataset_split split = i == 2 ? DATASET_TEST : DATASET_TRAIN;
        assert_int_equal(dataset_open(&job, split, &sets[i], NULL), TN_OK);
    }
    const size_t examples = sets[0]->examples;
    assert_memory_equal(sets[0]->input_bytes, sets[1]->input_bytes, 5 * examples);
    assert_memory_equal(sets[0]->labels, sets[1]->labels, examples);
    assert_memory_not_equal(sets[0]->input_bytes, sets[2]->input_bytes, 5 * examples);
    for (uint32_t i = 0; i < examples; i++) { ones += sets[0]->labels[i]; }
    assert_in_range(ones, examples / 3, examples - examples / 3);
    for (int i = 0; i < 3; i++) { dataset_close(sets[i]); }
    job.model.inputs = 1;
    expect_refusal(&job, TN_EINVAL, "model.inputs is 1, but data.type 'matches' has a bag");
    job.model.inputs = 5;
    job.model.targets = TARGETS_INPUTS;
    expect_refusal(&job, TN_EINVAL, "data.type 'matches' has labels, 0 and 1");
}

/* The targets of an autoencoder are its inputs, pixels as well as numbers. */
static void test_targets_may_be_the_inputs(void **state)
{
    (void)state;
    struct job job = job_with_folder();
    struct dataset *dataset;
    float targets[4];
    const struct fields fields = {.targets = targets};
    strcpy(job.model.type, "layers");
    job.model.outputs = job.model.inputs;
    job.model.loss = LOSS_SQUARED_ERROR;
    job.model.targets = TARGETS_INPUTS;
    assert_int_equal(dataset_open(&job, DATASET_TRAIN, &dataset, NULL), TN_OK);
    assert_int_equal(dataset_gather_range(dataset, 0, 2, &fields, NULL), TN_OK);
    assert_memory_equal(targets, ((float[]){0, 0.2F, 0.4F, 1}), sizeof targets);
    assert_true(fabs(dataset_spread(dataset) - 0.40) < 1e-6);
    dataset_close(dataset);
    strcpy(job.data.type, "synthetic");
    assert_int_equal(dataset_open(&job, DATASET_TRAIN, &dataset, NULL), TN_OK);
    assert_int_equal(dataset_gather_range(dataset, 3, 2, &fields, NULL), TN_OK);
    assert_memory_equal(targets, dataset->input_floats + 6, sizeof targets);
    assert_null(dataset->targets);
    dataset_close(dataset);
}

/* Linear data have targets, which are gathered. */
static void test_synthetic_linear_has_targets(void **state)
{
    (void)state;
    struct dataset *dataset = open_synthetic("linear", DATASET_TRAIN, 0.1);
    float inputs[2 * 20], targets[2 * 4];
    const struct fields fields = {.inputs = inputs, .targets = targets};
    assert_int_equal(dataset_gather(dataset, (uint64_t[]){7, 4095}, 2, NULL, &fields, NULL), TN_OK);
    assert_memory_equal(targets, dataset->targets + 28, 4 * sizeof(float));
    assert_memory_equal(targets + 4, dataset->targets + 4 * 4095, 4 * sizeof(float));
    dataset_close(dataset);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[128];
    const char *const names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "text"};
    for (int i = 0; i < 3; i++) {
        if (snprintf(path, sizeof path, "%s/%s", folder, names[i]) < 0) { return 1; }
        (void)unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digest_covers_every_byte),
        cmocka_unit_test(test_files_are_gathered),
        cmocka_unit_test(test_bytes_are_divided),
        cmocka_unit_test(test_missing_files_are_named),
        cmocka_unit_test(test_misfits_are_refused),
        cmocka_unit_test(test_synthetic_is_a_function_of_the_seed),
        cmocka_unit_test(test_synthetic_classes_have_centres),
        cmocka_unit_test(test_synthetic_linear_has_targets),
        cmocka_unit_test(test_text_is_cut_into_windows),
        cmocka_unit_test(test_wrong_texts_are_refused),
        cmocka_unit_test(test_matches_are_a_function_of_the_seed),
        cmocka_unit_test(test_targets_may_be_the_inputs),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
