/* A replica whose group computes its gradients, and may be unable to (M13). It is worker 0 of two
 * groups of two, whose heads are the workers 0 and 2, with one range or two, and four slices. Range
 * 1 is that of worker 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/mirror/replica_scene.h"

/* The actions that the replica asks for after the event, as letters. */
static const char *feed(struct replica_event event)
{
    static const char letters[] = {
        [REPLICA_DO_HOLD] = 'h',        [REPLICA_DO_REDUCE] = 'r', [REPLICA_DO_TAKE] = 't',
        [REPLICA_DO_APPLY] = 'a',       [REPLICA_DO_FORGET] = 'f', [REPLICA_DO_ANSWER] = 's',
        [REPLICA_DO_COMPUTE] = 'C',     [REPLICA_DO_PUSH] = 'P',   [REPLICA_DO_PULL] = 'Q',
        [REPLICA_DO_PULL_VALUES] = 'V',
    };
    static char text[64];
    handle(event);
    memset(text, 0, sizeof text);
    for (uint32_t i = 0; i < actions.count; i++) {
        const size_t type = actions.items[i].type;
        text[i] = type < sizeof letters && letters[type] != '\0' ? letters[type] : '?';
    }
    return text;
}

static const char *happens(enum replica_event_type type)
{
    return feed((struct replica_event){.type = type});
}

static const char *from(uint32_t peer, enum replica_event_type type, uint64_t step,
                        struct slice_node node)
{
    return feed((struct replica_event){.type = type,
                                       .conn = 10 + peer,
                                       .peer = peer,
                                       .generation = run.generation,
                                       .step = step,
                                       .node = node});
}

static const char *order(void)
{
    return feed(next_order());
}

static const char *assign(uint16_t a, uint16_t b, uint16_t c, uint16_t d)
{
    return feed(owners(a, b, c, d));
}

/* Whole, at step 0, running; both heads are connected. */
static void begin(uint32_t ranges)
{
    now_ms = 1000;
    run = (struct run){.phase = RUN_LOADING, .generation = 1, .until = 100};
    run.evaluate_step = run.evaluation.step = STEP_NONE;
    replica_init(
        &replica,
        &(struct replica_config){
            .workers = 4, .ranges = ranges, .slices = 4, .keep_sums = 1, .begins_unable = true});
    (void)feed((struct replica_event){.type = REPLICA_EV_LINK_UP, .peer = 2});
    (void)order();
    (void)feed((struct replica_event){.type = REPLICA_EV_LOADED, .generation = 1});
    run.phase = RUN_RUNNING;
    (void)order();
}

static int set_up(void **state)
{
    (void)state;
    begin(1);
    return 0;
}

static int set_up_two_ranges(void **state)
{
    (void)state;
    begin(2);
    return 0;
}

/* It computes nothing, and asks the owner of the range for its sum. */
static void one_that_is_unable_follows_the_others(void **state)
{
    (void)state;
    assert_string_equal(assign(2, 2, 2, 2), "Q");
    assert_string_equal(from(2, REPLICA_EV_SUM, 0, (struct slice_node){0, 0}), "taQ");
    assert_int_equal(replica.step, 1);
    assert_false(replica.computing);
}

/* It owns slices, but has nothing to push, so it asks for the sum of the other range. */
static void one_that_is_unable_asks_although_it_owns_slices(void **state)
{
    (void)state;
    assert_string_equal(assign(0, 0, 2, 2), "Q");
    assert_int_equal(actions.items[0].range, 1);
    assert_string_equal(happens(REPLICA_EV_ABLE), "C");
    assert_string_equal(happens(REPLICA_EV_COMPUTED), "P");
}

/* It owns the range and slices, which others compute: it asks its peers for the sum. */
static void one_that_is_unable_asks_around(void **state)
{
    (void)state;
    assert_string_equal(assign(0, 0, 2, 2), "");
    assert_string_equal(from(2, REPLICA_EV_PUSH, 0, (struct slice_node){2, 2}), "h");
    now_ms += REPLICA_RETRY_MS;
    assert_string_equal(happens(REPLICA_EV_TICK), "Q");
    assert_string_equal(happens(REPLICA_EV_ABLE), "C");
    assert_string_equal(happens(REPLICA_EV_COMPUTED), "rsafC");
}

/* A computation that was lost has no result: the slices may be computed by others, or again. What
 * the driver has of it is released. */
static void a_lost_computation(void **state)
{
    (void)state;
    (void)happens(REPLICA_EV_ABLE);
    assert_string_equal(assign(0, 0, 2, 2), "C");
    assert_string_equal(happens(REPLICA_EV_UNABLE), "f");
    assert_int_equal(replica.node_count, 0);
    (void)from(2, REPLICA_EV_PUSH, 0, (struct slice_node){2, 2});
    assert_string_equal(happens(REPLICA_EV_ABLE), "C");
    assert_string_equal(happens(REPLICA_EV_UNABLE), "f");
    assert_string_equal(from(3, REPLICA_EV_PUSH, 0, (struct slice_node){0, 2}), "hrssa");
    assert_int_equal(replica.step, 1);
}

/* Gradients that were computed before count: they are not computed again. */
static void only_the_last_computation_is_lost(void **state)
{
    (void)state;
    (void)happens(REPLICA_EV_ABLE);
    (void)assign(0, 0, 2, 2);
    (void)happens(REPLICA_EV_COMPUTED);
    assert_string_equal(assign(0, 0, 0, 2), "C");
    assert_string_equal(happens(REPLICA_EV_UNABLE), "");
    assert_int_equal(replica.node_count, 1);
    assert_string_equal(happens(REPLICA_EV_ABLE), "C");
    assert_int_equal(replica.nodes[1].first, 2);
    (void)happens(REPLICA_EV_COMPUTED);
    assert_string_equal(from(2, REPLICA_EV_PUSH, 0, (struct slice_node){3, 1}), "hrsafC");
}

/* A computation whose result is of another generation is not awaited. */
static void a_computation_of_another_generation(void **state)
{
    (void)state;
    (void)happens(REPLICA_EV_ABLE);
    (void)assign(0, 0, 2, 2);
    run.generation = 2;
    (void)order();
    assert_true(replica.computing);
    assert_string_equal(happens(REPLICA_EV_UNABLE), "fV");
    assert_false(replica.computing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_that_is_unable_follows_the_others, set_up),
        cmocka_unit_test_setup(one_that_is_unable_asks_although_it_owns_slices, set_up_two_ranges),
        cmocka_unit_test_setup(one_that_is_unable_asks_around, set_up),
        cmocka_unit_test_setup(a_lost_computation, set_up),
        cmocka_unit_test_setup(only_the_last_computation_is_lost, set_up),
        cmocka_unit_test_setup(a_computation_of_another_generation, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
