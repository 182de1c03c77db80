/* Workers that share lookups: a row of a step is asked for by one of them, and no worker waits for
 * a question that is not in progress. */
#include "worker/row_sharing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/row_body.h"
#include "worker/row_lookup.h"

enum { TABLES = 2, PS = 2, FRAME_BYTES = 256, KEYS = 40, MEMBERS = 3, GENERATION = 1 };

static const uint32_t widths[TABLES] = {3, 1};
static const struct row_borders borders = {.count = 0};
static struct variable_table variables;
static struct row_sharing *sharing;
static struct error error;

static struct fellow {
    struct row_lookup *lookup;
    uint32_t wakes;
    uint8_t body[PS][FRAME_BYTES]; /* The question to each ps. */
    size_t size[PS];               /* 0: no question is in progress. */
} members[MEMBERS];

static void wake(void *ctx)
{
    struct fellow *fellow = ctx;
    fellow->wakes++;
}

static void join(uint32_t place)
{
    const struct row_lookup_config config = {
        .variables = &variables,
        .borders = &borders,
        .ps = PS,
        .frame_bytes = FRAME_BYTES,
        .member = {sharing, place, wake, &members[place]},
    };
    memset(&members[place], 0, sizeof members[place]);
    assert_int_equal(row_lookup_open(&config, &members[place].lookup, &error), TN_OK);
}

static int set_up(void **state)
{
    (void)state;
    variables.row_table_count = TABLES;
    for (uint32_t t = 0; t < TABLES; t++) {
        variables.row_tables[t] = (struct row_table_shape){.name = "t", .width = widths[t]};
    }
    assert_int_equal(row_sharing_open(&sharing, &error), TN_OK);
    for (uint32_t i = 0; i < MEMBERS; i++) { join(i); }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MEMBERS; i++) { row_lookup_close(members[i].lookup); }
    row_sharing_close(sharing);
    return 0;
}

/* Begin a lookup of keys [from, to) of both tables. Returns the ps that have missing rows. */
static uint64_t list(uint32_t place, uint64_t step, uint64_t from, uint64_t to)
{
    struct row_lookup *lookup = members[place].lookup;
    uint64_t set;
    row_lookup_begin(lookup, GENERATION, step);
    const struct row_sink *sink = row_lookup_sink(lookup);
    for (uint64_t key = from; key < to; key++) {
        for (uint32_t t = 0; t < TABLES; t++) {
            assert_int_equal(sink->add(sink->ctx, t, &key, 1, &error), TN_OK);
        }
    }
    assert_int_equal(row_lookup_settle(lookup, &set, &error), TN_OK);
    return set;
}

/* Returns the number of rows that it asks for. */
static uint32_t ask(uint32_t place)
{
    struct fellow *fellow = &members[place];
    const struct row_body_rules rules = {.variables = &variables};
    uint32_t rows = 0;
    for (uint32_t p = 0; p < PS; p++) {
        fellow->size[p] = row_lookup_ask(fellow->lookup, p, fellow->body[p]);
        struct row_body_reader reader = row_body_read(&rules, fellow->body[p], fellow->size[p]);
        struct row_body_row row;
        while (row_body_next(&reader, &row)) { rows++; }
    }
    return rows;
}

static float value_of(uint32_t table, uint64_t key, uint64_t step)
{
    return (float)(10000 * step + 1000 * table + key);
}

/* Its questions are answered. */
static void answer(uint32_t place, uint64_t step)
{
    struct fellow *fellow = &members[place];
    const struct row_body_rules rules = {.variables = &variables};
    for (uint32_t p = 0; p < PS; p++) {
        float rows[FRAME_BYTES];
        uint32_t at = 0;
        bool more;
        struct row_body_reader reader = row_body_read(&rules, fellow->body[p], fellow->size[p]);
        struct row_body_row row;
        while (row_body_next(&reader, &row)) {
            for (uint32_t c = 0; c < widths[row.table]; c++) {
                rows[at++] = value_of(row.table, row.key, step);
            }
        }
        if (at == 0) { continue; }
        assert_true(row_lookup_take(fellow->lookup, p, rows, at * sizeof *rows, &more));
        fellow->size[p] = 0;
    }
}

/* The state for one ps at least; another one may have no row that is missing. */
static void expect_state(uint32_t place, enum row_lookup_state wanted)
{
    uint32_t found = 0;
    for (uint32_t p = 0; p < PS; p++) {
        const enum row_lookup_state state = row_lookup_state(members[place].lookup, p);
        assert_true(state == wanted || state == ROWS_COMPLETE);
        found += state == wanted;
    }
    assert_true(found > 0);
}

static void expect_rows(uint32_t place, uint64_t step, uint64_t from, uint64_t to)
{
    const struct row_source *source = row_lookup_source(members[place].lookup);
    for (uint64_t key = from; key < to; key++) {
        for (uint32_t t = 0; t < TABLES; t++) {
            float row[3];
            source->read(source->ctx, t, &key, 1, row);
            for (uint32_t c = 0; c < widths[t]; c++) {
                assert_true(row[c] == value_of(t, key, step));
            }
        }
    }
}

/* A member waits for rows that another one has asked for, and asks for the others. */
static void test_a_row_is_asked_for_once(void **state)
{
    (void)state;
    assert_int_equal(list(0, 5, 0, 10), 3);
    assert_int_equal(list(1, 5, 5, 15), 3);
    assert_int_equal(ask(0), 10 * TABLES);
    assert_int_equal(ask(1), 5 * TABLES);
    list(2, 5, 2, 12);
    assert_int_equal(ask(2), 0);
    expect_state(2, ROWS_ASKED);
    answer(0, 5);
    expect_state(0, ROWS_COMPLETE);
    assert_true(members[1].wakes > 0 && members[2].wakes > 0);
    expect_state(1, ROWS_ASKED);
    expect_state(2, ROWS_ASKED);
    answer(1, 5);
    expect_rows(0, 5, 0, 10);
    expect_rows(1, 5, 5, 15);
    expect_rows(2, 5, 2, 12);
    assert_int_equal(row_sharing_given(sharing), (5 + 8 + 2) * TABLES);
}

/* A member that lists its rows later takes those that have arrived. */
static void test_rows_that_are_here_are_taken(void **state)
{
    (void)state;
    list(0, 5, 0, 10);
    ask(0);
    answer(0, 5);
    assert_int_equal(list(1, 5, 3, 8), 0);
    expect_state(1, ROWS_COMPLETE);
    expect_rows(1, 5, 3, 8);
    /* Also from the second hand. */
    list(0, 6, 0, 10);
    assert_int_equal(list(2, 5, 4, 8), 0);
    expect_rows(2, 5, 4, 8);
}

/* Rows of another step or generation are others. */
static void test_other_steps_are_not_shared(void **state)
{
    (void)state;
    list(0, 5, 0, 10);
    ask(0);
    answer(0, 5);
    list(1, 6, 0, 10);
    assert_int_equal(ask(1), 10 * TABLES);
    row_lookup_begin(members[2].lookup, GENERATION + 1, 5);
    const struct row_sink *sink = row_lookup_sink(members[2].lookup);
    const uint64_t key = 3;
    uint64_t set;
    assert_int_equal(sink->add(sink->ctx, 0, &key, 1, &error), TN_OK);
    assert_int_equal(row_lookup_settle(members[2].lookup, &set, &error), TN_OK);
    assert_int_equal(ask(2), 1);
    answer(1, 6);
    expect_rows(1, 6, 0, 10);
    assert_int_equal(row_sharing_given(sharing), 0);
}

/* `end` ends the questions of member 0: another one asks, and the third waits for that one. */
static void ends_questions(void (*end)(void))
{
    list(0, 5, 0, 10);
    ask(0);
    list(1, 5, 0, 10);
    list(2, 5, 0, 10);
    assert_int_equal(ask(1) + ask(2), 0);
    const uint32_t wakes = members[1].wakes;
    end();
    assert_true(members[1].wakes > wakes && members[2].wakes > 0);
    expect_state(1, ROWS_MISSING);
    assert_int_equal(ask(1), 10 * TABLES);
    assert_int_equal(ask(2), 0);
    expect_state(2, ROWS_ASKED);
    answer(1, 5);
    expect_rows(1, 5, 0, 10);
    expect_rows(2, 5, 0, 10);
}

static void abandon(void)
{
    for (uint32_t p = 0; p < PS; p++) { row_lookup_abandon(members[0].lookup, p); }
}

static void begin_another(void)
{
    row_lookup_begin(members[0].lookup, GENERATION, 5);
}

static void leave(void)
{
    row_sharing_leave(sharing, 0);
}

static void test_questions_that_end_are_asked_by_others(void **state)
{
    (void)state;
    ends_questions(abandon);
}

static void test_a_member_that_begins_another_lookup_gives_its_questions_up(void **state)
{
    (void)state;
    ends_questions(begin_another);
}

/* Another worker may take the place of one that leaves before its lookup is closed. */
static void test_a_member_that_leaves_gives_its_questions_up(void **state)
{
    (void)state;
    ends_questions(leave);
    struct row_lookup *former = members[0].lookup;
    join(0);
    row_lookup_close(former);
    list(1, 7, 0, 4);
    ask(1);
    list(0, 7, 0, 4);
    assert_int_equal(ask(0), 0);
    answer(1, 7);
    expect_rows(0, 7, 0, 4);
}

/* Two members have asked for the same rows, since the question of one was given up meanwhile. */
static void test_a_given_up_question_may_be_asked_again(void **state)
{
    (void)state;
    list(0, 5, 0, 10);
    ask(0);
    list(1, 5, 5, 15);
    assert_int_equal(ask(1), 5 * TABLES);
    abandon();
    assert_int_equal(ask(0), 10 * TABLES);
    expect_state(1, ROWS_ASKED);
    answer(1, 5);
    answer(0, 5);
    expect_rows(0, 5, 0, 10);
    expect_rows(1, 5, 5, 15);
}

/* Rows of several frames: those that were not asked for yet may be asked for by another member. */
static void test_pieces_are_divided(void **state)
{
    uint32_t rows[2] = {0};
    (void)state;
    list(0, 5, 0, KEYS);
    list(1, 5, 0, KEYS);
    for (uint32_t round = 0; round < KEYS; round++) {
        for (uint32_t i = 0; i < 2; i++) {
            rows[i] += ask(i);
            answer(i, 5);
        }
    }
    assert_true(rows[0] > 0 && rows[1] > 0);
    assert_int_equal(rows[0] + rows[1], KEYS * TABLES);
    expect_rows(0, 5, 0, KEYS);
    expect_rows(1, 5, 0, KEYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_row_is_asked_for_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows_that_are_here_are_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_steps_are_not_shared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_questions_that_end_are_asked_by_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_member_that_begins_another_lookup_gives_its_questions_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_member_that_leaves_gives_its_questions_up, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_given_up_question_may_be_asked_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_pieces_are_divided, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
