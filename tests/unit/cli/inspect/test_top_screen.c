/* Frames of `tanist top`, compared as text. */
#include "cli/inspect/top_screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_MS UINT64_C(1000000000000)

/* A job of 2 coordinators, 2 ps and 2 workers that has done a quarter of its steps. */
struct scene {
    struct job job;
    struct observer observer;
    struct top_speed speed;
    struct top_ps_step ps[PS_MAX];
    struct top_view view;
    char text[TOP_FRAME_MAX];
};

static void add_task(struct scene *scene, enum role role, uint32_t index, uint64_t pid)
{
    struct observed_task *added = &scene->observer.tasks[scene->observer.task_count++];
    added->task = added->member.task = (struct task){role, index};
    added->present = pid != 0;
    added->member.pid = added->member.incarnation = pid;
    added->member.since_wall_ms = NOW_MS - 65000;
    snprintf(added->member.host, sizeof added->member.host, "alpha");
}

static void elect_chief(struct scene *scene)
{
    struct chief_record *record = &scene->observer.chief;
    scene->observer.has_chief = true;
    *record = (struct chief_record){.epoch = 3,
                                    .task = {ROLE_COORDINATOR, 1},
                                    .incarnation = 11,
                                    .since_wall_ms = NOW_MS - 14000,
                                    .took_ms = 12};
    snprintf(record->cause, sizeof record->cause, "coordinator:0: signal 9 (Killed)");
}

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    job_init(&scene->job);
    scene->job.cluster.ps = 2;
    scene->job.train.steps = 1000;
    for (uint32_t i = 0; i < 2; i++) { add_task(scene, ROLE_COORDINATOR, i, 10 + i); }
    for (uint32_t i = 0; i < 2; i++) { add_task(scene, ROLE_PS, i, 20 + i); }
    for (uint32_t i = 0; i < 2; i++) { add_task(scene, ROLE_WORKER, i, i == 0 ? 30 : 0); }
    elect_chief(scene);
    scene->observer.has_run = true;
    scene->observer.run = (struct run){.phase = RUN_RUNNING,
                                       .generation = 5,
                                       .committed_checkpoint = 2,
                                       .committed_step = 200,
                                       .evaluation = {.step = 200, .loss = 0.5, .accuracy = 0.75}};
    scene->ps[0] = (struct top_ps_step){true, 5, 252};
    scene->ps[1] = (struct top_ps_step){true, 5, 250};
    for (uint64_t i = 0; i < 4; i++) { top_speed_add(&scene->speed, 100 + 50 * i, 1000 * i); }
    scene->view = (struct top_view){.cluster = "quick",
                                    .connect = "h1:2181",
                                    .job = &scene->job,
                                    .observer = &scene->observer,
                                    .connected = true,
                                    .wall_ms = NOW_MS,
                                    .has_step = true,
                                    .step = 250,
                                    .speed = &scene->speed,
                                    .ps = scene->ps,
                                    .server_count = 1,
                                    .servers = {{"h1:2181", "leader"}},
                                    .event_count = 1,
                                    .events = {{NOW_MS, false, "ps:1 (pid 21) is up"}}};
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static const char *draw(struct scene *scene, struct top_style style)
{
    size_t length = top_screen_draw(&scene->view, &style, scene->text);
    assert_int_equal(length, strlen(scene->text));
    return scene->text;
}

/* The whole frame, without a terminal. */
static void frame_shows_everything(void **state)
{
    assert_string_equal(
        draw(*state, (struct top_style){0}),
        "quick  running  epoch 3  generation 5\n"
        "zookeeper   h1:2181\n"
        "mode        sync: each step waits for its whole batch\n"
        "step        250 of 1000  [######..................]  25.0 %  ETA 15 s\n"
        "steps/s     50       ###\n"
        "checkpoint  2 of step 200; at step 200 loss 0.5000, accuracy 0.7500\n"
        "chief       coordinator:1 for 14 s, elected in 12 ms: coordinator:0: signal 9 (Killed)\n"
        "\n"
        "TASK             STATE      PID      HOST             AGE         STEP        BEHIND\n"
        "coordinator:0    candidate  10       alpha            1 min 5 s\n"
        "coordinator:1    chief      11       alpha            1 min 5 s\n"
        "ps:0             up         20       alpha            1 min 5 s   252         0\n"
        "ps:1             up         21       alpha            1 min 5 s   250         2\n"
        "worker:0         up         30       alpha            1 min 5 s\n"
        "worker:1         missing\n"
        "\n"
        "ZOOKEEPER                   MODE\n"
        "h1:2181                     leader\n"
        "\n"
        "LAST EVENTS\n"
        "01:46:40.000  ps:1 (pid 21) is up\n");
}

enum { TABLES = 20 };

/* 20 tables on 2 ps, of which the first one has answered. The last table is the largest. */
static struct table_totals tables_of_one_ps(void)
{
    static struct table_stats parts[2][ROW_TABLES_MAX];
    struct table_totals totals = {0};
    for (uint32_t t = 0; t < TABLES; t++) {
        parts[0][t] = (struct table_stats){
            .rows = t, .bytes = 1000 * (uint64_t)t, .lookups = 10, .hottest = 1, .hot = 4};
        snprintf(parts[0][t].name, sizeof parts[0][t].name, "table%02u", t);
    }
    parts[0][0].lookups = parts[0][0].hottest = parts[0][0].hot = 0;
    table_totals_set(&totals, 2, (const struct table_stats(*)[ROW_TABLES_MAX])parts,
                     (const struct table_source[]){{.count = TABLES, .buckets = 1024, .updates = 5},
                                                   {.count = 0}});
    return totals;
}

/* The largest tables are shown, and a line counts all of them. */
static void large_tables_are_shown(void **state)
{
    struct scene *scene = *state;
    struct table_totals totals = tables_of_one_ps();
    scene->view.tables = &totals;
    const char *text = draw(scene, (struct top_style){0});
    assert_non_null(strstr(
        text,
        "TABLE                       ROWS        BYTES         LOOKUPS     HOT 1 %   "
        "IMBALANCE\n"
        "table19                     19          19000         10          40.0 %    1.00\n"));
    assert_non_null(strstr(text, "\ntable12  "));
    assert_null(strstr(text, "\ntable11  "));
    assert_non_null(strstr(text,
                           "\n20 tables on 1 of 2 ps      190         190000        190"
                           "                   1.00\n\n"
                           "ROWS OF                     ROWS        BYTES         LOOKUPS     LOAD"
                           "      BUCKETS\n"
                           "ps:0                        190         190000        190         1.00"
                           "      1024\n"
                           "ps:1                        no answer\n\nZOOKEEPER"));
    table_totals_free(&totals);
}

/* In a window of any size the frame fits; where lines lack, tables are left out before tasks. */
static void tables_fit_into_any_window(void **state)
{
    struct scene *scene = *state;
    struct table_totals totals = tables_of_one_ps();
    scene->view.tables = &totals;
    for (uint32_t rows = 1; rows <= 40; rows++) {
        const char *text = draw(scene, (struct top_style){.columns = 30, .rows = rows});
        uint32_t lines = 0;
        for (const char *at = text; *at; at = strchr(at, '\n') + 1, lines++) {
            assert_in_range(strcspn(at, "\n"), 0, 30);
        }
        assert_true(lines <= rows);
        assert_true(strstr(text, "tables on") == NULL || strstr(text, "worker:1") != NULL);
        assert_true(rows < 40 || strstr(text, "table12") != NULL);
    }
    table_totals_free(&totals);
}

/* In a small window some tasks are only counted; the frame fits. */
static void small_window_counts_hidden_tasks(void **state)
{
    const char *text = draw(*state, (struct top_style){.columns = 30, .rows = 19});
    uint32_t rows = 0;
    assert_non_null(strstr(text, "ps:0"));
    assert_null(strstr(text, "worker:0"));
    assert_non_null(strstr(text, "3 more, 1 of them missing\n"));
    for (const char *at = text; *at; at = strchr(at, '\n') + 1, rows++) {
        assert_in_range(strcspn(at, "\n"), 0, 30);
    }
    assert_int_equal(rows, 19);
}

/* A window that is too small for the head shows a part of it. */
static void tiny_window_cuts_the_head(void **state)
{
    assert_string_equal(draw(*state, (struct top_style){.columns = 5, .rows = 2}),
                        "quick\nzooke\n");
}

/* The head reports that ZooKeeper is unreachable, and what the cluster waits for. */
static void head_reports_lost_connection_and_reason(void **state)
{
    struct scene *scene = *state;
    scene->view.connected = false;
    scene->view.disconnected_ms = 61000;
    snprintf(scene->observer.run.reason, sizeof scene->observer.run.reason, "ps:0 is missing");
    const char *text = draw(scene, (struct top_style){0});
    assert_non_null(strstr(text, "h1:2181 unreachable for 1 min 1 s; reconnecting"));
    assert_non_null(strstr(text, "\n            ps:0 is missing\n"));
}

/* A chief record whose node is missing names no chief. */
static void missing_node_is_not_the_chief(void **state)
{
    struct scene *scene = *state;
    scene->observer.tasks[1].present = false;
    assert_non_null(strstr(draw(scene, (struct top_style){0}), "chief       none\n"));
}

/* Steps of a ps that has not loaded the present generation are not compared. */
static void old_generation_is_shown_instead_of_distance(void **state)
{
    struct scene *scene = *state;
    scene->ps[1].generation = 4;
    assert_non_null(strstr(draw(scene, (struct top_style){0}), "250         generation 4\n"));
}

/* Control characters in a host name cannot move the cursor. */
static void control_characters_are_replaced(void **state)
{
    struct scene *scene = *state;
    snprintf(scene->observer.tasks[0].member.host, HOST_NAME_MAX_BYTES, "a\x1b[2Jb");
    assert_non_null(strstr(draw(scene, (struct top_style){0}), "a?[2Jb"));
}

/* Colours take no columns, and a character of several bytes takes one. */
static void colors_take_no_columns(void **state)
{
    const struct top_style style = {.columns = 40, .color = true, .unicode = true};
    const char *text = draw(*state, style);
    assert_non_null(strstr(text, "\x1b[1mquick\x1b[0m"));
    assert_non_null(strstr(text, "\x1b[32m█\x1b[0m\n"));
}

/* Before the first election everything is unknown. */
static void new_cluster_shows_unknown_values(void **state)
{
    struct scene *scene = *state;
    memset(&scene->observer, 0, sizeof scene->observer);
    memset(&scene->speed, 0, sizeof scene->speed);
    scene->view.has_step = false;
    const char *text = draw(scene, (struct top_style){0});
    assert_non_null(strstr(text, "quick  forming  epoch 0  generation 0\n"));
    assert_non_null(strstr(text, "step        unknown"));
    assert_non_null(strstr(text, "steps/s     -\n"));
    assert_non_null(strstr(text, "checkpoint  none yet\n"));
}

/* Steps that go back after a restore count as speed 0; only the newest samples are kept. */
static void speed_is_never_negative(void **state)
{
    (void)state;
    struct top_speed speed = {0};
    top_speed_add(&speed, 500, 1000);
    assert_int_equal(speed.count, 0);
    top_speed_add(&speed, 400, 2000);
    top_speed_add(&speed, 500, 3000);
    assert_true(top_speed_mean(&speed, 1) == 100.0);
    assert_true(top_speed_mean(&speed, 9) == 50.0);
    for (uint64_t i = 0; i < 100; i++) { top_speed_add(&speed, 500, 4000 + i); }
    assert_int_equal(speed.count, TOP_SAMPLES_MAX);
    assert_true(top_speed_mean(&speed, TOP_SAMPLES_MAX) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frame_shows_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_tables_are_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_fit_into_any_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(small_window_counts_hidden_tasks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tiny_window_cuts_the_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(head_reports_lost_connection_and_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_node_is_not_the_chief, set_up, tear_down),
        cmocka_unit_test_setup_teardown(old_generation_is_shown_instead_of_distance, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(control_characters_are_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(colors_take_no_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_cluster_shows_unknown_values, set_up, tear_down),
        cmocka_unit_test(speed_is_never_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
