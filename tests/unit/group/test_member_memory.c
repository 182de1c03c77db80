/* group/member_memory.h: a member needs memory for its own parts alone. */
#include "group/member_memory.h"

#include "tests/unit/group/group_job.h"

static uint64_t bytes_of(const struct job *job, uint32_t member, uint32_t members)
{
    struct model *model = group_job_model(job);
    struct training_cut cut;
    struct evaluation_cut evaluation;
    struct error error;
    uint64_t bytes = 0;
    assert_int_equal(training_cut_create(model->graph, members, &cut, NULL), TN_OK);
    assert_int_equal(evaluation_cut_create(&cut, &evaluation, NULL), TN_OK);
    const struct member_memory_config config = {
        .cut = &cut,
        .evaluation = &evaluation,
        .task = member,
        .slices = job->train.slices,
        .batch = job->train.batch,
        .chunk = 4,
        .kernels = "portable",
    };
    if (member_memory_plan(&config, &bytes, &error) != TN_OK) { fail_msg("%s", error.text); }
    evaluation_cut_free(&evaluation);
    training_cut_free(&cut);
    model_close(model);
    return bytes;
}

/* Member 1 has a layer of 1000 * 500 weights, whose gradient is 2 MB; member 0 has little. */
static void the_layers_of_a_member_count(void **state)
{
    (void)state;
    struct job job;
    group_job_init(&job);
    group_job_set(&job, "model.layers=[{\"dense\": {\"units\": 10}, \"task\": 0}, "
                        "{\"dense\": {\"units\": 1000}, \"task\": 1}, {\"dense\": 500}, "
                        "{\"dense\": 3}]");
    const uint64_t first = bytes_of(&job, 0, MEMBERS), second = bytes_of(&job, 1, MEMBERS);
    assert_true(first > 0 && first < 100000);
    assert_true(second > 1000 * 500 * sizeof(float));
}

/* More examples in a slice need more memory. */
static void examples_count(void **state)
{
    (void)state;
    struct job job;
    group_job_init(&job);
    const uint64_t few = bytes_of(&job, 0, MEMBERS);
    group_job_set(&job, "train.slices=1");
    assert_true(bytes_of(&job, 0, MEMBERS) > few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layers_of_a_member_count),
        cmocka_unit_test(examples_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
