/* The decisions of the chief, from forming to done, by golden trace, and by tests of what a trace
 * would not show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/coordinator/chief_scene.h"
#include "tests/unit/support/trace.h"

static int setup(void **state)
{
    (void)state;
    configure();
    return 0;
}

/* ------------------------------------------------------------------- output */

/* The fields of a history entry that its kind uses. */
static void show_entry(const struct history_entry *entry)
{
    char task[TASK_NAME_MAX];
    task_format(entry->task, ':', task, sizeof task);
    switch (entry->kind) {
    case HISTORY_RECOVERED:
        trace_add("recovered from %s of %s, checkpoint=%" PRIu64 " took_ms=%" PRIu64
                  " steps_redone=%" PRIu64 ": %s\n",
                  recovery_kind_name(entry->recovery), task, entry->checkpoint, entry->took_ms,
                  entry->steps_redone, entry->cause);
        break;
    case HISTORY_TASK_LOST: trace_add("lost %s: %s\n", task, entry->cause); break;
    case HISTORY_EVALUATED:
        trace_add("evaluated step=%" PRIu64 " accuracy=%g\n", entry->step, entry->accuracy);
        break;
    default: break;
    }
}

static void show_write(const struct chief_write *w)
{
    const struct run *run = &w->run;
    if (run->reason[0] != '\0') { trace_add("reason: %s\n", run->reason); }
    if (w->assigns) {
        trace_add("assign g%" PRIu64 " to", w->assignment.generation);
        for (uint32_t i = 0; i < w->assignment.slice_count; i++) {
            trace_add(" %d", (int)w->assignment.worker[i]);
        }
        trace_add("\n");
    }
    for (uint32_t i = 0; i < w->history_count; i++) { show_entry(&w->history[i]); }
}

static void show_actions(void)
{
    if (asked()[0] != '\0') { trace_add("%s\n", line); }
    if (actions.write != NULL) { show_write(actions.write); }
}

/* ----------------------------------------------------------------- commands */

static uint64_t number(const char *word)
{
    assert_non_null(word);
    return strtoull(word, NULL, 10);
}

/* "key=value" with that key: the value. */
static const char *value_of(const char *word, const char *key)
{
    size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

static void set_option(const char *word)
{
    const char *value;
    if ((value = value_of(word, "checkpoint_every_steps")) != NULL) {
        config.checkpoint_every_steps = number(value);
    } else if ((value = value_of(word, "checkpoint_every_ms")) != NULL) {
        config.checkpoint_every_ms = number(value);
    } else if ((value = value_of(word, "evaluate_every")) != NULL) {
        config.evaluate_every = number(value);
    } else if ((value = value_of(word, "best")) != NULL) {
        assert_string_equal(value, "loss");
        config.best = BEST_LOSS;
    } else if ((value = value_of(word, "target_accuracy")) != NULL) {
        config.target_accuracy = strtod(value, NULL);
    } else if ((value = value_of(word, "patience")) != NULL) {
        config.early_stop = (struct early_stop){.by_accuracy = true,
                                                .patience = number(value),
                                                .evaluate_every = config.evaluate_every};
    } else {
        fail_msg("unknown option \"%s\"", word);
    }
}

static void set_report(struct report *report, const char *word)
{
    const char *value;
    if ((value = value_of(word, "generation")) != NULL) {
        report->generation = number(value);
    } else if ((value = value_of(word, "step")) != NULL) {
        report->step = number(value);
    } else if ((value = value_of(word, "saved")) != NULL) { /* ID@STEP */
        report->saved_checkpoint = number(value);
        report->saved_step = number(strchr(value, '@') + 1);
        report->saved_bytes = 64;
    } else if ((value = value_of(word, "missed")) != NULL) {
        report->missed_checkpoint = number(value);
    } else if ((value = value_of(word, "late")) != NULL) {
        report->missed_checkpoint = report->late_checkpoint = number(value);
    } else if ((value = value_of(word, "waits")) != NULL) {
        report->waits_for_checkpoint = number(value);
    } else if ((value = value_of(word, "accuracy")) != NULL) { /* At `step`. */
        report->evaluation =
            (struct evaluation){.step = report->step, .accuracy = strtod(value, NULL)};
    } else {
        assert_string_equal(word, "ready");
        report->ready = 1;
    }
}

static struct task task_of(const char *word)
{
    struct task task;
    assert_non_null(word);
    assert_true(task_parse(word, &task));
    return task;
}

static enum request_kind request_of(const char *word)
{
    assert_non_null(word);
    for (int i = 0; i < REQUEST_KINDS; i++) {
        if (strcmp(request_kind_name((enum request_kind)i), word) == 0) {
            return (enum request_kind)i;
        }
    }
    fail_msg("unknown request \"%s\"", word);
    return REQUEST_KINDS;
}

static void start(char **arguments, unsigned count)
{
    configure();
    bool running = false;
    for (unsigned i = 1; i < count; i++) {
        if (strcmp(arguments[i], "running") == 0) {
            running = true;
        } else {
            set_option(arguments[i]);
        }
    }
    if (!running) {
        begin();
        elected(1, NULL, NULL, NULL, 0);
        show_actions();
        return;
    }
    begin_running();
    line[0] = '\0';
    append_run(&chief.run);
    trace_add("... %s\n", line);
}

/* start [running] [OPTION=VALUE ...] | written | up TASK INCARNATION | lost TASK |
 * restarted TASK INCARNATION | report TASK FIELD ... | request ID KIND | pass MS */
static void command(char **arguments, unsigned count)
{
    const char *verb = arguments[0], *first = arguments[1];
    if (strcmp(verb, "start") == 0) {
        start(arguments, count);
        return;
    }
    if (strcmp(verb, "written") == 0) {
        written();
    } else if (strcmp(verb, "up") == 0) {
        struct task task = task_of(first);
        member(task.role, task.index, number(arguments[2]), NULL);
    } else if (strcmp(verb, "restarted") == 0) { /* Without an absence in between. */
        struct task task = task_of(first);
        member(task.role, task.index, number(arguments[2]), "signal 9 (Killed)");
    } else if (strcmp(verb, "lost") == 0) {
        struct task task = task_of(first);
        member(task.role, task.index, 0, "signal 9 (Killed)");
    } else if (strcmp(verb, "report") == 0) {
        struct task task = task_of(first);
        for (unsigned i = 2; i < count; i++) {
            set_report(&reports[task.role == ROLE_WORKER][task.index], arguments[i]);
        }
        report(task.role, task.index);
    } else if (strcmp(verb, "request") == 0) {
        request(number(first), request_of(arguments[2]));
    } else if (strcmp(verb, "pass") == 0) {
        pass(number(first));
    } else {
        fail_msg("unknown command \"%s\"", verb);
    }
    show_actions();
}

/* Each section of the trace is one decision of docs/protocol.md, section C. */
static void chief_follows_its_trace(void **state)
{
    (void)state;
    trace_check("tests/unit/coordinator/chief_trace.txt", command);
}

/* ------------------------------------------------------------------ by hand */

/* Checkpoint 5 is being loaded as generation 4; ps:0 has loaded it. */
static void begin_loading(void)
{
    const struct chief_checkpoint list[] = {{.id = 3, .step = 30}, {.id = 5, .step = 50}};
    const struct run run = {.phase = RUN_LOADING,
                            .epoch = 1,
                            .generation = 4,
                            .load_checkpoint = 5,
                            .load_step = 50,
                            .committed_checkpoint = 5,
                            .committed_step = 50,
                            .last_checkpoint = 5,
                            .until = 100,
                            .ending = true,
                            .evaluate_step = 100,
                            .evaluation = {.step = STEP_NONE}};
    begin();
    elected(2, &run, NULL, list, 2);
    written();
    member(ROLE_PS, 0, 10, NULL);
    member(ROLE_PS, 1, 11, NULL);
    reports[0][0].generation = 4;
    report(ROLE_PS, 0);
}

/* A generation that cannot load falls back to the previous checkpoint, then to the initial
 * values. */
static void damaged_checkpoint_falls_back_to_the_previous(void **state)
{
    (void)state;
    begin_loading();
    reports[0][1].failed_load = 5;
    reports[0][1].failed_load_generation = 4;
    report(ROLE_PS, 1);
    assert_string_equal(asked(), "loading g5 from 3@30 until 100 eval 100 +fallback");
    assert_string_equal(actions.write->history[0].cause,
                        "ps:1 cannot load it; loading checkpoint 3");
    assert_int_equal(actions.write->run.committed_checkpoint, 3);
    written();
    reports[0][1].loading_generation = 5;
    report(ROLE_PS, 1);
    reports[0][0].failed_load = 3;
    reports[0][0].failed_load_generation = 5;
    report(ROLE_PS, 0);
    assert_string_equal(asked(), "held g5 from 3@30 until 100 eval 100 +held");
    assert_int_equal(actions.write->run.held_checkpoint, 3);
    assert_int_equal(actions.write->run.missing_count, 1);
    assert_int_equal(actions.write->run.missing[0], 0);
    assert_true(run_is_unloadable(&actions.write->run, 5));
    assert_true(run_is_unloadable(&actions.write->run, 3));
    written();
}

static void lacks(uint64_t checkpoint, uint64_t generation)
{
    reports[0][1].failed_load = checkpoint;
    reports[0][1].failed_load_generation = generation;
    reports[0][1].failed_load_missing = 1;
    report(ROLE_PS, 1);
}

/* A ps that is slower than the one without the files would end the hold at once. */
static void hold_waits_until_each_ps_has_tried(void **state)
{
    (void)state;
    begin_loading();
    reports[0][0].generation = 0;
    report(ROLE_PS, 0);
    lacks(5, 4);
    assert_null(actions.write);
    reports[0][0].loading_generation = 4;
    report(ROLE_PS, 0);
    assert_string_equal(asked(), "held g4 from 5@50 until 100 eval 100 +held");
    written();
    assert_null(actions.write);
}

/* A missing shard may be on another host, so nothing older is loaded; the ps that restarts with it
 * is asked for the newest checkpoint again. */
static void missing_shard_holds_the_run_until_the_ps_restarts(void **state)
{
    (void)state;
    begin_loading();
    lacks(5, 4);
    assert_string_equal(asked(), "held g4 from 5@50 until 100 eval 100 +held");
    assert_int_equal(actions.write->run.missing[0], 1);
    assert_string_equal(
        actions.write->run.reason,
        "ps:1 cannot load checkpoint 5 (step 50): restart it with its files, or use "
        "`tanist restore`");
    written();
    pass(60000);
    assert_null(actions.write);
    member(ROLE_PS, 1, 12, "killed");
    if (chief.writing) { written(); }
    reports[0][1] = (struct report){.task = {ROLE_PS, 1}, .incarnation = 12};
    report(ROLE_PS, 1);
    assert_string_equal(asked(), "loading g5 from 5@50 until 100 eval 100");
    assert_int_equal(actions.write->run.unloadable_count, 0);
}

/* Only an operator gives steps up: those after an older checkpoint, or with step 0 all of them. */
static void operator_accepts_the_loss_of_steps(void **state)
{
    (void)state;
    begin_loading();
    lacks(5, 4);
    written();
    feed((struct chief_event){
        .type = CHIEF_EV_REQUEST,
        .request = {.id = 1, .kind = REQUEST_ACCEPT_LOSS, .by = "o", .step = 10}});
    assert_int_equal(actions.write->run.phase, RUN_HELD); /* No checkpoint is that old. */
    written();
    feed((struct chief_event){
        .type = CHIEF_EV_REQUEST,
        .request = {.id = 2, .kind = REQUEST_ACCEPT_LOSS, .by = "o", .step = 50}});
    assert_string_equal(asked(), "loading g5 from 3@30 until 100 eval 100 -request 2");
    written();
    reports[0][0].generation = 5;
    report(ROLE_PS, 0);
    lacks(3, 5);
    written();
    feed((struct chief_event){.type = CHIEF_EV_REQUEST,
                              .request = {.id = 3, .kind = REQUEST_ACCEPT_LOSS, .by = "o"}});
    assert_string_equal(asked(), "loading g6 from 0@0 until 100 eval 100 -request 3");
}

/* A folder that an operator names reaches the ps by /run, until they have a checkpoint of their
 * own again: a ps that restarts before needs it once more. */
static void restore_names_a_folder_to_the_ps(void **state)
{
    (void)state;
    config.checkpoint_every_steps = 10;
    begin_loading();
    lacks(5, 4);
    written();
    feed((struct chief_event){
        .type = CHIEF_EV_REQUEST,
        .request = {.id = 1, .kind = REQUEST_RESTORE, .by = "o", .path = "/mnt/x"}});
    assert_int_equal(actions.write->run.phase, RUN_LOADING);
    assert_int_equal(actions.write->run.load_checkpoint, 5);
    assert_string_equal(actions.write->run.restore_from, "/mnt/x");
    written();
    for (uint32_t i = 0; i < 2; i++) {
        reports[0][i].generation = 5;
        report(ROLE_PS, i);
    }
    assert_int_equal(actions.write->run.phase, RUN_RUNNING);
    assert_string_equal(actions.write->run.restore_from, "/mnt/x");
    written();
    for (uint32_t i = 0; i < 2; i++) {
        ps_at(i, 5, chief.run.save_step);
        ps_saved(i, chief.run.save_checkpoint, chief.run.save_step);
    }
    if (actions.write == NULL) { settle(); }
    assert_true(actions.write->commits);
    assert_string_equal(actions.write->run.restore_from, "");
}

/* A disk that fails repeatedly does not increase the lead: checkpoints would move out of reach. */
static void failing_disk_does_not_move_orders_ahead(void **state)
{
    (void)state;
    config.checkpoint_every_steps = 10;
    begin_running();
    for (uint64_t id = 1; id < 6; id++) {
        assert_int_equal(chief.run.save_checkpoint, id);
        ps_at(0, 1, chief.run.save_step);
        ps_saved(1, id, chief.run.save_step);
        reports[0][0].missed_checkpoint = id;
        report(ROLE_PS, 0);
        pass(CHIEF_SOFT_MS);
        written();
    }
    assert_int_equal(chief.boost, 0);
}

/* `keep` checkpoints stay; older ones are deleted once a newer one is committed. */
static void old_checkpoints_are_deleted_after_a_commit(void **state)
{
    (void)state;
    config.checkpoint_every_steps = 20;
    begin_running();
    for (uint64_t id = 1; id <= 3; id++) {
        ps_at(0, 1, 20 * id);
        ps_saved(0, id, 20 * id);
        ps_saved(1, id, 20 * id);
        if (actions.write == NULL) { settle(); }
        assert_true(actions.write != NULL && actions.write->commits);
        written();
        assert_int_equal(actions.delete_count, id == 3);
    }
    assert_int_equal(actions.deletes[0], 1);
}

/* The highest `keep` is honoured: the newest ones stay, and none is forgotten before its
 * deletion. */
static void as_many_checkpoints_stay_as_the_job_allows(void **state)
{
    (void)state;
    config.steps = 1000000;
    config.checkpoint_every_steps = 20;
    config.checkpoint_keep = CHECKPOINT_KEEP_MAX;
    begin_running();
    for (uint64_t id = 1; id <= CHECKPOINT_KEEP_MAX + 2; id++) {
        ps_at(0, 1, 20 * id);
        ps_saved(0, id, 20 * id);
        ps_saved(1, id, 20 * id);
        if (actions.write == NULL) { settle(); }
        written();
        assert_int_equal(actions.delete_count, id > CHECKPOINT_KEEP_MAX);
    }
    assert_int_equal(actions.deletes[0], 2);
}

static void assert_ignored(const struct report *hostile, const char *why)
{
    assert_string_equal(chief_refuses_report(&chief, hostile), why);
    feed((struct chief_event){.type = CHIEF_EV_REPORT, .report = hostile});
    assert_string_equal(asked(), "");
    settle();
    assert_string_equal(asked(), "");
}

/* C12: a forged report neither moves the end nor uses up the numbers. */
static void reports_that_no_node_sends_are_ignored(void **state)
{
    (void)state;
    begin_running();
    struct report good = reports[0][0], bad = good;
    good.sequence++;
    bad.sequence += 100;
    bad.step = 101;
    assert_ignored(&bad, "its step is beyond the last one");
    bad = good, bad.disk_epoch = CHIEF_RAISE_MAX + 1;
    assert_ignored(&bad, "the epoch on its disk is too high");
    bad = good, bad.disk_generation = COUNTER_MAX;
    assert_ignored(&bad, "its generation is too high");
    bad = good, bad.disk_checkpoint = COUNTER_MAX;
    assert_ignored(&bad, "the id of a checkpoint on its disk is too high");
    bad = good, bad.disk_last_checkpoint = COUNTER_MAX;
    assert_ignored(&bad, "the id of a checkpoint on its disk is too high");
    bad = good, bad.incarnation = 20; /* Worker 0. */
    assert_ignored(&bad, "its sender is registered as another task");
    assert_null(chief_refuses_report(&chief, &good));
    assert_int_equal(chief.run.until, 100);
}

/* C12: what arrived before the election is checked by it. */
static void early_reports_are_checked_at_the_election(void **state)
{
    (void)state;
    begin();
    member(ROLE_PS, 0, 10, NULL);
    reports[0][0].disk_epoch = COUNTER_MAX;
    report(ROLE_PS, 0);
    assert_true(chief.ps[0].reported);
    elected(1, NULL, NULL, NULL, 0);
    assert_false(chief.ps[0].reported);
    assert_int_equal(actions.raise_epoch, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chief_follows_its_trace),
        TEST(damaged_checkpoint_falls_back_to_the_previous),
        TEST(hold_waits_until_each_ps_has_tried),
        TEST(missing_shard_holds_the_run_until_the_ps_restarts),
        TEST(operator_accepts_the_loss_of_steps),
        TEST(restore_names_a_folder_to_the_ps),
        TEST(failing_disk_does_not_move_orders_ahead),
        TEST(old_checkpoints_are_deleted_after_a_commit),
        TEST(as_many_checkpoints_stay_as_the_job_allows),
        TEST(reports_that_no_node_sends_are_ignored),
        TEST(early_reports_are_checked_at_the_election),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
