/* Recoveries measured from a history of one chief, one ps and one worker struck. */
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

/* What is measured in one history: as wanted by a test of a few lines. */
static json_t *recoveries_of(const char *text, struct timeline *timeline, json_t **history)
{
    *history = json_loads(text, 0, NULL);
    assert_non_null(*history);
    assert_true(timeline_read(*history, timeline));
    return recovery_list(timeline);
}

/* A chief's death costs its detection and an election; training goes on. */
static void test_a_killed_chief(void **state)
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

/* A ps's death holds the workers until its shard is loaded again; no election is part of it. */
static void test_a_killed_ps(void **state)
{
    const json_t *two = recovery(*state, 1);
    assert_string_equal(json_member_text(two, "whom", ""), "ps:0");
    assert_ms(two, "detect_ms", 20);
    assert_true(json_is_null(json_object_get(two, "elect_ms")));
    assert_ms(two, "restore_ms", 980);
    assert_ms(two, "resume_ms", 150);
    assert_ms(two, "total_ms", 1150);
    assert_int_equal(json_member_integer(two, "paused_ms", -1), 975);
    assert_int_equal(json_member_integer(two, "steps_redone", -1), 300);
    assert_true(json_is_true(json_object_get(two, "recovered")));
}

/* A frozen worker made training stand still, though the cluster never said a word. */
static void test_a_stall(void **state)
{
    const json_t *three = recovery(*state, 2);
    assert_string_equal(json_member_text(three, "fault", ""), "freeze");
    assert_ms(three, "total_ms", 1110);
    assert_true(json_is_null(json_object_get(three, "restore_ms")));
}

/* What cost nothing is no recovery. */
static void test_no_harm_no_recovery(void **state)
{
    const struct fixture *fixture = *state;
    assert_int_equal(json_array_size(fixture->recoveries), 3);
}

/* Steps from the first to the last over the time between, and the share of it without a pause. */
static void test_goodput(void **state)
{
    const struct fixture *fixture = *state;
    json_t *goodput = recovery_goodput(&fixture->timeline);
    assert_int_equal(json_member_integer(goodput, "steps", 0), 500);
    assert_ms(goodput, "seconds", 10);
    assert_ms(goodput, "goodput", 0.5);
    assert_ms(goodput, "availability", 0.9025);
    json_decref(goodput);
}

/* Lines that were written late are put where they belong. */
static void test_order(void **state)
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

/* A fault whose recovery the history does not show to the end has no total. */
static void test_an_end_before_the_recovery(void **state)
{
    (void)state;
    struct timeline timeline;
    json_t *history;
    json_t *list = recoveries_of(
        "[{\"t_ms\":0,\"kind\":\"begin\",\"places\":[\"ps:0\"]},"
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

/* An event that was heard late counts from when it happened, so far as that is credible. */
static void test_late_news(void **state)
{
    (void)state;
    struct timeline timeline;
    json_t *history;
    json_t *list = recoveries_of(
        "[{\"t_ms\":0,\"kind\":\"begin\",\"started\":\"2026-11-21T00:00:00.000Z\"},"
        "{\"t_ms\":10,\"kind\":\"event\",\"event\":{\"event\":\"running\",\"step\":0}},"
        "{\"t_ms\":1000,\"kind\":\"fault\",\"id\":1,\"fault\":\"kill\",\"whom\":\"ps\","
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

/* Recoveries are compared with those of the same fault, done to one of the same kind. */
static void test_groups(void **state)
{
    assert_string_equal(json_member_text(recovery(*state, 0), "group", ""), "kill chief");
    assert_string_equal(json_member_text(recovery(*state, 1), "group", ""), "kill ps");
    assert_string_equal(json_member_text(recovery(*state, 2), "group", ""), "freeze worker");
}

/* Lines of another shape count as nothing, and nothing is asserted on them. */
static void test_nonsense(void **state)
{
    (void)state;
    struct timeline timeline;
    json_t *history;
    json_t *list = recoveries_of(
        "[{\"kind\":7},[],{\"t_ms\":\"x\",\"kind\":\"event\",\"event\":\"running\"},"
        "{\"t_ms\":-5,\"kind\":\"fault\",\"targets\":{\"a\":1}},"
        "{\"t_ms\":1,\"kind\":\"place\",\"state\":\"thawed\"},{\"t_ms\":2,\"kind\":\"chief\"},"
        "{\"t_ms\":3,\"kind\":\"step\",\"step\":-4},{\"t_ms\":4,\"kind\":\"begin\",\"places\":[1]}"
        "]",
        &timeline, &history);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    timeline_free(&timeline);
    json_decref(history);
}

/* Nearest rank: p99 of a hundred values is the 99th. */
static void test_percentiles(void **state)
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
        cmocka_unit_test(test_a_killed_chief),
        cmocka_unit_test(test_a_killed_ps),
        cmocka_unit_test(test_a_stall),
        cmocka_unit_test(test_no_harm_no_recovery),
        cmocka_unit_test(test_goodput),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_an_end_before_the_recovery),
        cmocka_unit_test(test_late_news),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_percentiles),
    };
    return cmocka_run_group_tests(tests, open_golden, close_golden);
}
