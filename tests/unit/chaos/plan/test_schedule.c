/* schedule_draw(): the same plan, seed and round make the same faults, in every version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos/history/history.h"
#include "chaos/plan/plan.h"
#include "chaos/plan/target_selector.h"
#include "common/cluster/task.h"

static const struct cluster_shape shape = {.coordinators = 2,
                                           .ps = 2,
                                           .workers = 3,
                                           .servers = 3,
                                           .steps = 1000,
                                           .session_timeout_ms = 500};

static void draw(const char *text, uint64_t seed, uint32_t round, struct schedule *out)
{
    struct plan plan;
    struct error error = {0};
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    enum tn_status status = plan_from_json(json, &plan, &error);
    json_decref(json);
    if (status != TN_OK) { fail_msg("%s", error.text); }
    status = schedule_draw(&plan, seed, round, &shape, out, &error);
    plan_free(&plan);
    if (status != TN_OK) { fail_msg("%s", error.text); }
}

/* A schedule as JSON text; malloc'ed. */
static char *describe(const struct schedule *schedule)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < schedule->count; i++) {
        json_array_append_new(list, injection_to_json(&schedule->list[i]));
    }
    char *text = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(list);
    return text;
}

#define ALL_TRIGGERS                                                                               \
    "{\"seconds\": 30, \"faults\": ["                                                              \
    "{\"fault\": \"kill\", \"selector\": [\"chief\", \"ps\"], \"every_s\": [0.5, 1], \"times\": "  \
    "2},"                                                                                          \
    "{\"fault\": \"freeze\", \"selector\": \"any\", \"at_progress\": [0.1, 0.9],"                  \
    " \"for_sessions\": [0.3, 10]},"                                                               \
    "{\"fault\": \"loss\", \"selector\": \"zookeeper\", \"in_phase\": \"loading\", \"pass\": [1, " \
    "3],"                                                                                          \
    " \"for_s\": 2, \"value\": [1, 20]},"                                                          \
    "{\"fault\": \"stall\", \"selector\": \"ps\", \"at_point\": \"ckpt.before_sync\", \"value\": " \
    "250,"                                                                                         \
    " \"after_s\": 1}]}"

static const char GOLDEN[] =
    "[{\"id\":1,\"fault\":\"kill\",\"selector\":\"ps:0\",\"trigger\":{\"type\":\"time\",\"at_ms\":"
    "890},"
    "\"for_ms\":0,\"value\":0.0},{\"id\":2,\"fault\":\"kill\",\"selector\":\"chief\",\"trigger\":{"
    "\"type\":\"time\",\"at_ms\":1711},\"for_ms\":0,\"value\":0.0},{\"id\":3,\"fault\":\"freeze\","
    "\"selector\":\"coordinator:0\",\"trigger\":{\"type\":\"step\",\"step\":562},\"for_ms\":1765,"
    "\"value\":0.0},{\"id\":4,\"fault\":\"loss\",\"selector\":\"zookeeper:3\",\"trigger\":{"
    "\"type\":"
    "\"phase\",\"phase\":\"loading\",\"count\":2},\"for_ms\":2000,\"value\":7.605},{\"id\":5,"
    "\"fault\":\"stall\",\"selector\":\"ps\",\"trigger\":{\"type\":\"point\",\"point\":"
    "\"ckpt.before_sync\",\"count\":1,\"at_ms\":1000},\"for_ms\":0,\"value\":250.0}]";

/* A seed makes the faults that it made in earlier versions. */
static void schedule_is_golden(void **state)
{
    (void)state;
    struct schedule schedule;
    draw(ALL_TRIGGERS, 7, 3, &schedule);
    char *text = describe(&schedule);
    assert_string_equal(text, GOLDEN);
    free(text);
    schedule_free(&schedule);
}

/* Another seed or another round makes another schedule. */
static void seeds_and_rounds_differ(void **state)
{
    (void)state;
    char *texts[4];
    for (uint32_t i = 0; i < 4; i++) {
        struct schedule schedule;
        draw(ALL_TRIGGERS, i / 2, i % 2, &schedule);
        texts[i] = describe(&schedule);
        schedule_free(&schedule);
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++) { assert_string_not_equal(texts[i], texts[j]); }
    }
    for (int i = 0; i < 4; i++) { free(texts[i]); }
}

/* A repeated fault keeps its interval, and ends with the plan's seconds. */
static void interval_is_kept(void **state)
{
    (void)state;
    struct schedule schedule;
    draw("{\"seconds\": 100, \"faults\": [{\"fault\": \"kill\", \"selector\": \"ps\", \"every_s\": "
         "[1, 2]}]}",
         1, 1, &schedule);
    assert_in_range(schedule.count, 49, 100);
    for (uint32_t i = 0; i < schedule.count; i++) {
        uint64_t before = i ? schedule.list[i - 1].trigger.at_ms : 0;
        assert_in_range(schedule.list[i].trigger.at_ms - before, 1000, 2000);
        assert_true(schedule.list[i].trigger.at_ms < 100000);
        assert_int_equal(schedule.list[i].id, i + 1);
    }
    schedule_free(&schedule);
}

/* Drawn values stay within their ranges, and each node is drawn. */
static void ranges_are_kept(void **state)
{
    (void)state;
    struct schedule schedule;
    unsigned seen = 0;
    draw("{\"faults\": [{\"fault\": \"freeze\", \"selector\": \"any\", \"at_progress\": [0.1, 0.9],"
         "\"for_sessions\": [1, 4], \"times\": 200}]}",
         5, 1, &schedule);
    assert_int_equal(schedule.count, 200);
    for (uint32_t i = 0; i < schedule.count; i++) {
        static const char *const nodes[] = {"coordinator:0", "coordinator:1", "ps:0",    "ps:1",
                                            "worker:0",      "worker:1",      "worker:2"};
        assert_in_range(schedule.list[i].for_ms, 500, 2000);
        assert_in_range(schedule.list[i].trigger.step, 100, 900);
        for (unsigned j = 0; j < 7; j++) {
            if (strcmp(schedule.list[i].selector, nodes[j]) == 0) { seen |= 1U << j; }
        }
    }
    assert_int_equal(seen, 0x7f);
    schedule_free(&schedule);
}

/* Each further fault of a phase waits for a later occurrence of it. */
static void phases_are_counted_on(void **state)
{
    (void)state;
    struct schedule schedule;
    draw("{\"faults\": [{\"fault\": \"kill\", \"selector\": \"chief\", \"in_phase\": \"loading\","
         "\"pass\": [1, 3], \"times\": 20}]}",
         5, 1, &schedule);
    assert_int_equal(schedule.count, 20);
    for (uint32_t i = 1; i < schedule.count; i++) {
        assert_in_range(schedule.list[i].trigger.count - schedule.list[i - 1].trigger.count, 1, 3);
    }
    schedule_free(&schedule);
}

/* A plan that draws makes N drawn faults, and those of the lines that are always used. */
static void lines_are_drawn(void **state)
{
    (void)state;
    struct schedule schedule;
    unsigned kills = 0, wipes = 0, resigns = 0;
    draw("{\"draw\": 30, \"faults\": ["
         "{\"fault\": \"kill\", \"selector\": \"ps\", \"every_s\": 1, \"times\": 3, \"always\": "
         "true},"
         "{\"fault\": \"wipe\", \"at_progress\": [0, 1]},"
         "{\"fault\": \"resign\", \"after_s\": [0, 9]}]}",
         2, 1, &schedule);
    for (uint32_t i = 0; i < schedule.count; i++) {
        kills += schedule.list[i].fault == FAULT_KILL;
        wipes += schedule.list[i].fault == FAULT_WIPE;
        resigns += schedule.list[i].fault == FAULT_RESIGN;
    }
    assert_int_equal(kills, 3);
    assert_int_equal(wipes + resigns, 30);
    assert_true(wipes > 5 && resigns > 5);
    schedule_free(&schedule);
}

/* The evaluator is a target by its role, by its name and as any node; a job may have none. */
static void evaluator_is_drawn(void **state)
{
    (void)state;
    struct plan plan;
    struct error error = {0};
    struct schedule schedule;
    const struct cluster_shape with = {.ps = 1, .evaluators = 1, .steps = 1000};
    json_t *json =
        json_pack("{s:[{s:s, s:[s, s], s:i, s:i}, {s:s, s:s, s:i, s:i}]}", "faults", "fault",
                  "kill", "selector", "evaluator", "evaluator:0", "every_s", 1, "times", 10,
                  "fault", "kill", "selector", "any", "every_s", 1, "times", 40);
    assert_int_equal(plan_from_json(json, &plan, &error), TN_OK);
    json_decref(json);
    assert_int_equal(schedule_draw(&plan, 1, 1, &with, &schedule, &error), TN_OK);
    unsigned found = 0;
    for (uint32_t i = 0; i < schedule.count; i++) {
        found += strcmp(schedule.list[i].selector, "evaluator:0") == 0;
    }
    assert_in_range(found, 11, 49);
    schedule_free(&schedule);
    assert_int_equal(schedule_draw(&plan, 1, 1, &shape, &schedule, &error), TN_EINVAL);
    assert_non_null(strstr(error.text, "the cluster has 0 evaluator: change the plan or the job"));
    plan_free(&plan);
}

/* Where no ps are, a worker keeps the parameters. */
static void workers_stand_for_absent_ps(void **state)
{
    (void)state;
    struct plan plan;
    struct error error = {0};
    struct schedule schedule;
    const struct cluster_shape without = {.workers = 3, .coordinators = 1, .steps = 1000};
    json_t *json = json_pack("{s:[{s:s, s:s, s:i, s:i}]}", "faults", "fault", "flip-bits",
                             "selector", "ps", "every_s", 1, "times", 10);
    assert_int_equal(plan_from_json(json, &plan, &error), TN_OK);
    json_decref(json);
    assert_int_equal(schedule_check(&plan, &without, &error), TN_OK);
    assert_int_equal(schedule_draw(&plan, 1, 1, &without, &schedule, &error), TN_OK);
    for (uint32_t i = 0; i < schedule.count; i++) {
        assert_int_equal(strncmp(schedule.list[i].selector, "worker:", 7), 0);
    }
    schedule_free(&schedule);
    plan_free(&plan);
}

/* Faults of GPUs, and faults at their failpoints, need a job that computes on GPUs. */
static void gpu_faults_need_gpus(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{\"fault\": \"gpu-lost\", \"selector\": \"worker\", \"after_s\": 1, \"for_s\": 1}",
        "{\"fault\": \"gpu-error\", \"at_point\": \"gpu.wait\"}",
        "{\"fault\": \"kill\", \"at_point\": \"gpu.mid_upload\"}",
        "{\"fault\": \"kill\", \"selector\": \"gpu\", \"after_s\": 1}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct plan plan;
        struct error error = {0};
        struct cluster_shape with = shape;
        json_t *json = json_pack("{s:[o]}", "faults", json_loads(lines[i], 0, NULL));
        assert_int_equal(plan_from_json(json, &plan, &error), TN_OK);
        json_decref(json);
        assert_int_equal(schedule_check(&plan, &shape, &error), TN_EINVAL);
        assert_non_null(strstr(error.text, "faults[0]: it is a fault of GPUs"));
        assert_non_null(strstr(error.text, "train.kernels=cuda"));
        with.worker_gpus = true;
        assert_int_equal(schedule_check(&plan, &with, &error), TN_OK);
        with = shape;
        with.ps_gpus = true;
        if (strstr(lines[i], "\"worker\"") == NULL) {
            assert_int_equal(schedule_check(&plan, &with, &error), TN_OK);
        } else { /* Workers that are named have none. */
            assert_int_equal(schedule_check(&plan, &with, &error), TN_EINVAL);
            assert_non_null(strstr(error.text, "computes on no GPU in this job: give \"gpu\""));
        }
        plan_free(&plan);
    }
}

/* Where no ps are, "ps" selects a worker, which has a GPU if workers have, and "ps:0" nothing. */
static void workers_have_the_gpus_of_a_job_without_ps(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool worker_gpus;
        const char *refusal; /* NULL: it is not refused. */
    } cases[] = {
        {"{\"fault\": \"gpu-lost\", \"selector\": \"ps\", \"after_s\": 1, \"for_s\": 1}", true,
         NULL},
        {"{\"fault\": \"kill\", \"selector\": \"ps\", \"at_point\": \"gpu.wait\"}", true, NULL},
        {"{\"fault\": \"gpu-lost\", \"selector\": \"ps:0\", \"after_s\": 1, \"for_s\": 1}", true,
         "\"ps:0\": the cluster has 0 ps"},
        {"{\"fault\": \"gpu-lost\", \"selector\": \"ps\", \"after_s\": 1, \"for_s\": 1}", false,
         "it is a fault of GPUs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct error error = {0};
        const struct cluster_shape without = {
            .workers = 3, .coordinators = 1, .steps = 100, .worker_gpus = cases[i].worker_gpus};
        json_t *json = json_pack("{s:[o]}", "faults", json_loads(cases[i].line, 0, NULL));
        assert_int_equal(plan_from_json(json, &plan, &error), TN_OK);
        json_decref(json);
        const enum tn_status expected = cases[i].refusal == NULL ? TN_OK : TN_EINVAL;
        assert_int_equal(schedule_check(&plan, &without, &error), expected);
        if (cases[i].refusal != NULL) { assert_non_null(strstr(error.text, cases[i].refusal)); }
        plan_free(&plan);
    }
}

/* "gpu" draws each of the nodes that compute on GPUs, and no other. */
static void gpu_is_a_node_with_a_gpu(void **state)
{
    (void)state;
    struct cluster_shape with = {.coordinators = 2, .ps = 2, .workers = 3};
    char target[SELECTOR_MAX];
    for (int case_number = 1; case_number < 4; case_number++) {
        unsigned ps = 0, workers = 0;
        with.ps_gpus = (case_number & 1) != 0;
        with.worker_gpus = (case_number & 2) != 0;
        for (uint64_t i = 0; i < 100; i++) {
            struct random random = {i};
            assert_int_equal(selector_draw("gpu", &with, &random, target, NULL), TN_OK);
            struct task task;
            assert_true(task_parse(target, &task));
            *(task.role == ROLE_PS ? &ps : &workers) |= 1U << task.index;
            assert_true(task.role == ROLE_PS || task.role == ROLE_WORKER);
        }
        assert_int_equal(ps, with.ps_gpus ? 3 : 0);
        assert_int_equal(workers, with.worker_gpus ? 7 : 0);
    }
    with.ps_gpus = with.worker_gpus = false;
    struct random random = {1};
    assert_int_equal(selector_draw("gpu", &with, &random, target, NULL), TN_EINVAL);
}

/* Workers have GPUs if the job computes on them, and ps if they update on them. */
static void shape_has_the_gpus_of_the_job(void **state)
{
    (void)state;
    struct job job;
    job_init(&job);
    assert_false(cluster_shape_of(&job).worker_gpus);
    assert_int_equal(job_set(&job, "train.kernels=cuda", NULL), TN_OK);
    assert_true(cluster_shape_of(&job).worker_gpus);
    assert_false(cluster_shape_of(&job).ps_gpus);
    job.train.ps_kernels = JOB_PS_KERNELS_CUDA;
    assert_true(cluster_shape_of(&job).ps_gpus);
}

/* An added line does not change the faults of the others. */
static void lines_are_independent(void **state)
{
    (void)state;
    struct schedule one, two;
    draw("{\"faults\": [{\"fault\": \"kill\", \"selector\": \"any\", \"after_s\": [0, 9]}]}", 3, 1,
         &one);
    draw("{\"faults\": [{\"fault\": \"kill\", \"selector\": \"any\", \"after_s\": [0, 9]},"
         "{\"fault\": \"resign\", \"at_progress\": 0.5}]}",
         3, 1, &two);
    assert_true(one.count == 1 && two.count == 2);
    assert_string_equal(one.list[0].selector, two.list[0].selector);
    assert_int_equal(one.list[0].trigger.at_ms, two.list[0].trigger.at_ms);
    schedule_free(&one);
    schedule_free(&two);
}

/* A plan for a larger cluster is refused, with the line. */
static void absent_targets_are_refused(void **state)
{
    (void)state;
    static const char *const absent[] = {"ps:2", "zookeeper:4", "worker:3"};
    for (int i = 0; i < 3; i++) {
        struct plan plan;
        struct schedule schedule;
        struct error error = {0};
        json_t *json = json_pack("{s:[{s:s, s:s, s:i}]}", "faults", "fault", "kill", "selector",
                                 absent[i], "after_s", 1);
        assert_int_equal(plan_from_json(json, &plan, &error), TN_OK);
        assert_int_equal(schedule_check(&plan, &shape, &error), TN_EINVAL);
        assert_non_null(strstr(error.text, "faults[0].selector: "));
        assert_int_equal(schedule_draw(&plan, 1, 1, &shape, &schedule, &error), TN_EINVAL);
        assert_non_null(strstr(error.text, "faults[0].selector: "));
        assert_non_null(strstr(error.text, absent[i]));
        assert_null(schedule.list);
        plan_free(&plan);
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_is_golden),
        cmocka_unit_test(seeds_and_rounds_differ),
        cmocka_unit_test(interval_is_kept),
        cmocka_unit_test(ranges_are_kept),
        cmocka_unit_test(phases_are_counted_on),
        cmocka_unit_test(lines_are_drawn),
        cmocka_unit_test(evaluator_is_drawn),
        cmocka_unit_test(workers_stand_for_absent_ps),
        cmocka_unit_test(lines_are_independent),
        cmocka_unit_test(absent_targets_are_refused),
        cmocka_unit_test(gpu_faults_need_gpus),
        cmocka_unit_test(shape_has_the_gpus_of_the_job),
        cmocka_unit_test(gpu_is_a_node_with_a_gpu),
        cmocka_unit_test(workers_have_the_gpus_of_a_job_without_ps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
