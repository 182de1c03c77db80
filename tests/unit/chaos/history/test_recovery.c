/* chaos/history/recovery.h: recoveries of a chief, a ps and a worker, measured on a golden
 * history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chaos/history/history.h"
#include "chaos/history/json_member.h"
#include "chaos/history/recovery.h"

struct fixture {
    json_t *history, *recoveries;
    struct timeline timeline;
};

static int open_golden(void **state)
{
    static struct fixture fixture;
    struct error error;
    if (history_read("tests/unit/chaos/history/golden_history.jsonl", &fixture.history, &error) !=
        TN_OK) {
        return -1;
    }
    if (!timeline_read(fixture.history, &fixture.timeline)) { return -1; }
    fixture.recoveries = recovery_list(&fixture.timeline);
    *state = &fixture;
    return 0;
}

static int close_golden(void **state)
{
    struct fixture *fixture = *state;
    json_decref(fixture->recoveries);
    timeline_free(&fixture->timeline);
    json_decref(fixture->history);
    return 0;
}

static const json_t *recovery(const struct fixture *fixture, size_t index)
{
    return json_array_get(fixture->recoveries, index);
}

static void assert_ms(const json_t *object, const char *key, double expected)
{
    assert_float_equal(json_member_number(object, key, -1), expected, 0.001);
}

/* The recoveries in a history of a few lines. The caller frees all three. */
static json_t *recoveries_of(const char *text, struct timeline *timeline, json_t **history)
{
    *history = json_loads(text, 0, NULL);
    assert_non_null(*history);
    assert_true(timeline_read(*history, timeline));
    return recovery_list(timeline);
}

/* The death of a chief costs its detection and an election; training continues. */
static void killed_chief_costs_an_election(void **state)
{
    const json_t *one = recovery(*state, 0);
    assert_string_equal(json_member_text(one, "fault", ""), "kill");
    assert_int_equal(json_member_integer(one, "id", 0), 1);
    assert_ms(one, "at_ms", 3000);
    assert_ms(one, "detect_ms", 30);
    assert_ms(one, "elect_ms", 15);
    assert_ms(one, "failover_ms", 45);
    assert_ms(one, "total_ms", 45);
    assert_true(json_is_null(json_object_get(one, "restore_ms")));
    assert_int_equal(json_integer_value(json_array_get(json_object_get(one, "epochs"), 0)), 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(one, "epochs"), 1)), 2);
}

/* The death of a ps stops the workers until its shard is loaded again; there is no election. */
static void killed_ps_costs_a_pause(void **state)
{
    const json_t *two = recovery(*state, 1);
    assert_string_equal(json_member_text(two, "selector", ""), "ps:0");
    assert_ms(two, "detect_ms", 20);
    assert_true(json_is_null(json_object_get(two, "elect_ms")));
    assert_ms(two, "restore_ms", 980);
    assert_ms(two, "resume_ms", 150);
    assert_ms(two, "total_ms", 1150);
    assert_int_equal(json_member_integer(two, "paused_ms", -1), 975);
    assert_int_equal(json_member_integer(two, "steps_redone", -1), 300);
    assert_true(json_is_true(json_object_get(two, "recovered")));
}

/* A frozen worker makes training stand still, although the cluster publishes no event. */
static void frozen_worker_costs_a_stall(void **state)
{
    const json_t *three = recovery(*state, 2);
    assert_string_equal(json_member_text(three, "fault", ""), "freeze");
    assert_ms(three, "total_ms", 1110);
    assert_true(json_is_null(json_object_get(three, "restore_ms")));
}

/* A fault without an effect has no recovery. */
static void harmless_fault_has_no_recovery(void **state)
{
    const struct fixture *fixture = *state;
    assert_int_equal(json_array_size(fixture->recoveries), 3);
}

/* Goodput counts the steps from the first to the last; availability leaves out the pauses. */
static void goodput_is_relative_to_the_baseline(void **state)
{
    const struct fixture *fixture = *state;
    json_t *goodput = recovery_goodput(&fixture->timeline);
    assert_int_equal(json_member_integer(goodput, "steps", 0), 500);
    assert_ms(goodput, "seconds", 10);
    assert_ms(goodput, "goodput", 0.5);
    assert_ms(goodput, "availability", 0.9025);
    json_decref(goodput);
}

/* Lines that were written late are moved to their time. */
static void lines_are_ordered_by_time(void **state)
{
    const struct fixture *fixture = *state;
    const struct timeline *all = &fixture->timeline;
    for (size_t i = 1; i < all->event_count; i++) {
        assert_true(all->events[i - 1].at_ms <= all->events[i].at_ms);
    }
    assert_int_equal(all->term_count, 2);
    assert_float_equal(all->terms[0].to_ms, 3002, 0.001);
    assert_float_equal(all->end_ms, 12000, 0.001);
}

/* A recovery that the history does not show to the end has no total. */
static void unfinished_recovery_has_no_total(void **state)
{
    (void)state;
    struct timeline timeline;
    json_t *history;
    json_t *list = recoveries_of(
        "[{\"t_ms\":0,\"kind\":\"begin\",\"components\":[\"ps:0\"]},"
        "{\"t_ms\":10,\"kind\":\"event\",\"event\":{\"event\":\"running\",\"step\":0}},"
        "{\"t_ms\":90,\"kind\":\"fault\",\"id\":1,\"fault\":\"kill\",\"targets\":[\"ps:0\"]},"
        "{\"t_ms\":95,\"kind\":\"event\",\"event\":{\"event\":\"paused\",\"task\":\"ps:0\"}},"
        "{\"t_ms\":900,\"kind\":\"end\",\"exit\":1}]",
        &timeline, &history);
    assert_int_equal(json_array_size(list), 1);
    const json_t *one = json_array_get(list, 0);
    assert_false(json_is_true(json_object_get(one, "recovered")));
    assert_true(json_is_null(json_object_get(one, "total_ms")));
    json_decref(list);
    timeline_free(&timeline);
    json_decref(history);
}

/* An event that was read late counts from its own time, if that is credible. */
static void late_event_counts_from_its_time(void **state)
{
    (void)state;
    struct timeline timeline;
    json_t *history;
    json_t *list = recoveries_of(
        "[{\"t_ms\":0,\"kind\":\"begin\",\"started\":\"2026-11-21T00:00:00.000Z\"},"
        "{\"t_ms\":10,\"kind\":\"event\",\"event\":{\"event\":\"running\",\"step\":0}},"
        "{\"t_ms\":1000,\"kind\":\"fault\",\"id\":1,\"fault\":\"kill\",\"selector\":\"ps\","
        "\"targets\":[\"ps:0\"]},"
        "{\"t_ms\":5000,\"kind\":\"event\",\"event\":{\"event\":\"paused\",\"task\":\"ps:0\","
        "\"time\":\"2026-11-21T00:00:01.020Z\"}},"
        "{\"t_ms\":5001,\"kind\":\"event\",\"event\":{\"event\":\"restored\",\"task\":\"ps:0\","
        "\"time\":\"2026-11-21T00:00:01.500Z\"}},"
        "{\"t_ms\":6000,\"kind\":\"event\",\"event\":{\"event\":\"checkpoint\","
        "\"time\":\"2027-01-01T00:00:00.000Z\"}},"
        "{\"t_ms\":9000,\"kind\":\"end\",\"exit\":0}]",
        &timeline, &history);
    const json_t *one = json_array_get(list, 0);
    assert_ms(one, "detect_ms", 20);
    assert_ms(one, "restore_ms", 480);
    assert_float_equal(timeline.checkpoints[0], 6000, 0.001);
    json_decref(list);
    timeline_free(&timeline);
    json_decref(history);
}

/* A group has the same fault and the same kind of target. */
static void groups_are_fault_and_kind_of_target(void **state)
{
    assert_string_equal(json_member_text(recovery(*state, 0), "group", ""), "kill chief");
    assert_string_equal(json_member_text(recovery(*state, 1), "group", ""), "kill ps");
    assert_string_equal(json_member_text(recovery(*state, 2), "group", ""), "freeze worker");
}

/* Malformed lines are ignored, and no assertion depends on them. */
static void malformed_lines_are_ignored(void **state)
{
    (void)state;
    struct timeline timeline;
    json_t *history;
    json_t *list = recoveries_of(
        "[{\"kind\":7},[],{\"t_ms\":\"x\",\"kind\":\"event\",\"event\":\"running\"},"
        "{\"t_ms\":-5,\"kind\":\"fault\",\"targets\":{\"a\":1}},"
        "{\"t_ms\":1,\"kind\":\"component\",\"state\":\"thawed\"},{\"t_ms\":2,\"kind\":\"chief\"},"
        "{\"t_ms\":3,\"kind\":\"step\",\"step\":-4},{\"t_ms\":4,\"kind\":\"begin\",\"components\":["
        "1]}"
        "]",
        &timeline, &history);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    timeline_free(&timeline);
    json_decref(history);
}

/* A component that "begin" names twice has one lane. */
static void repeated_component_has_one_lane(void **state)
{
    (void)state;
    struct timeline timeline;
    json_t *history;
    json_t *list = recoveries_of(
        "[{\"t_ms\":0,\"kind\":\"begin\",\"components\":[\"ps:0\",\"ps:0\",\"ps:0\"]},"
        "{\"t_ms\":1,\"kind\":\"component\",\"component\":\"ps:0\",\"state\":\"up\"},"
        "{\"t_ms\":2,\"kind\":\"component\",\"component\":\"ps:0\",\"state\":\"down\"},"
        "{\"t_ms\":3,\"kind\":\"end\",\"exit\":0}]",
        &timeline, &history);
    assert_int_equal(timeline.lane_count, 1);
    assert_int_equal(timeline.component_interval_count, 3);
    json_decref(list);
    timeline_free(&timeline);
    json_decref(history);
}

/* By nearest rank, p99 of a hundred values is the 99th. */
static void percentiles_are_by_nearest_rank(void **state)
{
    (void)state;
    double values[100];
    for (size_t i = 0; i < 100; i++) { values[i] = 100 - (double)i; }
    json_t *spread = recovery_spread(values, 100);
    assert_ms(spread, "p50", 50);
    assert_ms(spread, "p90", 90);
    assert_ms(spread, "p99", 99);
    assert_ms(spread, "max", 100);
    json_decref(spread);
    assert_null(recovery_spread(values, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_chief_costs_an_election),
        cmocka_unit_test(killed_ps_costs_a_pause),
        cmocka_unit_test(frozen_worker_costs_a_stall),
        cmocka_unit_test(harmless_fault_has_no_recovery),
        cmocka_unit_test(goodput_is_relative_to_the_baseline),
        cmocka_unit_test(lines_are_ordered_by_time),
        cmocka_unit_test(unfinished_recovery_has_no_total),
        cmocka_unit_test(late_event_counts_from_its_time),
        cmocka_unit_test(groups_are_fault_and_kind_of_target),
        cmocka_unit_test(malformed_lines_are_ignored),
        cmocka_unit_test(repeated_component_has_one_lane),
        cmocka_unit_test(percentiles_are_by_nearest_rank),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
