/* chaos/history/line_order.h: lines are ordered by when things happened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "chaos/history/line_order.h"

#define BEGIN "{\"t_ms\":0,\"kind\":\"begin\",\"started\":\"2026-11-21T00:00:00.000Z\"}"
#define EVENT(t_ms, second)                                                                        \
    "{\"t_ms\":" t_ms ",\"kind\":\"event\",\"event\":{\"time\":\"2026-11-21T00:00:0" second "Z\"}" \
    "}"

static void assert_times(const char *text, const double *expected, size_t expected_count)
{
    json_t *history = json_loads(text, 0, NULL);
    size_t count;
    struct dated_line *lines = line_order(history, &count);
    assert_non_null(lines);
    assert_int_equal(count, expected_count);
    for (size_t i = 0; i < count; i++) { assert_float_equal(lines[i].at_ms, expected[i], 0.001); }
    free(lines);
    json_decref(history);
}

/* An event that was read late stands at the time that it carries. */
static void late_event_is_moved(void **state)
{
    (void)state;
    assert_times("[" BEGIN ",{\"t_ms\":3000,\"kind\":\"step\"}," EVENT("5000", "1.5") "]",
                 (const double[]){0, 1500, 3000}, 3);
}

/* A time after the line was read, or before the round, is not believed. */
static void impossible_time_is_ignored(void **state)
{
    (void)state;
    assert_times("[" BEGIN "," EVENT("1000", "9.0") "]", (const double[]){0, 1000}, 2);
    assert_times("[{\"t_ms\":0,\"kind\":\"begin\",\"started\":\"2027-01-01T00:00:00Z\"}," EVENT(
                     "1000", "0.5") "]",
                 (const double[]){0, 1000}, 2);
}

/* If a fault sets clocks, a time that is far from that of the line is not believed. */
static void clock_jump_makes_far_times_incredible(void **state)
{
    (void)state;
    assert_times("[" BEGIN ",{\"t_ms\":1,\"kind\":\"fault\",\"fault\":\"clock-jump\"}," EVENT(
                     "5000", "1.5") "," EVENT("6000", "5.0") "]",
                 (const double[]){0, 1, 5000, 5000}, 4);
}

/* Lines of the same time stay in the order of the history. */
static void equal_times_keep_their_order(void **state)
{
    (void)state;
    json_t *history = json_loads("[{\"t_ms\":7},{\"t_ms\":7},{\"t_ms\":3}]", 0, NULL);
    size_t count;
    struct dated_line *lines = line_order(history, &count);
    assert_int_equal(count, 3);
    assert_int_equal(lines[0].index, 2);
    assert_int_equal(lines[1].index, 0);
    assert_int_equal(lines[2].index, 1);
    free(lines);
    json_decref(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_event_is_moved),
        cmocka_unit_test(impossible_time_is_ignored),
        cmocka_unit_test(clock_jump_makes_far_times_incredible),
        cmocka_unit_test(equal_times_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
