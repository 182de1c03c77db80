/*
 * tests/unit/coordinator/chief_scene.h: a chief under test: the test feeds events, and checks what
 * the chief asks for as one line of text, e.g. "running g1 from 0@0 until 100 save 1@20 eval 50
 * +running" ("+": history entries).
 */
#ifndef TESTS_CHIEF_SCENE_H
#define TESTS_CHIEF_SCENE_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/chief.h"
#include "tanist/status.h"

static struct chief chief;
static struct chief_actions actions;
static struct chief_config config;
static uint64_t now_ms;
static char line[1024];
static struct report reports[2][3]; /* From ps 0 and 1, from workers 0 to 2. */

__attribute__((format(printf, 1, 2))) static inline void append(const char *format, ...)
{
    size_t used = strlen(line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + used, sizeof line - used, format, arguments);
    va_end(arguments);
}

static inline void append_run(const struct run *run)
{
    append("%s", run_phase_name(run->phase));
    if (run->generation != 0) {
        append(" g%" PRIu64 " from %" PRIu64 "@%" PRIu64, run->generation, run->load_checkpoint,
               run->load_step);
    }
    if (run->until != 0) { append(" %s %" PRIu64, run->ending ? "until" : "gate", run->until); }
    if (run->save_checkpoint != 0) {
        append(" save %" PRIu64 "@%" PRIu64, run->save_checkpoint, run->save_step);
    }
    if (run->evaluate_step != STEP_NONE) { append(" eval %" PRIu64, run->evaluate_step); }
}

/* The actions of the last step, as text. */
static inline const char *asked(void)
{
    line[0] = '\0';
    if (actions.raise_epoch != 0) { append("raise to %" PRIu64, actions.raise_epoch); }
    if (actions.exits) { append("exit %d", actions.exit_code); }
    if (actions.resign) { append("resign"); }
    for (uint32_t i = 0; i < actions.delete_count; i++) {
        append("delete %" PRIu64 " ", actions.deletes[i]);
    }
    const struct chief_write *w = actions.write;
    if (w == NULL) { return line; }
    append_run(&w->run);
    if (w->commits) { append(" commit %" PRIu64 "@%" PRIu64, w->manifest.id, w->manifest.step); }
    if (w->answers) { append(" -request %" PRIu64, w->request); }
    for (uint32_t i = 0; i < w->history_count; i++) {
        append(" +%s", history_kind_name(w->history[i].kind));
    }
    return line;
}

static inline void feed(struct chief_event event)
{
    event.now_ms = now_ms;
    event.wall_ms = 5000000 + now_ms;
    chief_step(&chief, &event, &actions);
}

/* Let time pass, then tick. */
static inline void pass(uint64_t milliseconds)
{
    now_ms += milliseconds;
    feed((struct chief_event){.type = CHIEF_EV_TICK});
}

static inline void answer(enum chief_outcome outcome, const struct run *run)
{
    uint64_t op = actions.write != NULL ? actions.write->op : actions.raise_op;
    if (op == 0) { op = chief.op; }
    feed((struct chief_event){.type = CHIEF_EV_WRITTEN,
                              .written = {.op = op, .outcome = outcome, .run = run}});
}

static inline void written(void)
{
    answer(CHIEF_WRITE_OK, NULL);
}

static inline void member(enum role role, uint32_t index, uint64_t incarnation, const char *cause)
{
    struct report *report = &reports[role == ROLE_WORKER][index];
    if (incarnation != report->incarnation) {
        *report = (struct report){
            .task = {role, index}, .incarnation = incarnation, .evaluation = {.step = STEP_NONE}};
    }
    feed((struct chief_event){.type = CHIEF_EV_MEMBER,
                              .member = {.task = {role, index},
                                         .present = incarnation != 0,
                                         .incarnation = incarnation,
                                         .cause = cause}});
}

/* Send the report in `reports`, with what the test changed in it. */
static inline void report(enum role role, uint32_t index)
{
    struct report *it = &reports[role == ROLE_WORKER][index];
    it->sequence++;
    feed((struct chief_event){.type = CHIEF_EV_REPORT, .report = it});
}

static inline void ps_at(uint32_t index, uint64_t generation, uint64_t step)
{
    reports[0][index].generation = generation;
    reports[0][index].step = step;
    report(ROLE_PS, index);
}

static inline void ps_saved(uint32_t index, uint64_t checkpoint, uint64_t step)
{
    reports[0][index].saved_checkpoint = checkpoint;
    reports[0][index].saved_step = step;
    reports[0][index].saved_bytes = 64;
    report(ROLE_PS, index);
}

static inline void evaluated(uint64_t generation, uint64_t step, double accuracy)
{
    reports[1][0].generation = generation;
    reports[1][0].evaluation = (struct evaluation){.step = step, .accuracy = accuracy};
    report(ROLE_WORKER, 0);
}

static inline void worker_ready(uint32_t index)
{
    reports[1][index].ready = 1;
    report(ROLE_WORKER, index);
}

static inline void elected(uint64_t epoch, const struct run *run,
                           const struct assignment *assignment,
                           const struct chief_checkpoint *checkpoints, uint32_t count)
{
    feed((struct chief_event){.type = CHIEF_EV_ELECTED,
                              .elected = {.epoch = epoch,
                                          .took_ms = 7,
                                          .cause = "first chief",
                                          .has_run = run != NULL,
                                          .run = run,
                                          .has_assignment = assignment != NULL,
                                          .assignment = assignment,
                                          .checkpoints = checkpoints,
                                          .checkpoint_count = count}});
}

static inline void request(uint64_t id, enum request_kind kind)
{
    feed((struct chief_event){.type = CHIEF_EV_REQUEST,
                              .request = {.id = id, .kind = kind, .by = "operator"}});
}

/* Start with `config`, as configure() or the test has set it. */
static inline void begin(void)
{
    now_ms = 10000;
    memset(reports, 0, sizeof reports);
    memset(&chief, 0, sizeof chief);
    chief_init(&chief, &config);
}

/* Two ps, two workers, four slices, 100 steps. */
static inline void configure(void)
{
    config =
        (struct chief_config){.self = {ROLE_COORDINATOR, 0},
                              .ps = 2,
                              .workers = 2,
                              .min_workers = 1,
                              .slices = 4,
                              .steps = 100,
                              .checkpoint_keep = 2,
                              .manifest = {.parameter_count = 64,
                                           .shard_count = 2,
                                           .shards = {{.count = 32}, {.first = 32, .count = 32}}}};
}

/* Let pass the time after which changes that no node waits for are written. */
static inline void settle(void)
{
    pass(CHIEF_SOFT_MS);
}

/* Confirm all writes of the chief, also those that it delays because no node waits for them. */
static inline void write_all(void)
{
    for (int i = 0; i < 10; i++) {
        if (chief.writing) { answer(CHIEF_WRITE_OK, NULL); }
        if (!chief.writing) { settle(); }
    }
}

/* The number of slices that a worker owns. */
static inline uint32_t owned_by(uint32_t worker)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < chief.assignment.slice_count; v++) {
        count += chief.assignment.worker[v] == worker;
    }
    return count;
}

/* Without ps: a worker follows the last order, and has the values of `generation` at `step`. */
static inline void holds(uint32_t worker, uint64_t generation, uint64_t step)
{
    struct report *it = &reports[1][worker];
    it->generation = generation;
    it->step = step;
    it->order_epoch = chief.run.epoch;
    it->order_revision = chief.run.revision;
    report(ROLE_WORKER, worker);
}

/* Both ps and worker 0 run generation 1 at step 0; no write is in flight. */
static inline void begin_running(void)
{
    begin();
    elected(1, NULL, NULL, NULL, 0);
    written();
    for (uint32_t i = 0; i < 2; i++) {
        member(ROLE_PS, i, 10 + i, NULL);
        report(ROLE_PS, i);
    }
    member(ROLE_WORKER, 0, 20, NULL);
    worker_ready(0);
    while (chief.run.phase != RUN_RUNNING) {
        if (actions.write != NULL) {
            written();
        } else if (chief.writing) {
            answer(CHIEF_WRITE_OK, NULL);
        } else if (chief.run.phase == RUN_LOADING && reports[0][1].generation == 0) {
            ps_at(0, 1, 0);
            ps_at(1, 1, 0);
        } else {
            settle();
        }
    }
    write_all();
}

#endif
