/* ps/shard_gpu.h: without any of its waits, a shard on a GPU has other bits; too little memory and
 * a GPU that fails are reported. With settings of the emulated driver only. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/ps/gpu_pair.h"

/* ------------------------------------------------------- missing waits */

static const struct gpu_queues *real;
static struct gpu_queues counted;
static uint32_t waits, left_out; /* The number of the wait that is left out, from 1 on. */

static enum tn_status follow(enum gpu_queue queue, struct gpu_event *event, struct error *error)
{
    return ++waits == left_out ? TN_OK : real->follow(queue, event, error);
}

static enum tn_status await(struct gpu_event *event, struct error *error)
{
    return ++waits == left_out ? TN_OK : real->await(event, error);
}

/* Two steps with three pieces each; whether the bits are those of the CPU. With one slice:
 * otherwise a kernel may find addresses that have not arrived. */
static bool trains_equally(void)
{
    const struct slice_node root = {0, 1};
    bool equal = true;
    open_pair(0, 2 * PIECE + 100, 1);
    waits = 0;
    for (uint64_t step = 0; step < 2; step++) {
        EACH(shard)
        {
            (void)shard_release_previous(shard);
            hold(shard, root, step);
            assert_true(shard_apply(shard, &root, 1));
        }
        const struct buffer *values = pair[0].current[0];
        equal =
            equal && first_difference(values, pair[1].current[0]) * sizeof(float) == values->size;
    }
    const uint32_t used = waits;
    assert_true(shard_copy_state(&pair[1]));
    for (uint32_t a = 1; a < pair[0].arrays; a++) {
        const struct buffer *array = pair[0].current[a];
        equal = equal && first_difference(array, pair[1].current[a]) * sizeof(float) == array->size;
    }
    close_pair();
    waits = used;
    return equal;
}

/* Each wait is needed: without it the bits differ in some order. */
static void missing_waits_are_found(void **state)
{
    (void)state;
    const struct cuda_library *whole = library;
    struct cuda_library copy = *library;
    job.train.optimizer = OPTIMIZER_MOMENTUM;
    real = library->queues;
    counted = *real;
    counted.follow = follow;
    counted.await = await;
    copy.queues = &counted;
    library = &copy;
    left_out = 0;
    assert_true(trains_equally());
    const uint32_t all = waits;
    assert_int_equal(all, 2 * 3 * 3);
    for (uint32_t wait = 1; wait <= all; wait++) {
        bool found = false;
        left_out = wait;
        for (size_t i = 0; i < COUNT(orders) && !found; i++) {
            setenv("TANIST_EMULATED_GPU", orders[i], 1);
            found = !trains_equally();
        }
        if (!found) { fail_msg("without wait %u the bits are the same", wait); }
    }
    left_out = 0;
    library = whole;
}

/* -------------------------------------------------------------- failures */

/* Errors name the GPU, and the bytes that are needed. */
static void too_little_memory_is_named(void **state)
{
    (void)state;
    job.train.optimizer = OPTIMIZER_ADAM;
    struct shard_config config = {.kernels = kernels_reference(),
                                  .optimizer = optimizer_of_job(&job, &variables),
                                  .pool = pool,
                                  .count = 9000,
                                  .slices = 1,
                                  .chunk_bytes = CHUNK_BYTES,
                                  .gpu = {library, 0, PIECE}};
    struct error error = {.text = ""};
    static struct shard small;
    assert_int_equal(shard_open(&small, &config, &error), TN_EDEVICE);
    const struct shard_gpu_size size = shard_gpu_size(9000, 3, 1, PIECE);
    char bytes[48];
    snprintf(bytes, sizeof bytes, "%" PRIu64 " bytes", size.device_bytes);
    for (int i = 0; i < 4; i++) {
        const char *texts[] = {bytes, "/gpu:0", "train.ps_kernels=cpu", "are free"};
        if (strstr(error.text, texts[i]) == NULL) { fail_msg("%s: %s", texts[i], error.text); }
    }
    buffer_pool_destroy(pool);
}

/* The GPU fails in the middle of the updates: they report it, and can be closed. */
static void failure_is_reported(void **state)
{
    (void)state;
    const struct slice_node root = {0, 1};
    job.train.optimizer = OPTIMIZER_ADAM;
    open_pair(0, 5000, 1);
    bool applied = true;
    for (uint64_t step = 0; step < 40 && applied; step++) {
        (void)shard_release_previous(&pair[1]);
        hold(&pair[1], root, step);
        applied = shard_apply(&pair[1], &root, 1);
    }
    assert_false(applied);
    assert_int_equal(pair[1].failure.status, TN_EDEVICE);
    assert_non_null(strstr(pair[1].failure.text, "/gpu:0"));
    assert_non_null(strstr(pair[1].failure.text, "CUDA_ERROR_LAUNCH_FAILED"));
    assert_false(shard_copy_state(&pair[1]));
}

/* A process has one driver, which reads its settings when it is opened. */
static int run_with(const char *settings, const struct CMUnitTest *test)
{
    int status = -1;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        setenv("TANIST_EMULATED_GPU", settings, 1);
        open_gpu();
        const struct CMUnitTest tests[] = {*test};
        const int failed = cmocka_run_group_tests(tests, NULL, NULL);
        (void)fflush(NULL);
        _exit(failed);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) { return 1; }
    return status == 0 ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest memory = cmocka_unit_test_setup(too_little_memory_is_named, set_up);
    const struct CMUnitTest failure = TEST(failure_is_reported);
    const struct CMUnitTest tests[] = {TEST(missing_waits_are_found)};
    if (is_real() || is_skipped(false)) { return SKIPPED; }
    int failed = run_with("memory=100000", &memory);
    failed += run_with("operations=200,error=719", &failure);
    open_gpu();
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
