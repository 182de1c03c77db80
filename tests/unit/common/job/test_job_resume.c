/* Keys that `--resume` may change, and those that it must not. */
#include "common/job/job_resume.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/job/job_rate.h"

static struct job of_rate(double rate)
{
    struct job job;
    job_init(&job);
    job.train.learning_rate = rate;
    return job;
}

/* A difference of rates alone is not one of other keys, which --resume must not change. */
static void other_keys_are_distinguished(void **state)
{
    (void)state;
    struct job a = of_rate(0.5), b = of_rate(0.25), c = of_rate(0.25);
    char text[128], cut[24];
    b.train.schedule.warmup_steps = 3;
    assert_true(job_rate_differs(&a, &b) && job_resume_allows(&a, &b));
    job_resume_text(&a, &b, text, sizeof text);
    assert_string_equal(text,
                        "train.learning_rate 0.5 -> 0.25, train.schedule.warmup_steps 0 -> 3");
    job_resume_text(&a, &b, cut, sizeof cut);
    assert_string_equal(cut, "train.learning_rate 0.5");
    c.train.batch *= 2;
    assert_true(job_rate_differs(&a, &c) && !job_resume_allows(&a, &c));
    c = a;
    c.train.momentum = 0.5;
    c.train.steps = 7;
    assert_false(job_rate_differs(&a, &c));
}

/* The number of ps may change, also together with the rate. */
static void the_number_of_ps_may_change(void **state)
{
    (void)state;
    char text[128];
    const struct job a = of_rate(0.5);
    struct job b = a;
    struct error error;
    assert_false(job_resume_allows(&a, &b));
    b.cluster.ps = a.cluster.ps + 2;
    assert_true(job_resume_allows(&a, &b) && !job_rate_differs(&a, &b));
    assert_true(job_hash(&a) != job_hash(&b));
    job_resume_text(&a, &b, text, sizeof text);
    assert_string_equal(text, "cluster.ps 2 -> 4");
    assert_int_equal(job_resume_check(&a, &b, &error), TN_OK);
    b.train.learning_rate = 0.25;
    assert_true(job_resume_allows(&a, &b));
    b.seed++;
    assert_false(job_resume_allows(&a, &b));
}

static void check_text(const struct job *a, const struct job *b, const char *wanted)
{
    char text[128];
    job_resume_text(a, b, text, sizeof text);
    assert_string_equal(text, wanted);
}

/* The borders between rows may change; a job without any keeps those of the same number of ps, and
 * neither its JSON nor its hash has the key. */
static void the_borders_of_rows_may_change(void **state)
{
    (void)state;
    struct error error;
    const struct job a = of_rate(0.5);
    struct job b = a, again = a;
    b.placement.rows = (struct row_borders){.count = 1, .buckets = {7}};
    assert_true(job_resume_allows(&a, &b) && job_resume_allows(&b, &a));
    assert_true(job_layout_differs(&a, &b));
    assert_int_equal(job_resume_check(&a, &b, &error), TN_OK);
    check_text(&a, &b, "placement.buckets [] -> [7]");
    assert_true(job_hash(&a) != job_hash(&b));
    job_resume_adopt(&again, &b);
    assert_true(!job_layout_differs(&again, &b) && job_hash(&again) == job_hash(&b));
    again = a;
    again.cluster.ps++;
    job_resume_adopt(&again, &b);
    check_text(&b, &again, "cluster.ps 2 -> 3, placement.buckets [7] -> []");
    char *texts[] = {job_to_json(&a), job_to_json(&b)};
    assert_null(strstr(texts[0], "buckets"));
    assert_non_null(strstr(texts[1], "\"buckets\""));
    for (int i = 0; i < 2; i++) { free(texts[i]); }
}

/* Without ps their number is 0. */
static void the_strategy_may_change(void **state)
{
    (void)state;
    char text[128];
    const struct job a = of_rate(0.5);
    struct job b = a;
    struct error error;
    b.strategy.type = STRATEGY_TYPE_MIRROR;
    b.cluster.ps = 0;
    assert_true(job_resume_allows(&a, &b) && job_resume_allows(&b, &a));
    assert_int_equal(job_resume_check(&a, &b, &error), TN_OK);
    job_resume_text(&a, &b, text, sizeof text);
    assert_string_equal(text, "strategy.type ps -> mirror");
    b.train.learning_rate = 0.25;
    job_resume_text(&b, &a, text, sizeof text);
    assert_string_equal(text, "strategy.type mirror -> ps, train.learning_rate 0.25 -> 0.5");
}

/* The placement is a part of the layout, as is a group. */
static void the_layout_may_change(void **state)
{
    (void)state;
    char text[128];
    struct error error;
    struct job a = of_rate(0.5);
    struct job b = a;
    b.placement.strategy = PLACEMENT_GREEDY;
    assert_true(job_layout_differs(&a, &b) && !job_strategy_differs(&a, &b));
    assert_true(job_resume_allows(&a, &b));
    b.strategy.type = STRATEGY_TYPE_GROUP;
    assert_true(job_strategy_differs(&a, &b) && job_resume_allows(&a, &b));
    job_resume_text(&a, &b, text, sizeof text);
    assert_string_equal(text, "strategy.type ps -> group of 2, placement.strategy \"ranges\" -> "
                              "\"greedy\"");
    assert_int_equal(job_resume_check(&a, &b, &error), TN_OK);
    a = b;
    a.strategy.members = 3;
    assert_true(job_layout_differs(&a, &b) && job_resume_allows(&a, &b));
    job_resume_text(&a, &b, text, sizeof text);
    assert_string_equal(text, "strategy.type group of 3 -> group of 2");
    a.strategy.members = 2;
    b.cluster.ps = 0;
    assert_true(job_strategy_differs(&a, &b) && job_resume_allows(&a, &b));
    job_resume_text(&a, &b, text, sizeof text);
    assert_string_equal(text, "strategy.type group of 2 -> group of 2 without ps");
    b.cluster.ps = a.cluster.ps;
    a = b;
    a.strategy.type = STRATEGY_TYPE_LOCAL;
    assert_true(job_layout_differs(&a, &b));
    b.strategy.type = STRATEGY_TYPE_PS;
    assert_false(job_layout_differs(&a, &b));
}

/* The hash of the variables then depends on a file that may have been deleted. */
static void a_warm_start_keeps_its_placement(void **state)
{
    (void)state;
    struct error error;
    struct job a = of_rate(0.5);
    strcpy(a.model.warm_start, "file");
    struct job b = a;
    b.cluster.ps++;
    assert_int_equal(job_resume_check(&a, &b, &error), TN_OK);
    b.placement.strategy = PLACEMENT_GREEDY;
    assert_int_equal(job_resume_check(&a, &b, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "placement.strategy greedy"));
    assert_non_null(strstr(error.text, "--warm-start"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_keys_are_distinguished),
        cmocka_unit_test(the_number_of_ps_may_change),
        cmocka_unit_test(the_borders_of_rows_may_change),
        cmocka_unit_test(the_strategy_may_change),
        cmocka_unit_test(the_layout_may_change),
        cmocka_unit_test(a_warm_start_keeps_its_placement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
