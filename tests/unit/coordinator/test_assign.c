/* The assignment of slices to workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/random.h"
#include "coordinator/assign.h"

enum { WORKERS = 32, SLICE_NS = 1000 };

static struct assignment now;

/* One assignment: `ready` as a string of '1' and '0'; owners as one digit a slice, '-' for none. */
static void expect(uint32_t slices, const char *ready, const char *owners)
{
    struct assign_input input = {.slices = slices, .push_ns = 1};
    struct assignment out;
    char text[SLICES_MAX + 1] = {0};
    for (size_t i = 0; i < strlen(ready); i++) { input.ready[i] = ready[i] == '1'; }
    assign_slices(&now, &input, &out);
    for (uint32_t v = 0; v < out.slice_count; v++) {
        text[v] = out.worker[v] == UINT16_MAX ? '-' : (char)('0' + out.worker[v]);
    }
    assert_string_equal(text, owners);
    now = out;
}

static struct assign_input equal_workers(uint32_t slices, uint32_t workers, uint64_t push_ns)
{
    struct assign_input input = {.slices = slices, .push_ns = push_ns};
    for (uint32_t w = 0; w < workers; w++) {
        input.ready[w] = true;
        input.slice_ns[w] = SLICE_NS;
    }
    return input;
}

static uint32_t owned_by(const struct assignment *assignment, uint32_t worker)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < assignment->slice_count; v++) {
        count += assignment->worker[v] == worker;
    }
    return count;
}

static uint32_t moved(const struct assignment *a, const struct assignment *b)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < a->slice_count; v++) { count += a->worker[v] != b->worker[v]; }
    return count;
}

/* The time of a step, computed without assign.c: the covers of all workers are what they push. */
static uint64_t step_ns(const struct assign_input *input, const struct assignment *assignment)
{
    uint64_t longest = 0, pushes = 0;
    for (uint32_t w = 0; w < WORKERS_MAX; w++) {
        struct slice_set set = {0};
        struct slice_node nodes[SLICES_MAX];
        for (uint32_t v = 0; v < assignment->slice_count; v++) {
            if (assignment->worker[v] == w) { slice_set_add(&set, (struct slice_node){v, 1}); }
        }
        longest = u64_max(longest, slice_set_count(&set) * input->slice_ns[w]);
        pushes += slices_cover(assignment->slice_count, &set, nodes);
    }
    assert_int_equal(assign_pushes(assignment), pushes);
    return longest + pushes * input->push_ns;
}

static void contiguous(uint32_t slices, uint32_t workers, struct assignment *out)
{
    *out = (struct assignment){.slice_count = slices};
    for (uint32_t v = 0; v < slices; v++) {
        uint16_t w = 0;
        while (v >= slices * (w + 1) / workers) { w++; }
        out->worker[v] = w;
    }
}

/* Each slice has an owner that is ready, and each ready worker owns one. */
static void check_complete(const struct assign_input *input, const struct assignment *assignment)
{
    uint32_t ready = 0;
    assert_int_equal(assignment->slice_count, input->slices);
    for (uint32_t v = 0; v < input->slices; v++) {
        assert_in_range(assignment->worker[v], 0, WORKERS_MAX - 1);
        assert_true(input->ready[assignment->worker[v]]);
    }
    for (uint32_t w = 0; w < WORKERS_MAX; w++) { ready += input->ready[w]; }
    for (uint32_t w = 0; w < WORKERS_MAX && ready <= input->slices; w++) {
        if (input->ready[w]) { assert_true(owned_by(assignment, w) > 0); }
    }
}

/* ------------------------------------------------------------------ examples */

/* Nodes of the tree; a lost worker loses its slices to the others, and gets a part when it
 * returns. */
static void slices_follow_the_ready_workers(void **state)
{
    (void)state;
    now = (struct assignment){0};
    expect(8, "000", "--------");
    expect(8, "100", "00000000");
    expect(8, "110", "00001111");
    expect(8, "111", "00221110");
    expect(8, "101", "00002222");
    expect(8, "001", "22222222");
    expect(8, "000", "22222222");
    expect(8, "111", "22001120");
}

/* With more workers than slices some own none, and no slice moves for that. */
static void more_workers_than_slices_move_none(void **state)
{
    (void)state;
    now = (struct assignment){0};
    expect(2, "1111", "01");
    expect(2, "1111", "01");
    expect(2, "1011", "02");
}

/* Another number of slices starts afresh. */
static void another_number_of_slices_is_dealt_again(void **state)
{
    (void)state;
    now = (struct assignment){0};
    expect(2, "01", "11");
    expect(4, "11", "0011");
}

/* 64 slices over three workers: the dearer a push, the larger the nodes. */
static void dear_pushes_are_few(void **state)
{
    (void)state;
    static const struct {
        uint64_t push_ns;
        uint32_t largest, pushes;
    } cases[] = {
        {0, 22, 9},
        {SLICE_NS / 4, 22, 8},
        {SLICE_NS, 24, 5},
        {8 * SLICE_NS, 32, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assign_input input = equal_workers(64, 3, cases[i].push_ns);
        struct assignment out;
        assign_slices(&(struct assignment){0}, &input, &out);
        uint32_t largest = 0;
        for (uint32_t w = 0; w < 3; w++) { largest = u32_max(largest, owned_by(&out, w)); }
        assert_int_equal(largest, cases[i].largest);
        assert_int_equal(assign_pushes(&out), cases[i].pushes);
    }
    contiguous(64, 3, &now);
    assert_int_equal(assign_pushes(&now), 11);
}

/* A worker of half the speed gets half as many slices. */
static void slow_workers_get_fewer_slices(void **state)
{
    (void)state;
    struct assign_input input = equal_workers(60, 3, 0);
    struct assignment out;
    input.slice_ns[1] = 2 * SLICE_NS;
    assign_slices(&(struct assignment){0}, &input, &out);
    assert_int_equal(owned_by(&out, 0), 24);
    assert_int_equal(owned_by(&out, 1), 12);
    assert_int_equal(owned_by(&out, 2), 24);
}

/* A worker whose speed is unknown counts as one of mean speed; a very slow one keeps one slice. */
static void every_worker_keeps_a_slice(void **state)
{
    (void)state;
    struct assign_input input = equal_workers(32, 4, 0);
    struct assignment out;
    input.slice_ns[0] = 1000 * SLICE_NS;
    input.slice_ns[3] = 0;
    assign_slices(&(struct assignment){0}, &input, &out);
    for (uint32_t w = 0; w < 4; w++) { assert_true(owned_by(&out, w) > 0); }
    assert_int_equal(owned_by(&out, 0), 1);
}

/* -------------------------------------------------------------- for all sizes */

/* Sums over all sizes up to 256 slices and 32 workers, in which a push costs a quarter of a slice:
 * every assignment is complete; the contiguous parts of earlier versions are at most a fifteenth
 * faster, where there are so few slices that each push counts, and push twice as often. */
static void all_sizes_are_complete_and_push_seldom(void **state)
{
    (void)state;
    uint64_t pushes = 0, contiguous_pushes = 0;
    for (uint32_t slices = 1; slices <= SLICES_MAX; slices++) {
        for (uint32_t workers = 1; workers <= u32_min(slices, WORKERS); workers++) {
            struct assign_input input = equal_workers(slices, workers, SLICE_NS / 4);
            struct assignment out, parts;
            assign_slices(&(struct assignment){0}, &input, &out);
            check_complete(&input, &out);
            contiguous(slices, workers, &parts);
            assert_true(step_ns(&input, &out) * 15 <= step_ns(&input, &parts) * 16);
            pushes += assign_pushes(&out);
            contiguous_pushes += assign_pushes(&parts);
        }
    }
    assert_true(pushes * 2 < contiguous_pushes);
}

/* Where pushes cost nothing, no worker has more than its share, rounded up; where they cost much,
 * there is at most one more of them than workers. */
static void extremes_are_balanced_or_whole(void **state)
{
    (void)state;
    for (uint32_t slices = 1; slices <= SLICES_MAX; slices += 5) {
        for (uint32_t workers = 1; workers <= u32_min(slices, WORKERS); workers++) {
            struct assignment out;
            struct assign_input input = equal_workers(slices, workers, 0);
            assign_slices(&(struct assignment){0}, &input, &out);
            for (uint32_t w = 0; w < workers; w++) {
                assert_true(owned_by(&out, w) <= (slices + workers - 1) / workers);
            }
            input = equal_workers(slices, workers, SLICES_MAX * SLICE_NS);
            assign_slices(&(struct assignment){0}, &input, &out);
            assert_in_range(assign_pushes(&out), workers, workers + 1);
        }
    }
}

/* A worker dies and returns. Pushes that cost nothing move no slice but its own. Where they cost a
 * quarter of a slice, others move if that saves pushes: over all sizes, half as many again. */
static void deaths_and_returns_move_few_slices(void **state)
{
    (void)state;
    uint64_t lost = 0, moved_at_death = 0, regained = 0, moved_at_return = 0;
    for (uint32_t slices = 2; slices <= SLICES_MAX; slices += 7) {
        for (uint32_t workers = 2; workers <= u32_min(slices, WORKERS); workers++) {
            for (uint64_t push_ns = 0; push_ns <= SLICE_NS / 4; push_ns += SLICE_NS / 4) {
                struct assign_input input = equal_workers(slices, workers, push_ns);
                struct assignment before, without, after;
                assign_slices(&(struct assignment){0}, &input, &before);
                input.ready[workers / 2] = false;
                assign_slices(&before, &input, &without);
                check_complete(&input, &without);
                const uint32_t own = owned_by(&before, workers / 2);
                if (push_ns == 0) { assert_int_equal(moved(&before, &without), own); }
                input.ready[workers / 2] = true;
                assign_slices(&without, &input, &after);
                check_complete(&input, &after);
                lost += own;
                moved_at_death += moved(&before, &without);
                regained += owned_by(&after, workers / 2);
                moved_at_return += moved(&without, &after);
            }
        }
    }
    assert_true(moved_at_death * 2 < lost * 3);
    assert_true(moved_at_return * 2 < regained * 3);
}

/* ----------------------------------------------------------------- for speed */

/* Without a cause no slice moves, whatever the times are, unless slices may move for speed. Then
 * they do once, for an eighth of the time at least, and stay. */
static void slices_move_for_speed_once(void **state)
{
    (void)state;
    struct random random = {.state = 5};
    for (uint32_t i = 0; i < 300; i++) {
        const uint32_t slices = 4 + (uint32_t)random_below(&random, SLICES_MAX - 3);
        const uint32_t workers = 2 + (uint32_t)random_below(&random, u32_min(slices, WORKERS) - 1);
        struct assign_input input = equal_workers(slices, workers, random_below(&random, SLICE_NS));
        struct assignment before, same, better, stays;
        assign_slices(&(struct assignment){0}, &input, &before);
        for (uint32_t w = 0; w < workers; w++) {
            input.slice_ns[w] = SLICE_NS / 2 + random_below(&random, 4 * SLICE_NS);
        }
        assign_slices(&before, &input, &same);
        assert_int_equal(moved(&before, &same), 0);
        input.balances = true;
        assign_slices(&before, &input, &better);
        check_complete(&input, &better);
        if (moved(&before, &better) > 0) {
            assert_true(step_ns(&input, &better) * 8 < step_ns(&input, &before) * 7);
        }
        assign_slices(&better, &input, &stays);
        assert_int_equal(moved(&better, &stays), 0);
    }
}

/* Times that differ by a tenth from look to look move nothing. */
static void noise_moves_nothing(void **state)
{
    (void)state;
    struct random random = {.state = 7};
    for (uint32_t workers = 2; workers <= 8; workers++) {
        struct assign_input input = equal_workers(64, workers, SLICE_NS / 4);
        struct assignment first, out;
        assign_slices(&(struct assignment){0}, &input, &first);
        input.balances = true;
        for (uint32_t i = 0; i < 200; i++) {
            for (uint32_t w = 0; w < workers; w++) {
                input.slice_ns[w] = SLICE_NS * 95 / 100 + random_below(&random, SLICE_NS / 10);
            }
            assign_slices(&first, &input, &out);
            assert_int_equal(moved(&first, &out), 0);
        }
    }
}

/* Times that no clock can have measured do no harm. */
static void absurd_times_are_bounded(void **state)
{
    (void)state;
    struct assign_input input = equal_workers(256, 32, 1000);
    struct assignment out;
    for (uint32_t w = 0; w < 32; w++) { input.slice_ns[w] = UINT64_MAX / 2; }
    assign_slices(&(struct assignment){0}, &input, &out);
    check_complete(&input, &out);
    for (uint32_t w = 0; w < 32; w++) { assert_int_equal(owned_by(&out, w), 8); }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_follow_the_ready_workers),
        cmocka_unit_test(more_workers_than_slices_move_none),
        cmocka_unit_test(another_number_of_slices_is_dealt_again),
        cmocka_unit_test(dear_pushes_are_few),
        cmocka_unit_test(slow_workers_get_fewer_slices),
        cmocka_unit_test(every_worker_keeps_a_slice),
        cmocka_unit_test(all_sizes_are_complete_and_push_seldom),
        cmocka_unit_test(extremes_are_balanced_or_whole),
        cmocka_unit_test(deaths_and_returns_move_few_slices),
        cmocka_unit_test(slices_move_for_speed_once),
        cmocka_unit_test(noise_moves_nothing),
        cmocka_unit_test(absurd_times_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
