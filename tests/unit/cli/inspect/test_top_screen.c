/* Frames of `tanist top`, letter by letter. */
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
    struct top_seat_step ps[PS_MAX];
    struct top_view view;
    char text[TOP_FRAME_MAX];
};

static void add_seat(struct scene *scene, enum role role, uint32_t index, uint64_t pid)
{
    struct observed_task *seat = &scene->observer.tasks[scene->observer.task_count++];
    seat->task = seat->member.task = (struct task){role, index};
    seat->present = pid != 0;
    seat->member.pid = seat->member.incarnation = pid;
    seat->member.since_wall_ms = NOW_MS - 65000;
    snprintf(seat->member.host, sizeof seat->member.host, "alpha");
}

static void take_office(struct scene *scene)
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
    for (uint32_t i = 0; i < 2; i++) { add_seat(scene, ROLE_COORDINATOR, i, 10 + i); }
    for (uint32_t i = 0; i < 2; i++) { add_seat(scene, ROLE_PS, i, 20 + i); }
    for (uint32_t i = 0; i < 2; i++) { add_seat(scene, ROLE_WORKER, i, i == 0 ? 30 : 0); }
    take_office(scene);
    scene->observer.has_run = true;
    scene->observer.run = (struct run){.phase = RUN_RUNNING,
                                       .generation = 5,
                                       .committed_checkpoint = 2,
                                       .committed_step = 200,
                                       .evaluation = {.step = 200, .loss = 0.5, .accuracy = 0.75}};
    scene->ps[0] = (struct top_seat_step){true, 5, 252};
    scene->ps[1] = (struct top_seat_step){true, 5, 250};
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

/* The whole frame, off a terminal. */
static void test_frame(void **state)
{
    assert_string_equal(
        draw(*state, (struct top_style){0}),
        "quick  running  epoch 3  generation 5\n"
        "zookeeper   h1:2181\n"
        "mode        sync: each step waits for all of its batch\n"
        "step        250 of 1000  [######..................]  25.0 %  ETA 15 s\n"
        "steps/s     50       ###\n"
        "checkpoint  2 of step 200; at step 200 loss 0.5000, accuracy 0.7500\n"
        "chief       coordinator:1 since 14 s, elected in 12 ms: coordinator:0: signal 9 (Killed)\n"
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

/* A small window: tasks give way, and are counted; nothing is wider or longer than it. */
static void test_small_window(void **state)
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

/* Not even the head fits. */
static void test_tiny_window(void **state)
{
    assert_string_equal(draw(*state, (struct top_style){.columns = 5, .rows = 2}),
                        "quick\nzooke\n");
}

/* ZooKeeper away is said at the top; so is what the cluster waits for. */
static void test_away(void **state)
{
    struct scene *scene = *state;
    scene->view.connected = false;
    scene->view.away_ms = 61000;
    snprintf(scene->observer.run.reason, sizeof scene->observer.run.reason, "ps:0 is missing");
    const char *text = draw(scene, (struct top_style){0});
    assert_non_null(strstr(text, "h1:2181 is away since 1 min 1 s; waiting for it"));
    assert_non_null(strstr(text, "\n            ps:0 is missing\n"));
}

/* A chief whose seat is another's or empty is none. */
static void test_no_chief(void **state)
{
    struct scene *scene = *state;
    scene->observer.tasks[1].present = false;
    assert_non_null(strstr(draw(scene, (struct top_style){0}), "chief       none at present\n"));
}

/* A ps that has not loaded yet is not compared by steps. */
static void test_old_generation(void **state)
{
    struct scene *scene = *state;
    scene->ps[1].generation = 4;
    assert_non_null(strstr(draw(scene, (struct top_style){0}), "250         generation 4\n"));
}

/* What an attacker writes into a host's name cannot move the cursor. */
static void test_control_characters(void **state)
{
    struct scene *scene = *state;
    snprintf(scene->observer.tasks[0].member.host, HOST_NAME_MAX_BYTES, "a\x1b[2Jb");
    assert_non_null(strstr(draw(scene, (struct top_style){0}), "a?[2Jb"));
}

/* Colours take no room, and letters of several bytes take one column. */
static void test_colors(void **state)
{
    const struct top_style style = {.columns = 40, .color = true, .unicode = true};
    const char *text = draw(*state, style);
    assert_non_null(strstr(text, "\x1b[1mquick\x1b[0m"));
    assert_non_null(strstr(text, "\x1b[32m█\x1b[0m\n"));
}

/* No job, no run, no chief yet: everything is said to be unknown. */
static void test_nothing_yet(void **state)
{
    struct scene *scene = *state;
    memset(&scene->observer, 0, sizeof scene->observer);
    memset(&scene->speed, 0, sizeof scene->speed);
    scene->view.has_step = false;
    const char *text = draw(scene, (struct top_style){0});
    assert_non_null(strstr(text, "quick  forming  epoch 0  generation 0\n"));
    assert_non_null(strstr(text, "step        not known"));
    assert_non_null(strstr(text, "steps/s     -\n"));
    assert_non_null(strstr(text, "checkpoint  none yet\n"));
}

/* A restore moves steps back: that is no negative speed; old samples leave. */
static void test_speed(void **state)
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
        cmocka_unit_test_setup_teardown(test_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tiny_window, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_chief, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_generation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_control_characters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_colors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_yet, set_up, tear_down),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
