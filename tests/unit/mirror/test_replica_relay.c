/* Relays (M14): the workers of a host push to one of them, which sends their sum to the owner on
 * another host. Workers 0 and 1 are on one host, worker 2 is on another and owns range 2. Worker 0
 * has slice 0, worker 1 slice 1, worker 2 the slices 2 and 3. For range 2, worker 0 is the relay.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/mirror/replica_text.h"

enum {
    FAR = 2,                         /* The range of worker 2. */
    WAIT_MS = LATENESS_LEAST_MS / 2, /* While no step was measured. */
};

static const char *link_up(uint32_t peer, bool is_near)
{
    return feed(
        (struct replica_event){.type = REPLICA_EV_LINK_UP, .peer = peer, .is_near = is_near});
}

/* Worker `index`, whole, at step 0; its slices are being computed. */
static void train(uint32_t index)
{
    now_ms = 1000;
    memset(writers, 0, sizeof writers);
    run = (struct run){.phase = RUN_LOADING, .generation = 1, .until = 100};
    run.evaluate_step = run.evaluation.step = STEP_NONE;
    replica_init(&replica,
                 &(struct replica_config){
                     .workers = 3, .ranges = 3, .slices = 4, .index = index, .keep_sums = 1});
    for (uint32_t peer = 0; peer < 3; peer++) {
        if (peer != index) { (void)link_up(peer, peer < 2 && index < 2); }
    }
    (void)order();
    (void)feed(
        (struct replica_event){.type = REPLICA_EV_LOADED, .generation = 1, .step = run.load_step});
    run.phase = RUN_RUNNING;
    (void)order();
    (void)assign(0, 1, 2, 2);
}

/* Whether the text of the last actions has this one. */
static bool has(const char *action)
{
    return strstr(text, action) != NULL;
}

static const char *passes(uint64_t ms)
{
    now_ms += ms;
    return happens(REPLICA_EV_TICK, 0);
}

/* ---------------------------------------------------------------- at a relay */

/* It waits for the slices of its host, and pushes one node. */
static void a_relay_sends_one_sum(void **state)
{
    (void)state;
    train(0);
    assert_string_equal(push(1, FAR, 0, 1, 1), "hold r2 1+1");
    assert_string_equal(happens(REPLICA_EV_COMPUTED, 0),
                        "push r1 to 1 0+1; forward r2 to 2 0+1 1+1");
    assert_string_equal(from(2, REPLICA_EV_SUM, FAR, 0, 0, 0), "take r2; answer c11 r2 @0");
}

/* In either order. */
static void a_relay_waits_for_its_host(void **state)
{
    (void)state;
    train(0);
    assert_string_equal(happens(REPLICA_EV_COMPUTED, 0), "push r1 to 1 0+1");
    assert_string_equal(push(1, FAR, 0, 1, 1), "hold r2 1+1; forward r2 to 2 0+1 1+1");
    assert_string_equal(push(1, FAR, 0, 1, 1), ""); /* Repeated. */
}

/* Half the limit of late slices; gradients that arrive later are sent as well. */
static void a_relay_waits_for_a_time(void **state)
{
    (void)state;
    train(0);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    assert_true(replica_deadline_ms(&replica) <= now_ms + WAIT_MS);
    assert_false((passes(WAIT_MS - 1), has("forward")));
    assert_int_equal(replica_deadline_ms(&replica), now_ms + 1);
    assert_true((passes(1), has("forward r2 to 2 0+1")));
    assert_string_equal(push(1, FAR, 0, 1, 1), "hold r2 1+1; forward r2 to 2 1+1");
}

/* A worker that has died is not awaited. */
static void a_relay_does_not_wait_for_the_dead(void **state)
{
    (void)state;
    train(0);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    assert_string_equal(happens(REPLICA_EV_LINK_DOWN, 1), "forward r2 to 2 0+1");
}

/* Also by a relay that cannot compute; it pulls for itself (M13). */
static void an_unable_relay_forwards(void **state)
{
    (void)state;
    train(0);
    (void)happens(REPLICA_EV_UNABLE, 0);
    assert_true((push(1, FAR, 0, 1, 1), has("hold r2 1+1; forward r2 to 2 1+1")));
    assert_false(has("pull r2"));
}

/* All that it holds, in the fewest nodes. */
static void a_new_owner_gets_all(void **state)
{
    (void)state;
    train(0);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    (void)passes(WAIT_MS);
    (void)push(1, FAR, 0, 1, 1);
    (void)happens(REPLICA_EV_LINK_DOWN, 2);
    assert_true((link_up(2, false), has("forward r2 to 2 0+1 1+1")));
    (void)refused(2, FAR, 0, REPLICA_NOT_OWNER);
    assert_true((passes(REPLICA_RETRY_MS), has("forward r2 to 2 0+2")));
    assert_int_equal(actions.parts[0].own, REPLICA_NOT_OWN);
}

/* Its host has early pushes, too. */
static void a_relay_holds_pushes_for_the_next_step(void **state)
{
    (void)state;
    train(0);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    assert_true((push(1, FAR, 1, 1, 1), has("hold r2 1+1")));
    assert_false(has("forward"));
    for (uint32_t range = 0; range < 3; range++) { (void)from(2, REPLICA_EV_SUM, range, 0, 0, 0); }
    assert_int_equal(replica.step, 1);
    assert_true((happens(REPLICA_EV_COMPUTED, 0), has("forward r2 to 2 0+1 1+1")));
}

/* A relay of another view refuses. */
static void others_refuse(void **state)
{
    (void)state;
    train(1);
    assert_string_equal(push(0, FAR, 0, 0, 1), "refuse c10 not-owner");
    train(0);
    (void)link_up(1, false); /* It is started on another host. */
    assert_string_equal(push(1, FAR, 0, 1, 1), "refuse c11 not-owner");
}

/* -------------------------------------------------------- at another worker */

static void a_worker_pushes_to_the_relay(void **state)
{
    (void)state;
    train(1);
    assert_string_equal(happens(REPLICA_EV_COMPUTED, 0), "push r2 to 0 1+1; push r0 to 0 1+1");
    assert_string_equal(from(0, REPLICA_EV_SUM, FAR, 0, 0, 0), "take r2");
    train(2); /* Alone on its host. */
    assert_string_equal(happens(REPLICA_EV_COMPUTED, 0), "push r0 to 0 2+2; push r1 to 1 2+2");
}

/* A relay that is frozen, dies or refuses: the owner is asked for the rest of the step. */
static void the_owner_is_asked_instead(void **state)
{
    (void)state;
    train(1);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    assert_false((passes(WAIT_MS - 1), has("push r2")));
    assert_int_equal(replica_deadline_ms(&replica), now_ms + 1);
    assert_true((passes(1), has("push r2 to 2 1+1")));
    train(1);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    assert_string_equal(happens(REPLICA_EV_LINK_DOWN, 0), "push r2 to 2 1+1");
    assert_false((link_up(0, true), has("push r2")));
    train(1);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    (void)refused(0, FAR, 0, REPLICA_NOT_OWNER);
    assert_true((passes(REPLICA_RETRY_MS), has("push r2 to 2 1+1")));
}

/* In the next step, the relay is asked again. */
static void a_relay_is_asked_in_each_step(void **state)
{
    (void)state;
    train(1);
    (void)happens(REPLICA_EV_COMPUTED, 0);
    (void)passes(WAIT_MS);
    for (uint32_t range = 0; range < 3; range++) { (void)from(2, REPLICA_EV_SUM, range, 0, 0, 0); }
    assert_true((happens(REPLICA_EV_COMPUTED, 0), has("push r2 to 0 1+1")));
}

/* The wait begins with the end of the computation, and is half the limit of late slices. */
static void a_wait_is_half_the_limit(void **state)
{
    (void)state;
    train(1);
    replica.lateness.average_us = 1000000;
    now_ms += 60000;
    assert_true((happens(REPLICA_EV_COMPUTED, 0), has("push r2 to 0 1+1")));
    assert_int_equal(lateness_limit_ms(&replica.lateness), 4000);
    assert_false((passes(1999), has("push r2")));
    assert_true((passes(1), has("push r2 to 2 1+1")));
}

/* A worker that pushes nothing asks the owner. */
static void a_pull_goes_to_the_owner(void **state)
{
    (void)state;
    train(1);
    assert_true((happens(REPLICA_EV_UNABLE, 0), has("pull r2 from 2")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relay_sends_one_sum),
        cmocka_unit_test(a_relay_waits_for_its_host),
        cmocka_unit_test(a_relay_waits_for_a_time),
        cmocka_unit_test(a_relay_does_not_wait_for_the_dead),
        cmocka_unit_test(an_unable_relay_forwards),
        cmocka_unit_test(a_new_owner_gets_all),
        cmocka_unit_test(a_relay_holds_pushes_for_the_next_step),
        cmocka_unit_test(others_refuse),
        cmocka_unit_test(a_worker_pushes_to_the_relay),
        cmocka_unit_test(the_owner_is_asked_instead),
        cmocka_unit_test(a_relay_is_asked_in_each_step),
        cmocka_unit_test(a_wait_is_half_the_limit),
        cmocka_unit_test(a_pull_goes_to_the_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
