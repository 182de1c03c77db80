/* common/job/job_embeddings.h: lists are read, and refused if they do not fit the model. */
#include "common/job/job_embeddings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct error error;

static struct job job_of(const char *embeddings)
{
    struct job job;
    char text[512];
    job_init(&job);
    (void)snprintf(text, sizeof text, "model.embeddings=%s", embeddings);
    const char *const settings[] = {"model.type=layers", "model.layers=[{\"dense\": 10}]",
                                    "data.format=csv", "model.inputs=5", text};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (job_set(&job, settings[i], &error) != TN_OK) { fail_msg("%s", error.text); }
    }
    return job;
}

static void lists_are_read(void **state)
{
    (void)state;
    const struct job job = job_of("[{\"name\": \"a\", \"input\": 0, \"rows\": 3, \"width\": 2},"
                                  " {\"name\": \"b\", \"input\": 4, \"rows\": 7, \"width\": 1}]");
    assert_true(job.model.embeddings_given);
    assert_int_equal(job.model.embedding_count, 2);
    assert_string_equal(job.model.embeddings[1].name, "b");
    assert_int_equal(job.model.embeddings[1].input, 4);
    assert_int_equal(job.model.embeddings[1].rows, 7);
    assert_int_equal(job_check_embeddings(&job, &error), TN_OK);
}

static void expect_refusal(const struct job *job, const char *text)
{
    assert_int_equal(job_check_embeddings(job, &error), TN_EINVAL);
    if (strstr(error.text, text) == NULL) { fail_msg("%s", error.text); }
}

static void wrong_lists_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"[{\"name\": \"a\", \"input\": 5, \"rows\": 3, \"width\": 2}]", "[0].input is 5: give"},
        {"[{\"name\": \"a\", \"input\": 1, \"rows\": 3, \"width\": 2},"
         " {\"name\": \"b\", \"input\": 1, \"rows\": 7, \"width\": 1}]",
         "[1].input is 1: give ascending numbers"},
        {"[{\"name\": \"a\", \"input\": 1, \"rows\": 3, \"width\": 2},"
         " {\"name\": \"a\", \"input\": 2, \"rows\": 7, \"width\": 1}]",
         "[1].name is \"a\": give each another one"},
        {"[{\"name\": \"a\", \"input\": 1, \"rows\": 0, \"width\": 2}]", "[0].rows is 0: give"},
        {"[{\"name\": \"a\", \"input\": 1, \"rows\": 0, \"width\": 5000, \"table\": true}]",
         "[0].width is 5000: rows of tables have at most 4096"},
        {"[{\"name\": \"a/b\", \"input\": 1, \"rows\": 3, \"width\": 2}]", "[0].name is \"a/b\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct job job = job_of(cases[i][0]);
        expect_refusal(&job, cases[i][1]);
    }
}

static void other_models_are_refused(void **state)
{
    static const char list[] = "[{\"name\": \"a\", \"input\": 0, \"rows\": 3, \"width\": 2}]";
    (void)state;
    struct job job = job_of(list);
    strcpy(job.model.type, "onnx");
    expect_refusal(&job, "remove \"embed\" from data.columns");
    job = job_of(list);
    job.data.format[0] = '\0';
    expect_refusal(&job, "only columns of data.format");
    job = job_of(list);
    job.model.shape_count = 1;
    expect_refusal(&job, "model.shape is given: remove it");
    job = job_of(list);
    job.model.targets = TARGETS_INPUTS;
    expect_refusal(&job, "model.targets is \"inputs\"");
}

/* Written before the columns were read, a job leaves to them what they decide. */
static void unsettled_lists_are_not_written(void **state)
{
    (void)state;
    struct job job, again;
    job_init(&job);
    assert_int_equal(job_set(&job, "data.type=criteo-like", &error), TN_OK);
    char *text = job_to_json(&job);
    job_init(&again);
    assert_int_equal(job_read_text(&again, text, strlen(text), "test", &error), TN_OK);
    assert_false(again.model.inputs_given);
    assert_false(again.model.embeddings_given);
    free(text);
    job.model.inputs = 5;
    job.model.inputs_given = true;
    text = job_to_json(&job);
    assert_int_equal(job_read_text(&again, text, strlen(text), "test", &error), TN_OK);
    assert_true(again.model.inputs_given);
    assert_int_equal(again.model.inputs, 5);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(wrong_lists_are_refused),
        cmocka_unit_test(other_models_are_refused),
        cmocka_unit_test(unsettled_lists_are_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
