/* ps/shard_gpu.h: a shard on a GPU has the bits of one on the CPU: all optimizers, numbers of
 * slices and groupings, sizes and special values, also when an update is made by parts, and in all
 * orders that events allow. */
#include "ps/shard_gpu.h"

#include "tests/unit/ps/gpu_pair.h"

/* All arrays and answers. */
static void compare_pair(const char *what)
{
    assert_true(shard_copy_state(&pair[1]));
    for (uint32_t a = 0; a < pair[0].arrays; a++) {
        compare(what, pair[0].current[a], pair[1].current[a]);
    }
    compare(what, pair[0].answer, pair[1].answer);
    assert_int_equal(pair[0].updates, pair[1].updates);
}

/* The norms of both, as the ps with a norm of all others' would have them. */
static void measure_pair(const struct slice_node *parts, uint32_t count)
{
    if (!optimizer_needs_norms(&pair[0].config.optimizer)) { return; }
    struct measurement found[2];
    EACH(shard)
    {
        assert_true(shard_measure(shard, parts, count, &found[shard - pair]));
        shard->config.optimizer.norm = norm_of(&found[shard - pair].whole);
        for (uint32_t v = 0; v < variables.count; v++) {
            shard->config.optimizer.norms[v] = (struct variable_norms){3.5, 0.25 + v};
        }
    }
    assert_true(norm_of(&found[0].whole) == norm_of(&found[1].whole) ||
                isnan(norm_of(&found[0].whole)));
}

static void train_pair(const char *what, const struct slice_node *parts, uint32_t count)
{
    for (uint64_t step = 0; step < STEPS; step++) {
        EACH(shard)
        {
            (void)shard_release_previous(shard);
            for (uint32_t i = 0; i < count; i++) { hold(shard, parts[i], step); }
        }
        measure_pair(parts, count);
        EACH(shard)
        {
            assert_true(shard_apply(shard, parts, count));
        }
        compare(what, pair[0].previous, pair[1].previous);
        compare_pair(what);
    }
}

/* ------------------------------------------------------------------- tests */

/* Without memory on the host the state is not copied, and none of it is left there; training
 * continues, and later there may be memory. */
static void state_is_not_copied_without_memory(void **state)
{
    (void)state;
    enum { FLOATS = 5000 };
    const struct slice_node root = {0, 1};
    struct buffer_pool *unlimited = pool, *small = buffer_pool_create(4 * FLOATS * sizeof(float));
    assert_non_null(small);
    job.train.optimizer = OPTIMIZER_ADAM;
    open_pair(0, FLOATS, 1);
    train_pair("before", &root, 1);
    struct shard *shard = &pair[1];
    (void)shard_release_previous(shard);
    hold(shard, root, STEPS);
    assert_true(shard_apply(shard, &root, 1));
    shard->config.pool = small; /* One array of the state fits, and the other does not. */
    struct buffer *others[3];
    for (int i = 0; i < 3; i++) { others[i] = buffer_acquire(small, FLOATS * sizeof(float)); }
    assert_false(shard_copy_state(shard));
    assert_int_equal(shard->failure.status, TN_OK);
    assert_null(shard->current[1]);
    assert_false(shard_keep(shard, true));
    assert_null(shard->kept_arrays[0]);
    for (int i = 0; i < 3; i++) { buffer_release(others[i]); }
    assert_true(shard_keep(shard, true));
    assert_non_null(shard->kept_arrays[2]);
    shard->config.pool = unlimited;
    close_pair();
    buffer_pool_destroy(small);
}

/* Also with limits, decay and a moving average, and from an odd place on. */
static void optimizers_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const uint32_t slices[] = {1, 2, 3, 8};
    static const uint64_t counts[] = {1, 31, 768, 1024, 1025, 5003};
    for (int kind = 0; kind < OPTIMIZER_KINDS; kind++) {
        job.train.optimizer = (enum optimizer_kind)kind;
        for (size_t s = 0; s < COUNT(slices); s++) {
            for (size_t c = 0; c < COUNT(counts); c++) {
                const bool more = (s + c + (size_t)kind) % 2 == 0;
                job.train.weight_decay = more ? 0.01 : 0;
                job.train.clip_value = more ? 1.5 : 0;
                job.train.ema = c % 3 == 2 ? 0.75 : 0;
                all_values = c % 2 == 1;
                open_pair(s == 0 ? 0 : 1488, counts[c], slices[s]);
                train_pair(optimizer_name(job.train.optimizer), single_slices(slices[s]),
                           slices[s]);
                close_pair();
            }
        }
    }
}

/* More sums than there is room for whole pieces. */
static void many_slices_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    job.train.optimizer = OPTIMIZER_MOMENTUM;
    open_pair(16, 2500, SLICES_MAX);
    train_pair("256 slices", single_slices(SLICES_MAX), SLICES_MAX);
}

/* Whatever nodes are pushed. */
static void groups_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    static const struct slice_node groups[][3] = {
        {{0, 6}}, {{0, 4}, {4, 2}}, {{0, 4}, {4, 1}, {5, 1}}};
    job.train.optimizer = OPTIMIZER_ADAM;
    job.train.clip_norm = 0.5;
    for (uint32_t g = 0; g < 3; g++) {
        open_pair(32, 4001, 6);
        train_pair("groups", groups[g], g + 1);
        close_pair();
    }
}

/* Parts from the end on, and then the rest. */
static void parts_have_the_bits_of_the_cpu(void **state)
{
    (void)state;
    const struct slice_node *parts = single_slices(3);
    job.train.optimizer = OPTIMIZER_ADAM;
    open_pair(16, 5 * CHUNK + 77, 3);
    for (uint64_t step = 0; step < STEPS; step++) {
        EACH(shard)
        {
            const struct pushed_gradient *sums[3] = {NULL};
            (void)shard_release_previous(shard);
            for (uint32_t i = 0; i < 3; i++) { hold(shard, parts[i], step); }
            assert_true(shard_begin_update(shard));
            assert_true(shard_apply_chunks(shard, parts, sums, 3, 1));
            assert_true(shard_apply_chunks(shard, parts, sums, 3, 4));
        }
        const size_t done = pair[1].next.done;
        assert_int_equal(done, 3 * CHUNK + 77);
        assert_int_equal(pair[0].next.done, done);
        EACH(shard)
        {
            assert_true(shard_apply(shard, parts, 3));
        }
        compare_pair("parts");
    }
}

/* A push that is collected where the next values will be. */
static void placed_push_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    const struct slice_node *parts = single_slices(2);
    const uint64_t count = 3 * CHUNK + 5;
    job.train.optimizer = OPTIMIZER_NESTEROV;
    open_pair(0, count, 2);
    for (uint64_t step = 0; step < STEPS; step++) {
        EACH(shard)
        {
            (void)shard_release_previous(shard);
            struct pushed_gradient *placed = shard_begin_push(shard);
            assert_non_null(placed);
            for (uint32_t c = shard_chunks(shard); c-- > 0;) {
                const uint64_t at = c * CHUNK, size = u64_min(count - at, CHUNK);
                struct buffer *chunk = buffer_acquire(pool, size * sizeof(float));
                for (uint64_t i = 0; i < size; i++) {
                    ((float *)chunk->data)[i] = sum_at(parts[0], step, at + i);
                }
                pushed_gradient_add(placed, chunk);
            }
            shard_hold(shard, 0, placed);
            hold(shard, parts[1], step);
            assert_true(shard_apply(shard, parts, 2));
        }
        compare_pair("placed");
    }
}

/* The arrays that are kept of a step are loaded again, on the CPU and on the GPU. */
static void state_is_saved_and_loaded(void **state)
{
    (void)state;
    const struct slice_node root = {0, 1};
    job.train.optimizer = OPTIMIZER_ADAMW;
    job.train.ema = 0.5;
    open_pair(48, 2050, 1);
    train_pair("before", &root, 1);
    EACH(shard)
    {
        assert_true(shard_keep(shard, true));
    }
    train_pair("between", &root, 1);
    for (uint32_t a = 0; a < pair[0].arrays; a++) {
        compare("kept", pair[0].kept_arrays[a], pair[1].kept_arrays[a]);
    }
    /* Each continues with the state of the other. */
    EACH(shard)
    {
        assert_true(shard_begin_load(shard));
        struct shard *other = shard == pair ? pair + 1 : pair;
        for (uint32_t a = 0; a < shard->arrays; a++) {
            memcpy(shard->incoming[a]->data, other->kept_arrays[a]->data, shard->incoming[a]->size);
        }
    }
    EACH(shard)
    {
        assert_true(shard_adopt(shard, STEPS));
    }
    compare_pair("loaded");
    train_pair("after", &root, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(optimizers_have_the_bits_of_the_cpu), TEST(many_slices_have_the_bits_of_the_cpu),
        TEST(groups_have_the_bits_of_the_cpu),     TEST(parts_have_the_bits_of_the_cpu),
        TEST(placed_push_has_the_bits_of_the_cpu), TEST(state_is_saved_and_loaded),
        TEST(state_is_not_copied_without_memory),
    };
    int failed = 0;
    if (is_skipped(is_real())) { return SKIPPED; }
    open_gpu();
    for (size_t i = 0; i < COUNT(orders) && !(is_real() && i > 0); i++) {
        if (!is_real()) { setenv("TANIST_EMULATED_GPU", orders[i], 1); }
        print_message("%s\n", orders[i]);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    print_message("cuda: shards: %" PRIu64 " results compared, %d differ\n", compared, failed);
    return failed;
}
