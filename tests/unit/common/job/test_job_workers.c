/* The value of cluster.workers: a number or a range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/job/job.h"

static struct job job;
static struct error error;

static void check_value(const char *setting, uint32_t least, uint32_t most)
{
    job_init(&job);
    assert_int_equal(job_set(&job, setting, &error), TN_OK);
    assert_int_equal(job.cluster.workers, most);
    assert_int_equal(job_workers_least(&job), least);
}

/* A range of one number is that number. */
static void numbers_and_ranges_are_read(void **state)
{
    (void)state;
    check_value("cluster.workers=3", 3, 3);
    check_value("cluster.workers=2-8", 2, 8);
    check_value("cluster.workers=\"1-128\"", 1, 128);
    check_value("cluster.workers=4-4", 4, 4);
    assert_int_equal(job.cluster.workers_least, 0);
}

/* Each error names the key, the value and what is allowed. */
static void other_values_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "0",    "129",  "0-3",  "3-2",           "2-129", "2-",   "-2",    "2-3-4",
        "2 -3", "2-3x", "2:8",  "1.5",           "two",   "true", "[2,3]", "00002-3",
        "null", "+2-3", "2-+3", "99999999999-3", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char setting[64];
        (void)snprintf(setting, sizeof setting, "cluster.workers=%s", wrong[i]);
        job_init(&job);
        assert_int_equal(job_set(&job, setting, &error), TN_EINVAL);
        assert_non_null(strstr(error.text, "cluster.workers"));
        assert_non_null(strstr(error.text, "a range such as \"2-8\""));
        assert_int_equal(job.cluster.workers, 2);
    }
}

/* The canonical JSON has the range, and the hash of the job does not depend on it. */
static void a_range_comes_back(void **state)
{
    (void)state;
    struct job back;
    job_init(&job);
    const uint64_t hash = job_hash(&job);
    assert_int_equal(job_set(&job, "cluster.workers=2-8", &error), TN_OK);
    char *text = job_to_json(&job);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"workers\": \"2-8\""));
    job_init(&back);
    assert_int_equal(job_read_text(&back, text, strlen(text), "job", &error), TN_OK);
    free(text);
    assert_int_equal(back.cluster.workers, 8);
    assert_int_equal(back.cluster.workers_least, 2);
    assert_true(job_hash(&job) == hash);
}

/* Training begins with the smaller number, so no more workers may be awaited. */
static void the_run_begins_with_the_smaller_number(void **state)
{
    (void)state;
    job_init(&job);
    assert_int_equal(job_set(&job, "cluster.workers=2-8", &error), TN_OK);
    job.cluster.min_workers = 2;
    assert_int_equal(job_check(&job, &error), TN_OK);
    job.cluster.min_workers = 3;
    assert_int_equal(job_check(&job, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "begins at 2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_ranges_are_read),
        cmocka_unit_test(other_values_are_refused),
        cmocka_unit_test(a_range_comes_back),
        cmocka_unit_test(the_run_begins_with_the_smaller_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
