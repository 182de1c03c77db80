/* C13: the arithmetic and the data of a run are those of its newest checkpoint, or else of its
 * first ready worker; a worker that differs gets no slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"

static const struct inputs haswell = {.fingerprint = "blas; kernels for Haswell", .data = {1, 2}};
static const struct inputs zen = {.fingerprint = "blas; kernels for Zen", .data = {1, 2}};
static const struct inputs other_data = {.fingerprint = "blas; kernels for Haswell",
                                         .data = {1, 3}};

static int setup(void **state)
{
    (void)state;
    configure();
    config.same_bits = true;
    config.min_workers = 2;
    return 0;
}

/* A chief with both ps and two ready workers that have these inputs. */
static void begin_with(const struct inputs *first, const struct inputs *second,
                       const struct chief_checkpoint *checkpoint)
{
    begin();
    elected(1, NULL, NULL, checkpoint, checkpoint != NULL);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        report(ROLE_PS, i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_WORKER, i, 20 + i, NULL);
        reports[1][i].inputs = i == 0 ? *first : *second;
        worker_ready(i);
        write_all();
    }
}

static void first_worker_determines_the_inputs(void **state)
{
    (void)state;
    begin_with(&haswell, &haswell, NULL);
    assert_int_equal(chief.run.phase, RUN_LOADING);
    assert_string_equal(chief.run.inputs.fingerprint, haswell.fingerprint);
    assert_int_equal(chief.run.inputs.data[1], 2);
    assert_string_equal(chief.run.inputs.from, "worker:0");
}

static void differing_worker_is_refused_and_named(void **state)
{
    (void)state;
    begin_with(&haswell, &zen, NULL);
    assert_int_equal(chief.run.phase, RUN_FORMING);
    assert_string_equal(chief.run.reason,
                        "waiting for workers (1 of 2 ready; worker:1 refused: other kernels)");
    setup(state);
    begin_with(&haswell, &other_data, NULL);
    assert_int_equal(chief.run.phase, RUN_FORMING);
    assert_non_null(strstr(chief.run.reason, "worker:1 refused: other data"));
}

static void differing_worker_gets_no_slices(void **state)
{
    (void)state;
    config.min_workers = 1;
    begin_with(&haswell, &zen, NULL);
    assert_int_equal(chief.run.phase, RUN_LOADING);
    assert_int_equal(chief.assignment.slice_count, 4);
    for (uint32_t v = 0; v < 4; v++) { assert_int_equal(chief.assignment.worker[v], 0); }
}

static void mixture_of_fingerprints_is_permitted_on_request(void **state)
{
    (void)state;
    config.same_bits = false;
    begin_with(&haswell, &zen, NULL);
    assert_int_equal(chief.run.phase, RUN_LOADING);
    assert_string_equal(chief.run.inputs.fingerprint, "");
    setup(state);
    config.same_bits = false;
    begin_with(&haswell, &other_data, NULL); /* But never of data. */
    assert_int_equal(chief.run.phase, RUN_FORMING);
}

static void checkpoint_comes_before_workers(void **state)
{
    (void)state;
    const struct chief_checkpoint checkpoint = {.id = 7, .step = 50, .inputs = zen};
    begin_with(&haswell, &zen, &checkpoint);
    assert_string_equal(chief.run.inputs.fingerprint, zen.fingerprint);
    assert_string_equal(chief.run.inputs.from, "checkpoint 7");
    assert_non_null(strstr(chief.run.reason, "worker:0 refused"));
}

/* After ZooKeeper lost its data, the inputs of the newest checkpoint on a disk count. */
static void checkpoint_on_a_disk_comes_before_workers(void **state)
{
    (void)state;
    begin();
    elected(3, NULL, NULL, NULL, 0);
    written();
    member(ROLE_WORKER, 0, 20, NULL);
    reports[1][0].inputs = haswell;
    worker_ready(0);
    write_all();
    assert_string_equal(chief.run.inputs.fingerprint, "");
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        reports[0][i].disk_checkpoint = 8;
        reports[0][i].disk_step = 80;
        reports[0][i].inputs = zen;
        report(ROLE_PS, i);
        write_all();
    }
    assert_string_equal(chief.run.inputs.fingerprint, zen.fingerprint);
    assert_string_equal(chief.run.inputs.from, "checkpoint 8");
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_worker_determines_the_inputs),
        TEST(differing_worker_is_refused_and_named),
        TEST(differing_worker_gets_no_slices),
        TEST(mixture_of_fingerprints_is_permitted_on_request),
        TEST(checkpoint_comes_before_workers),
        TEST(checkpoint_on_a_disk_comes_before_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
