/* Names of tensors for variables, and headers of safetensors files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/safetensors.h"
#include "model/warm_start.h"

static void assert_name(const char *pair, const char *variable, const char *wanted)
{
    char name[WARM_START_NAME_MAX];
    struct job *job = calloc(1, sizeof *job);
    assert_non_null(job);
    job->model.map_count = 1;
    snprintf(job->model.map[0], sizeof job->model.map[0], "%s", pair);
    (void)warm_start_name(job, variable, name);
    assert_string_equal(name, wanted);
    free(job);
}

/* The star on both sides is the same text; names that do not match stay. */
static void pairs_rename_variables(void **state)
{
    (void)state;
    assert_name("hidden1/*=encoder/*", "hidden1/weights", "encoder/weights");
    assert_name("hidden1/*=encoder/*", "hidden2/weights", "hidden2/weights");
    assert_name("*=a/*", "bias", "a/bias");
    assert_name("*/bias=*.b", "dense1/bias", "dense1.b");
    assert_name("w=v", "w", "v");
    assert_name("w=v", "ww", "ww");
    assert_name("a*a=x*", "a", "a");
    assert_name("a*a=x*", "aa", "x");
    assert_name("a*=x", "abc", "x");
}

static enum tn_status parse(const char *header, uint64_t bytes, struct error *error)
{
    json_t *found = NULL;
    enum tn_status status = safetensors_parse(header, strlen(header), bytes, &found, error);
    json_decref(found);
    return status;
}

#define TENSOR(name, shape, first, last)                                                           \
    "\"" name "\": {\"dtype\": \"F32\", \"shape\": " shape ", \"data_offsets\": [" first ", " last \
    "]}"

/* Offsets lie inside the file, fit the shape and do not overlap. */
static void headers_are_checked(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(parse("{" TENSOR("a", "[2, 2]", "0", "16") "}", 16, &error), TN_OK);
    assert_int_equal(parse("{" TENSOR("a", "[]", "0", "4") "}", 4, &error), TN_OK);
    assert_int_equal(parse("{" TENSOR("a", "[2, 2]", "0", "16") "}", 15, &error), TN_EINVAL);
    assert_int_equal(parse("{" TENSOR("a", "[2, 3]", "0", "16") "}", 16, &error), TN_EINVAL);
    assert_int_equal(parse("{" TENSOR("a", "[-1]", "0", "4") "}", 16, &error), TN_EINVAL);
    assert_int_equal(parse("{" TENSOR("a", "[1]", "4", "0") "}", 16, &error), TN_EINVAL);
    assert_int_equal(
        parse("{" TENSOR("a", "[1]", "0", "4") ", " TENSOR("b", "[1]", "2", "6") "}", 16, &error),
        TN_EINVAL);
    assert_non_null(strstr(error.text, "overlap"));
    assert_int_equal(
        parse("{" TENSOR("a", "[1]", "0", "4") ", " TENSOR("a", "[1]", "4", "8") "}", 16, &error),
        TN_EINVAL);
    assert_int_equal(parse("[]", 16, &error), TN_EINVAL);
    assert_int_equal(parse("{\"a\": 1}", 16, &error), TN_EINVAL);
    assert_int_equal(parse("{\"__metadata__\": {\"a\": \"b\"}}", 0, &error), TN_OK);
}

/* A product of dimensions that exceeds 64 bits does not wrap around. */
static void huge_shapes_are_refused(void **state)
{
    (void)state;
    struct error error;
    assert_int_equal(parse("{" TENSOR("a", "[4294967296, 4294967296]", "0", "0") "}", 16, &error),
                     TN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_rename_variables),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(huge_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
