/*
 * Fuzz target: reports from outside, into the chief.
 *
 * The input is a list of commands: a report from raw bytes or from fields, a member that comes or
 * goes, time, an answer to a write, a request, the election with any /run. Whatever arrives, the
 * chief violates none of its assertions, and everything that it writes can be encoded and, unless
 * it inherited a hostile /run, decoded again.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"
#include "coordinator/chief.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { PS = 2, WORKERS = 2, FIELDS = 23 };

static struct {
    const uint8_t *bytes;
    size_t size;
} input;

static struct report kept[3][2]; /* The last of ps 0 and 1, workers 0 and 1, the evaluator. */
static struct chief chief;
static struct chief_actions actions;
static uint64_t now_ms;
static bool over;        /* The chief left its process. */
static bool hostile_run; /* It inherited a /run of any contents. */
static uint64_t open_op; /* The operation that is not yet answered; 0: none. */
static bool open_commits, open_answers;

static uint8_t take(void)
{
    if (input.size == 0) { return 0; }
    input.size--;
    return *input.bytes++;
}

/* Small numbers, and those at the bounds. */
static uint64_t take_number(void)
{
    static const uint64_t bounds[] = {
        COUNTER_MAX / 2, COUNTER_MAX, COUNTER_MAX + 1, INT64_MAX, UINT64_MAX, 100, 1 << 30,
    };
    uint8_t kind = take();
    if (kind < 128) { return kind; }
    uint64_t base = bounds[kind % (sizeof bounds / sizeof bounds[0])];
    return base - (kind >> 4 & 3);
}

static void check_write(const struct chief_write *w)
{
    static char text[ZNODE_JSON_MAX];
    static struct run run;
    struct error error;
    size_t size = run_encode(&w->run, text);
    assert(hostile_run || run_decode(text, size, &run, &error) == TN_OK);
    if (w->assigns) { (void)assignment_encode(&w->assignment, text); }
    for (uint32_t i = 0; i < w->history_count; i++) { (void)history_encode(&w->history[i], text); }
    if (!w->commits) { return; }
    char *manifest = NULL;
    enum tn_status status = manifest_encode(&w->manifest, &manifest, &size, &error);
    assert(hostile_run || status == TN_OK);
    free(manifest);
}

static void feed(struct chief_event event)
{
    event.now_ms = now_ms;
    event.wall_ms = 5000000 + now_ms;
    if (over) { return; }
    chief_step(&chief, &event, &actions);
    over = actions.exits || actions.resign;
    if (over) { return; }
    if (actions.raise_epoch != 0) {
        assert(actions.raise_epoch <= COUNTER_MAX || hostile_run);
        open_op = actions.raise_op;
        open_commits = open_answers = false;
    }
    if (actions.write == NULL) { return; }
    check_write(actions.write);
    open_op = actions.write->op;
    open_commits = actions.write->commits;
    open_answers = actions.write->answers;
}

static void feed_report(const uint8_t *bytes, size_t size)
{
    struct report report;
    struct error error;
    if (report_decode(bytes, size, &report, &error) != TN_OK) {
        assert(error.text[0] != '\0');
        return;
    }
    feed((struct chief_event){.type = CHIEF_EV_REPORT, .report = &report});
}

static void report_from_bytes(void)
{
    uint8_t bytes[REPORT_BYTES] = {0};
    size_t size = size_min(input.size, sizeof bytes);
    memcpy(bytes, input.bytes, size);
    input.bytes += size;
    input.size -= size;
    feed_report(bytes, sizeof bytes);
}

/* Two of each role, and one evaluator. */
static struct task task_of(uint8_t who)
{
    if ((who & 64) != 0) { return (struct task){ROLE_EVALUATOR, 0}; }
    return (struct task){(who & 1) != 0 ? ROLE_WORKER : ROLE_PS, who >> 1 & 1};
}

/* The last report of each task stays, so that a few bytes change it. */
static void report_from_fields(void)
{
    uint8_t who = take(), fields = take();
    const struct task task = task_of(who);
    struct report *report = &kept[task.role - ROLE_PS][task.index];
    report->task = task;
    report->incarnation = 10U + (who & 3U) + (who >> 4 & 1U);
    report->sequence++;
    uint64_t *const counters[FIELDS] = {
        &report->epoch,
        &report->generation,
        &report->step,
        &report->saved_checkpoint,
        &report->saved_step,
        &report->saved_bytes,
        &report->missed_checkpoint,
        &report->late_checkpoint,
        &report->failed_load,
        &report->failed_load_generation,
        &report->disk_checkpoint,
        &report->disk_step,
        &report->disk_epoch,
        &report->disk_generation,
        &report->disk_last_checkpoint,
        &report->ready,
        &report->evaluation.step,
        &report->sequence,
        &report->incarnation,
        &report->waits_for_checkpoint,
        &report->gate,
        &report->evaluation.digest[0],
        &report->evaluated_checkpoint,
    };
    for (unsigned i = 0; i < fields % 8U; i++) {
        uint8_t at = take();
        *counters[at % FIELDS] = take_number();
    }
    report->place[0] = (char)who;
    uint8_t bytes[REPORT_BYTES];
    report_encode(report, bytes);
    feed_report(bytes, sizeof bytes);
}

static void member(void)
{
    uint8_t who = take();
    const struct task task = task_of(who);
    bool present = (who & 8) == 0;
    feed((struct chief_event){
        .type = CHIEF_EV_MEMBER,
        .member = {.task = task,
                   .present = present,
                   .incarnation = present ? 10U + (who & 3U) + (who >> 4 & 1U) : 0}});
}

static void take_run(struct run *run)
{
    uint64_t *const counters[] = {
        &run->epoch,
        &run->generation,
        &run->load_checkpoint,
        &run->load_step,
        &run->committed_step,
        &run->last_checkpoint,
        &run->save_checkpoint,
        &run->save_step,
        &run->until,
        &run->evaluate_step,
        &run->evaluation.step,
        &run->elections,
        &run->recovery.step,
        &run->committed_checkpoint,
        &run->started_wall_ms,
        &run->recovery.started_wall_ms,
        &run->revision,
        &run->evaluate_checkpoint,
        &run->evaluated_checkpoint,
        &run->evaluate_checkpoint_step,
        &run->unevaluated,
        &run->passed_over,
    };
    *run = (struct run){.phase = take() % RUN_PHASES, .evaluate_step = STEP_NONE};
    run->evaluation.step = STEP_NONE;
    run->ending = (take() & 1) != 0;
    run->pause_requested = (take() & 7) == 7;
    run->recovery.kind = take() % RECOVERY_KINDS;
    run->recovery.task = (struct task){ROLE_PS, 0};
    for (unsigned i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        uint64_t number = take_number();
        bool none = number == UINT64_MAX &&
                    (counters[i] == &run->evaluate_step || counters[i] == &run->evaluation.step);
        *counters[i] = none ? STEP_NONE : number & COUNTER_MAX; /* As run_decode() bounds them. */
    }
    run->save_due = run->save_step;
}

/* As the driver, which has read the state of the tree. */
static void elect(void)
{
    struct run run;
    uint8_t flags = take();
    struct chief_checkpoint list[4];
    uint32_t count = 0;
    if (chief.elected) { return; }
    hostile_run = (flags & 1) != 0;
    if (hostile_run) {
        take_run(&run);
        for (; count < (flags >> 1 & 3U); count++) {
            list[count] = (struct chief_checkpoint){.id = take_number() & COUNTER_MAX,
                                                    .step = take_number() & COUNTER_MAX};
        }
    }
    feed((struct chief_event){.type = CHIEF_EV_ELECTED,
                              .elected = {.epoch = hostile_run ? u64_max(run.epoch, 1) : 1,
                                          .has_run = hostile_run,
                                          .run = &run,
                                          .checkpoints = list,
                                          .checkpoint_count = count}});
}

/* One of the answers that the driver can give to the open operation. */
static void answer(void)
{
    enum chief_outcome outcome = take() % (CHIEF_WRITE_UNKNOWN + 1);
    struct run seen;
    uint8_t other = take();
    if (open_op == 0) { return; }
    if (outcome == CHIEF_WRITE_REQUEST_GONE && !open_answers) { outcome = CHIEF_WRITE_OK; }
    if (outcome == CHIEF_WRITE_CHECKPOINT_EXISTS && !open_commits) { outcome = CHIEF_WRITE_OK; }
    if (outcome == CHIEF_WRITE_DEPOSED && other > 16) { outcome = CHIEF_WRITE_OK; }
    struct chief_event event = {.type = CHIEF_EV_WRITTEN,
                                .written = {.op = open_op, .outcome = outcome}};
    if (outcome != CHIEF_WRITE_OK && (other & 3) == 1) {
        hostile_run = true;
        take_run(&seen);
        event.written.run = &seen;
    }
    open_op = 0;
    feed(event);
}

static void command(void)
{
    static const uint16_t pauses[] = {0, 1, 50, 200, 500, 3000};
    uint8_t what = take();
    switch (what % 8) {
    case 0: report_from_bytes(); break;
    case 1: member(); break;
    case 2: elect(); break;
    case 3:
        feed((struct chief_event){.type = CHIEF_EV_REQUEST,
                                  .request = {.id = what, .kind = take() % REQUEST_KINDS}});
        break;
    case 4: answer(); break;
    case 5:
        now_ms += pauses[take() % 6];
        feed((struct chief_event){.type = CHIEF_EV_TICK});
        break;
    default: report_from_fields(); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input.bytes = bytes;
    input.size = size;
    uint8_t flags = take();
    const struct chief_config config = {
        .self = {ROLE_COORDINATOR, 0},
        .ps = PS,
        .workers = WORKERS,
        .evaluators = flags >> 5 & 1,
        .best = (flags & 64) != 0 ? BEST_LOSS : BEST_NONE,
        .early_stop = {.patience = flags >> 7 & 1},
        .min_workers = 1,
        .slices = 4,
        .steps = 100,
        .evaluate_every = (flags & 1) != 0 ? 25 : 0,
        .checkpoint_every_steps = (flags & 2) != 0 ? 10 : 0,
        .checkpoint_every_ms = (flags & 4) != 0 ? 1000 : 0,
        .target_accuracy = (flags & 8) != 0 ? 0.9 : 0,
        .restore_on_failover = (flags & 16) != 0,
        .checkpoint_keep = 2,
        .manifest = {.parameter_count = 64,
                     .slices = 4,
                     .state_arrays = 1,
                     .mode = "sync",
                     .optimizer = "sgd"},
    };
    now_ms = 10000;
    over = hostile_run = false;
    open_op = 0;
    memset(kept, 0, sizeof kept);
    memset(&chief, 0, sizeof chief);
    chief_init(&chief, &config);
    while (input.size > 0 && !over) { command(); }
    return 0;
}
