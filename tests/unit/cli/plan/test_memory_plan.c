/* Predicted memory: what each task holds, and which jobs are refused. */
#include "cli/plan/memory_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/net/lane.h"

static const uint64_t MIB = 1 << 20;

static struct job job;
static struct variable_table variables;

/* A model of 64 MiB. */
static int set_up(void **state)
{
    (void)state;
    job_init(&job);
    memset(&variables, 0, sizeof variables);
    job.train.optimizer = OPTIMIZER_ADAM;
    job.train.slices = 4;
    job.checkpoint.every_seconds = 0;
    job.cluster.ps = 2;
    job.cluster.workers = 2;
    return variable_table_add(&variables, "w", 2, (const uint32_t[]){4096, 4096}, VARIABLE_ZEROS, 0,
                              NULL);
}

/* The values of two steps, two arrays of state, and the sums of two workers, of which one is where
 * the next values will be, unless averages are sent with them. */
static void test_ps_holds_two_steps_and_all_pushes(void **state)
{
    (void)state;
    struct memory_plan plan;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.ps_count, 2);
    for (uint32_t p = 0; p < 2; p++) {
        assert_int_equal(plan.ps[p].values, 32 * MIB);
        assert_int_equal(plan.ps[p].state, 64 * MIB);
        assert_int_equal(plan.ps[p].next, 32 * MIB);
        assert_int_equal(plan.ps[p].pushed, 32 * MIB);
        assert_int_equal(plan.ps[p].frames, 12 * MIB);
        assert_int_equal(plan.ps[p].saving, 0);
    }
    job.checkpoint.every_seconds = 10;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.ps[0].saving, 96 * MIB);
    job.evaluate.every_steps = 10; /* The values that are evaluated during a save. */
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.ps[0].saving, 128 * MIB);
    job.train.clip_norm = 1; /* Nothing is kept, and answers are copied. */
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.ps[0].saving, 96 * MIB);
    assert_int_equal(plan.ps[0].frames, 28 * MIB);
    job.train.clip_norm = 0;
    job.train.ps_kernels = JOB_PS_KERNELS_CUDA; /* The state is in the memory of the GPU. */
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.ps[0].state, 0);
    assert_int_equal(plan.ps[0].saving, 96 * MIB);
    assert_in_range(plan.ps[0].device, 96 * MIB, (96 + 72) * MIB);
    assert_in_range(plan.ps[0].pinned, 1, 80 * MIB);
    assert_int_equal(plan.worker.shared, 0);
    job.train.ps_kernels = JOB_PS_KERNELS_CPU;
    job.train.ema = 0.5;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.ps[0].pushed, 64 * MIB);
}

/* A worker with two slices sums them in one level above its gradient; one with all four in two. */
static void test_worker_holds_its_nodes_and_levels(void **state)
{
    (void)state;
    struct memory_plan plan;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.worker.values, 64 * MIB);
    assert_int_equal(plan.worker.gradients, 128 * MIB);
    job.cluster.workers = 1;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.worker.gradients, 192 * MIB);
    assert_int_equal(plan.ps[0].pushed, 0);
    /* Slices 0 to 2 are two nodes, [0, 2) and [2, 3). */
    job.train.slices = 6;
    job.cluster.workers = 2;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.worker.gradients, 3 * 64 * MIB);
}

/* Three threads have these subtrees of eight slices: 0-1 2 | 3 4-5 | 6-7. Each subtree has a
 * gradient, and each thread one for the level below. */
static void test_threads_with_uneven_shares(void **state)
{
    (void)state;
    struct memory_plan plan;
    job.cluster.workers = 1;
    job.train.slices = 8;
    job.train.threads = 3;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.worker.gradients, (5 + 3) * 64 * MIB);
    job.train.threads = 4; /* Two slices each. */
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.worker.gradients, (4 + 4) * 64 * MIB);
    job.train.threads = 16;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.worker.gradients, 8 * 64 * MIB);
}

/* A ps on a GPU has the state on its host as well if norms need it, which is in each step. */
static void test_state_for_norms_is_copied(void **state)
{
    (void)state;
    struct memory_plan plan;
    job.train.ps_kernels = JOB_PS_KERNELS_CUDA;
    job.train.optimizer = OPTIMIZER_LARS;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.ps[0].state, 0);
    assert_int_equal(plan.ps[0].saving, plan.ps[0].values); /* LARS has one array of state. */
    job.train.optimizer = OPTIMIZER_LAMB;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.ps[0].state, 64 * MIB);
    assert_true(plan.ps[0].device > 96 * MIB);
}

static void assert_two_steps(uint64_t each)
{
    struct memory_plan plan;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.worker.values, 2 * each);
    assert_int_equal(plan.worker.shared, 0);
}

/* A worker uses the values of long shards in the memory of the ps, where they count once. It has
 * two steps of its own if the ps keeps no such memory, or if they exchange frames over TCP; there,
 * the next values also arrive while it computes (P17). */
static void test_values_may_be_those_of_the_ps(void **state)
{
    (void)state;
    struct memory_plan plan, tcp;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.worker.values, 64 * MIB);
    assert_int_equal(plan.worker.shared, 64 * MIB);
    const struct job original = job;
    job.transport.lane = LANE_TCP;
    memory_plan_parameters(&job, &variables, &tcp);
    assert_int_equal(tcp.worker.values, 3 * 64 * MIB);
    assert_int_equal(tcp.worker.shared, 0);
    assert_int_equal(memory_of_worker(&tcp.worker) - memory_of_worker(&plan.worker), 128 * MIB);
    assert_int_equal(memory_of_all(&tcp) - memory_of_all(&plan), 2 * 192 * MIB - plan.lanes_bytes);
    job.cluster.ps = 32;
    assert_two_steps(64 * MIB);
    job = original;
    job.train.clip_norm = 1;
    assert_two_steps(64 * MIB);
    job = original;
    job.train.mode = TRAIN_ASYNC;
    assert_two_steps(64 * MIB);
    job = original;
    job.train.ema = 0.5;
    assert_two_steps(128 * MIB);
    job = original;
    job.cluster.ps = 32; /* Shards of two chunks. */
    assert_two_steps(64 * MIB);
}

/* Worker and ps share the memory of their lane, which exists only if they may use one. */
static void test_lanes_count_once_for_each_pair(void **state)
{
    (void)state;
    struct memory_plan plan, tcp;
    job.cluster.workers = 3;
    memory_plan_parameters(&job, &variables, &plan);
    const uint64_t most = LANE_HEADS_BYTES + 2 * LANE_RING_BYTES + 2 * SLOTS * (uint64_t)SLOT_BYTES;
    assert_int_equal(plan.lanes_bytes, 3 * 2 * most);
    assert_true(most <= LANE_BYTES);
    variables = (struct variable_table){0};
    assert_int_equal(
        variable_table_add(&variables, "w", 1, (const uint32_t[]){4096}, VARIABLE_ZEROS, 0, NULL),
        TN_OK);
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(plan.lanes_bytes, 3 * 2 * (LANE_HEADS_BYTES + 2 * LANE_RING_BYTES + 2 * 8192));
    job.transport.lane = LANE_TCP;
    memory_plan_parameters(&job, &variables, &tcp);
    assert_int_equal(tcp.lanes_bytes, 0);
    assert_int_equal(memory_of_all(&plan) - memory_of_all(&tcp), plan.lanes_bytes);
}

/* Workers beyond the number of slices push nothing, but exist. */
static void test_idle_workers_count(void **state)
{
    (void)state;
    struct memory_plan plan, more;
    job.cluster.workers = 4;
    memory_plan_parameters(&job, &variables, &plan);
    job.cluster.workers = 5;
    memory_plan_parameters(&job, &variables, &more);
    assert_int_equal(more.ps[0].pushed, plan.ps[0].pushed);
    assert_int_equal(memory_of_all(&more) - memory_of_all(&plan),
                     memory_of_worker(&more.worker) - more.worker.shared +
                         UINT64_C(2) * lane_used_bytes(32 * MIB));
}

/* Workers of a process have one copy of the data. */
static void test_workers_of_a_process_share_data(void **state)
{
    (void)state;
    struct memory_plan apart, together;
    job.cluster.workers = 5;
    memory_plan_parameters(&job, &variables, &apart);
    job.cluster.workers_per_process = 2;
    memory_plan_parameters(&job, &variables, &together);
    apart.member[0].data = together.member[0].data = 10 * MIB;
    const uint64_t process = memory_of_worker(&(struct worker_memory){.data = 10 * MIB});
    assert_int_equal(memory_of_all(&apart) - memory_of_all(&together), 2 * process);
}

static void check_refused(uint64_t available, const char *remedy)
{
    struct error error = {0};
    assert_int_equal(memory_plan_check(&job, &variables, NULL, available, &error), TN_EINVAL);
    if (strstr(error.text, remedy) == NULL) { fail_msg("%s\nlacks: %s", error.text, remedy); }
}

static void test_refusals_name_the_number_of_ps(void **state)
{
    (void)state;
    struct memory_plan plan;
    job.train.slices = 2; /* One gradient of each worker, as if slices were computed in one run. */
    memory_plan_parameters(&job, &variables, &plan);
    const uint64_t all = memory_of_all(&plan);
    assert_int_equal(memory_plan_check(&job, &variables, NULL, all, NULL), TN_OK);
    assert_int_equal(memory_plan_check(&job, &variables, NULL, 0, NULL), TN_OK); /* Unknown. */
    check_refused(all - 1, "the smallest number that fits is cluster.ps=1");
    job.cluster.ps = 1;
    /* A worker with values of its own needs 264 MiB, or 200 with short shards, the ps 404, and
     * each of two 212. */
    check_refused(264 * MIB, "cluster.ps=2 is the smallest that fits");
    check_refused(212 * MIB, "cluster.ps=16 is the smallest that fits");
    check_refused(199 * MIB, "no number of ps fits, not even on hosts of their own");
}

/* A replica updates values and state in place, and has them twice while another worker fetches
 * them. It has the sums of this step and of the kept ones. */
static void test_kept_sums_count(void **state)
{
    (void)state;
    struct memory_plan plan;
    job.strategy.type = STRATEGY_TYPE_MIRROR;
    job.cluster.ps = 0;
    memory_plan_parameters(&job, &variables, &plan);
    const uint64_t gradients = plan.worker.gradients;
    assert_int_equal(plan.worker.values, 2 * 3 * 64 * MIB);
    job.strategy.keep_sums = 0;
    memory_plan_parameters(&job, &variables, &plan);
    assert_int_equal(gradients - plan.worker.gradients, 64 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ps_holds_two_steps_and_all_pushes, set_up),
        cmocka_unit_test_setup(test_worker_holds_its_nodes_and_levels, set_up),
        cmocka_unit_test_setup(test_threads_with_uneven_shares, set_up),
        cmocka_unit_test_setup(test_state_for_norms_is_copied, set_up),
        cmocka_unit_test_setup(test_values_may_be_those_of_the_ps, set_up),
        cmocka_unit_test_setup(test_lanes_count_once_for_each_pair, set_up),
        cmocka_unit_test_setup(test_idle_workers_count, set_up),
        cmocka_unit_test_setup(test_workers_of_a_process_share_data, set_up),
        cmocka_unit_test_setup(test_kept_sums_count, set_up),
        cmocka_unit_test_setup(test_refusals_name_the_number_of_ps, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
